// Llama 1 to 3: RMS norms, rotary positions of every rope_type, gated MLPs, grouped heads.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void llamaReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.eps = 1e-6});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void llamaNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
