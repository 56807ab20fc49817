// dots.llm1: Qwen3's attention with DeepSeek-V3's experts.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void dots1ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 2048, .eps = 1e-6});
  std::optional<int64_t> window = config.present("sliding_window")
                                      ? config.optionalSize("sliding_window")
                                      : std::optional<int64_t>(4096);
  readLayerTypes(config, spec, window, [](const ModelSpec &, int64_t, int64_t) { return false; });
  config.requireFlag("use_sliding_window", false);
  config.ignore({"max_window_layers"});
  spec.queryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  readDeepSeekExperts(config, spec, {.count = 1, .perToken = 1, .size = 1408});
  useSigmoidRouting(config, spec, false);
}

void dots1NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  nameDeepSeekExperts(spec);
}

} // namespace sinter
