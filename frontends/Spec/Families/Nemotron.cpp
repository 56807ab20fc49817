// Nemotron and Minitron: Llama with layer norms of factor 1 + weight, partial rotary positions and
// a plain MLP of squared ReLU.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void nemotronReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 4096, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, 0.5);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Relu2);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("norm_eps", 1e-5);
  spec.normUnitOffset = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void nemotronNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
