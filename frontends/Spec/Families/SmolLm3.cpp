// SmolLM3: Llama with layers that know no positions.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void smolLm3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec,
            {.positions = 32768, .tied = true, .kvHeads = 4, .theta = 2e6, .eps = 1e-6});
  int64_t interval = config.size("no_rope_layer_interval", 4);
  if (!config.has("no_rope_layers"))
    for (size_t i = interval - 1; i < spec.layers.size(); i += interval)
      spec.layers[i].rotary = std::nullopt;
  readRotatedLayers(config, spec);
  bool slides = config.flag("use_sliding_window", false);
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  readLayerTypes(
      config, spec, window,
      [](const ModelSpec &known, int64_t layer, int64_t windows) {
        return windows && !known.layers[layer].rotary;
      },
      slides && window);
  config.ignore({"max_window_layers"}); // transformers does not read it either
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void smolLm3NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

} // namespace sinter
