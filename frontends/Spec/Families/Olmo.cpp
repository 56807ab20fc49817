// OLMo: Llama with layer norms without weights. OLMo 2 and OLMo 3: norms after each block and none
// before, norms over all heads of Q and of K; 3 has a window in three of four layers, and scaled
// rotary positions in the others alone. OLMoE: norms before each block, and experts. FlexOlmo: OLMo
// 2 with experts.

#include "frontends/Spec/Families/Family.h"

namespace sinter {
namespace {

void readOlmo(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", 1e-5);
  spec.normPlace = NormPlace::Output;
  spec.queryKeyNorm = spec.wholeQueryKeyNorm = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
}

} // namespace

void olmoReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {});
  spec.normKind = NormKind::LayerNorm;
  spec.normWeights = false;
  spec.clipQkv = config.positive("clip_qkv", 0);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
}

void olmoNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  dropNormWeights(spec);
}

void olmo2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readOlmo(config, spec);
  readRotary(config, spec, std::nullopt);
}

void olmo2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  moveNormsBehindBlocks(spec);
}

void olmo3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readOlmo(config, spec);
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  readLayerTypes(config, spec, window,
                 [](const ModelSpec &, int64_t layer, int64_t) { return (layer + 1) % 4 != 0; });
  readRotaryOfLayerTypes(config, spec, 5e5, nullptr, 5e5);
}

void olmo3NameTensors(ModelSpec &spec) { olmo2NameTensors(spec); }

void olmoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readOlmo(config, spec);
  readRotary(config, spec, std::nullopt);
  spec.normPlace = NormPlace::Pre;
  readExperts(config, spec, {"num_experts"}, 64, 8);
  spec.routing.normalizes = config.flag("norm_topk_prob", false);
  spec.clipQkv = config.positive("clip_qkv", 0);
}

void olmoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  nameMlpExperts(spec);
}

void flexOlmoReadConfig(ConfigReader &config, ModelSpec &spec) {
  readOlmo(config, spec);
  readRotary(config, spec, std::nullopt, 5e5);
  readExperts(config, spec, {"num_experts"}, 7, 5);
  spec.routing.normalizes = config.flag("norm_topk_prob", false);
}

void flexOlmoNameTensors(ModelSpec &spec) {
  olmo2NameTensors(spec);
  nameMlpExperts(spec);
}

} // namespace sinter
