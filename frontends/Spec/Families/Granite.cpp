// Granite: Llama with factors on embeddings, scores, what blocks add, and logits.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void graniteReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt);
  double scale = config.positive("attention_multiplier", 1);
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = scale;
  spec.embeddingScale = config.positive("embedding_multiplier", 1);
  spec.residualScale = config.positive("residual_multiplier", 1);
  spec.logitScale = 1 / config.positive("logits_scaling", 1);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void graniteNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
