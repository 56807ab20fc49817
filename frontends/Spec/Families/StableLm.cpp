// StableLM: Llama with layer norms, partial rotary positions and, in some, parallel residuals of
// one norm, or norms of Q and K with a tensor a head.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

/// A norm of heads with a tensor each.
static NormSpec nameHeadNorm(const ModelSpec &spec, const LayerSpec &layer, const std::string &name,
                             int64_t heads) {
  NormSpec result = {.name = name, .size = spec.headDim, .heads = heads};
  for (int64_t i = 0; i < heads; ++i)
    result.weightsOfHeads.push_back(layer.path + "." + name + ".norms." + std::to_string(i) +
                                    ".weight");
  return result;
}

void stableLmReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 4096, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 32);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, 0.25);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.qkvBias = config.flag("use_qkv_bias", false);
  spec.parallelResidual = spec.sharedParallelNorm = config.flag("use_parallel_residual", false);
  spec.queryKeyNorm = config.flag("qk_layernorm", false);
  spec.headNormKind = NormKind::LayerNorm;
}

void stableLmNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  if (spec.queryKeyNorm)
    for (LayerSpec &layer : spec.layers) {
      layer.queryNorm = nameHeadNorm(spec, layer, "self_attn.q_layernorm", spec.heads);
      layer.keyNorm = nameHeadNorm(spec, layer, "self_attn.k_layernorm", spec.kvHeads);
    }
  if (spec.sharedParallelNorm)
    for (LayerSpec &layer : spec.layers)
      layer.mlpNorm = std::nullopt;
}

} // namespace sinter
