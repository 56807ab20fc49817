// Qwen2 and Qwen3: Llama with biases on Q, K and V (2) or norms on the heads of Q and K (3), and
// windows in the layers from max_window_layers on. Each has a sibling with experts, of Qwen2 beside
// a shared one with a gate.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {
namespace {

void readConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 32768, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 32);
  bool slides = config.flag("use_sliding_window", false);
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  // Zero is meaningful here (every layer slides), so this is not a size.
  double first = config.number("max_window_layers", 28);
  if (first < 0 || first != double(int32_t(std::min(first, 2e9))))
    config.mistake("max_window_layers", "it is not a whole number from 0 to 2000000000", "");
  readLayerTypes(
      config, spec, slides ? window : std::nullopt,
      [](const ModelSpec &, int64_t layer, int64_t firstSliding) { return layer >= firstSliding; },
      slides && window ? int64_t(std::min(std::max(first, 0.0), 2e9)) : INT64_MAX);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  config.requireFlag("use_mrope", false);
}

/// sliding_window, where use_sliding_window says that it is used.
std::optional<int64_t> readUsedWindow(ConfigReader &config) {
  if (config.flag("use_sliding_window", false))
    return config.present("sliding_window") ? config.optionalSize("sliding_window") : 4096;
  config.ignore({"sliding_window"});
  return std::nullopt;
}

} // namespace

void qwen2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readConfig(config, spec);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  spec.qkvBias = true;
}

void qwen2NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void qwen3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readConfig(config, spec);
  readHeadDim(config, spec, 128);
  readRotary(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  spec.queryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
}

void qwen3NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
}

void qwen2MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 32768, .kvHeads = 16, .eps = 1e-6});
  std::optional<int64_t> window = readUsedWindow(config);
  readLayerTypes(
      config, spec, window,
      [](const ModelSpec &, int64_t layer, int64_t end) { return layer % 2 == 0 && layer < end; },
      window ? config.size("max_window_layers", 28) : 0);
  config.ignore({"max_window_layers"});
  spec.qkvBias = config.flag("qkv_bias", true);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 60, 4);
  readSparseLayers(config, spec, 1408);
  spec.sharedExpertSize = config.size("shared_expert_intermediate_size", 5632);
  spec.sharedExpertGate = true;
}

void qwen2MoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameGatedSharedExperts(spec);
}

void qwen3MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 32768, .kvHeads = 4, .eps = 1e-6});
  if (std::optional<int64_t> window = readUsedWindow(config))
    for (LayerSpec &layer : spec.layers)
      layer.window = *window;
  config.ignore({"max_window_layers"}); // Qwen2's
  spec.queryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 128, 8);
  readSparseLayers(config, spec, 768);
}

void qwen3MoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  nameMlpExperts(spec);
}

} // namespace sinter
