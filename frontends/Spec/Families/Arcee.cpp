// Arcee: Llama with a plain MLP of squared ReLU.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void arceeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 4096});
  if (!config.has("hidden_act"))
    spec.activation = Activation::Relu2;
  spec.gatedMlp = false;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void arceeNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
