// Llama 1 to 3: RMS norms, rotary positions of every rope_type, gated MLPs, grouped heads. CWM has
// a window in three of four layers; IQuest-Coder is Llama by another name.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void llamaReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.eps = 1e-6});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void llamaNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void cwmReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 128, .theta = 1e6});
  if (!config.has("rope_parameters") && !config.has("rope_scaling")) {
    RotarySpec &rotary = spec.rotaries.front();
    rotary.type = RopeType::Llama3;
    rotary.factor = 16;
    rotary.originalMaxPositions = 8192;
  }
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 8192;
  readLayerTypes(config, spec, window,
                 [](const ModelSpec &, int64_t layer, int64_t) { return layer % 4 != 0; });
  spec.mlpBias = config.flag("mlp_bias", false);
}

void cwmNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void iQuestCoderReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 128});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  config.requireFlag("use_sliding_window", false);
  config.ignore({"sliding_window", "max_window_layers"});
}

void iQuestCoderNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
