// ERNIE 4.5: Llama with rotary positions of neighbouring components.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void ernie45ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec,
            {.positions = 131072, .tied = true, .kvHeads = 2, .headDim = 128, .theta = 5e5});
  spec.rotaries.front().interleaved = true;
  spec.qkvBias = spec.outputBias = spec.mlpBias = config.flag("use_bias", false);
}

void ernie45NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
