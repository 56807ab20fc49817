// Mistral: Llama with a sliding window in every layer.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void mistralReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 4096 * 32, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 8);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  readUniformWindow(config, spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
}

void mistralNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
