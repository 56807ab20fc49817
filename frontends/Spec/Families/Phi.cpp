// Phi-1 to Phi-2: parallel residuals of one layer norm, partial rotary positions, a plain MLP,
// biases everywhere.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void phiReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, 0.5);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::GeluTanh);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.qkvBias = spec.outputBias = spec.mlpBias = spec.headBias = true;
  config.requireFlag("qk_layernorm", false);
}

void phiNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm = norm(spec, "model.final_layernorm", "model.final_layernorm", spec.hiddenSize);
  spec.head.bias = linear("lm_head", "lm_head", spec.hiddenSize, spec.vocabSize, true).bias;
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name, int64_t in, int64_t out) {
      return linear(name, layer.path + "." + name, in, out, true);
    };
    layer.output = named("self_attn.dense", spec.heads * spec.headDim, hidden);
    layer.mlpNorm = std::nullopt;
    layer.gate = std::nullopt;
    layer.up = named("mlp.fc1", hidden, spec.mlpSize);
    layer.down = named("mlp.fc2", spec.mlpSize, hidden);
  }
}

} // namespace sinter
