// Mistral: Llama with a sliding window in every layer; Ministral: in the layers that say so;
// Ministral 3: stretched positions, beyond which queries grow. Mixtral: Mistral with experts.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

namespace {

void readMistral(ConfigReader &config, ModelSpec &spec, double theta, double eps) {
  readLlama(config, spec, {.positions = 4096 * 32, .kvHeads = 8, .theta = theta, .eps = eps});
  readUniformWindow(config, spec);
}

} // namespace

void mistralReadConfig(ConfigReader &config, ModelSpec &spec) {
  readMistral(config, spec, 10000, 1e-6);
}

void mistralNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void ministralReadConfig(ConfigReader &config, ModelSpec &spec) {
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  readMistral(config, spec, 10000, 1e-6);
  readLayerTypes(
      config, spec, window, [](const ModelSpec &, int64_t, int64_t slides) { return slides != 0; },
      window ? 1 : 0);
}

void ministralNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void ministral3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 262144, .kvHeads = 8, .headDim = 128, .theta = 1e6});
  readUniformWindow(config, spec);
  if (config.has("rope_parameters") || config.has("rope_scaling"))
    return;
  RotarySpec &rotary = spec.rotaries.front();
  rotary.type = RopeType::Yarn;
  rotary.factor = 16;
  rotary.originalMaxPositions = rotary.growthLength = 16384;
  rotary.mscale = rotary.mscaleAllDim = 1;
  rotary.queryGrowth = 0.1;
}

void ministral3NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void mixtralReadConfig(ConfigReader &config, ModelSpec &spec) {
  readMistral(config, spec, 1e6, 1e-5);
  readExperts(config, spec, {"num_local_experts"}, 8, 2);
  spec.routing.normalizes = true;
  if (config.number("router_jitter_noise", 0) != 0)
    config.mistake("router_jitter_noise", "noise before the router is not supported",
                   "set it to 0");
}

void mixtralNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    nameExperts(spec, layer, layer.path + ".", "block_sparse_moe.gate", "block_sparse_moe.experts",
                {"w1", "w3", "w2"});
}

} // namespace sinter
