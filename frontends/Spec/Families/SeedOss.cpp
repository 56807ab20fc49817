// Seed-OSS: Llama with biases on Q, K and V.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void seedOssReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 524288, .kvHeads = 8, .headDim = 128, .eps = 1e-6});
  spec.qkvBias = config.flag("attention_bias", true);
  spec.outputBias = config.flag("attention_out_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  config.ignore({"residual_dropout"});
}

void seedOssNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
