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
  for (LayerSpec &layer : spec.layers) {
    layer.output = linear("self_attn.dense", layer.path + ".self_attn.dense",
                          spec.heads * spec.headDim, spec.hiddenSize, true);
    layer.mlpNorm = std::nullopt;
    namePlainMlp(spec, layer, "mlp.fc1", "mlp.fc2");
  }
}

} // namespace sinter
