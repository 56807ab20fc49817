// EXAONE 4: norms behind each block and on the heads of Q and K; where there is a window, the
// layers without one know no positions. K-EXAONE has norms before each block, and DeepSeek-V3's
// experts.

#include "frontends/Spec/Families/Family.h"

namespace sinter {
namespace {

/// sliding_window_pattern: a period, or one written out ("LLLG"), of which the last layer is full.
int64_t readPeriod(ConfigReader &config) {
  const ConfigReader::Json *pattern = config.value("sliding_window_pattern");
  if (!pattern || !pattern->is_string())
    return config.size("sliding_window_pattern", 4);
  const auto &letters = pattern->get_ref<const std::string &>();
  if (letters.empty() || letters.find('G') != letters.size() - 1 ||
      letters.find_first_not_of("LG") != std::string::npos) {
    config.mistake("sliding_window_pattern", "'" + letters + "' is no run of L that ends in G",
                   "use layer_types");
    return 1;
  }
  return static_cast<int64_t>(letters.size());
}

/// What both have in common.
void readExaone(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.kvHeads = 32});
  spec.queryKeyNorm = true;
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  int64_t period = readPeriod(config);
  readLayerTypes(
      config, spec, window,
      [](const ModelSpec &, int64_t layer, int64_t every) { return (layer + 1) % every != 0; },
      window ? period : 1);
  if (window)
    dropFullRotaries(spec);
}

} // namespace

void exaone4ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readExaone(config, spec);
  spec.normPlace = NormPlace::Output;
}

void exaone4NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  moveNormsBehindBlocks(spec);
}

void exaoneMoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readExaone(config, spec);
  readDeepSeekExperts(
      config, spec,
      {.count = 64, .perToken = 8, .size = 1024, .dense = 1, .shared = 1, .scale = 2.5});
  useSigmoidRouting(config, spec, true);
}

void exaoneMoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  nameDeepSeekExperts(spec);
  spec.surplusBeginnings.emplace_back("mtp."); // layers that predict further tokens
  for (LayerSpec &layer : spec.layers)
    if (layer.isSparse)
      layer.experts->routerBias = layer.path + ".mlp.e_score_correction_bias";
}

} // namespace sinter
