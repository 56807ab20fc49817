// Command R: parallel residuals of one layer norm without a bias, rotary positions of neighbouring
// components, scaled logits.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void cohereReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 8192, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, 5e5);
  spec.rotaries.front().interleaved = true;
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.logitScale = config.positive("logit_scale", 0.0625);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  config.requireFlag("use_qk_norm", false);
}

void cohereNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm->bias.clear();
  for (LayerSpec &layer : spec.layers) {
    layer.attentionNorm->bias.clear();
    layer.mlpNorm = std::nullopt;
  }
}

} // namespace sinter
