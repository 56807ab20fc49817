// OLMo 2 and OLMo 3: norms after each block and none before, norms over all heads of Q and of K; 3
// has a window in three of four layers, and scaled rotary positions in the others alone. OLMoE:
// norms before each block, and experts.

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

void olmo2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readOlmo(config, spec);
  readRotary(config, spec, std::nullopt);
}

void olmo2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionNorm = layer.mlpNorm = std::nullopt;
    layer.attentionPostNorm = named("post_attention_layernorm");
    layer.mlpPostNorm = named("post_feedforward_layernorm");
  }
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
  spec.normalizesExperts = config.flag("norm_topk_prob", false);
  if (config.value("clip_qkv"))
    config.mistake("clip_qkv", "clipped queries, keys and values are not supported", "");
}

void olmoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  nameMlpExperts(spec);
}

} // namespace sinter
