// StableLM: Llama with layer norms, partial rotary positions and, in some, parallel residuals of
// one norm.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

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
  config.requireFlag("qk_layernorm", false);
}

void stableLmNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  if (spec.sharedParallelNorm)
    for (LayerSpec &layer : spec.layers)
      layer.mlpNorm = std::nullopt;
}

} // namespace sinter
