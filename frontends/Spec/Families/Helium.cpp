// Helium: Llama with rotary positions of neighbouring components.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void heliumReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 4096, .kvHeads = 20, .headDim = 128, .eps = 1e-8});
  spec.rotaries.front().interleaved = true;
  spec.qkvBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void heliumNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
