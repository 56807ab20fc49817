// Gemma, Gemma 2 and Gemma 3 (its text models): norms with factor 1 + weight, scaled embeddings;
// from 2 on norms before and after each block and layers with a window; 2 with soft caps on scores
// and logits, 3 with norms on the heads of Q and K and other rotary positions where a window is.
// VaultGemma is 2 without the norms after blocks.

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {
namespace {

void readGemma(ConfigReader &config, ModelSpec &spec, int64_t defaultPositions,
               int64_t defaultKvHeads) {
  readCommon(config, spec, defaultPositions, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, defaultKvHeads);
  readHeadDim(config, spec, 256);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.normUnitOffset = true;
  spec.embeddingScale = std::sqrt(double(spec.hiddenSize));
  config.requireFlag("use_bidirectional_attention", false);
}

/// What 2 and 3 have in common. A cap that is null is switched off, one that is absent is `absent`.
void readWithWindows(ConfigReader &config, ModelSpec &spec, double scoreCap, double logitCap,
                     bool (*isSliding)(const ModelSpec &, int64_t, int64_t), int64_t argument) {
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  readLayerTypes(config, spec, window, isSliding, argument);
  double scalar = config.positive("query_pre_attn_scalar", 256);
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = 1 / std::sqrt(scalar);
  auto cap = [&](const char *key, double absent) {
    return config.optionalPositive(key).value_or(config.present(key) ? 0.0 : absent);
  };
  spec.attentionSoftCap = cap("attn_logit_softcapping", scoreCap);
  spec.logitSoftCap = cap("final_logit_softcapping", logitCap);
  spec.activation = readActivation(config, "hidden_activation", Activation::GeluTanh);
  config.ignore({"hidden_act"}); // transformers does not read it either
  spec.normPlace = NormPlace::PrePost;
}

} // namespace

void gemmaReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGemma(config, spec, 8192, 16);
  readRotary(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::GeluTanh);
  // The first files say "gelu" and mean this one; what came to say so is not read by transformers.
  if (spec.activation == Activation::Gelu)
    spec.activation = Activation::GeluTanh;
  config.ignore({"hidden_activation"});
}

void gemmaNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void gemma2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGemma(config, spec, 8192, 4);
  readRotary(config, spec, std::nullopt);
  readWithWindows(
      config, spec, 50, 30,
      [](const ModelSpec &, int64_t layer, int64_t) { return layer % 2 == 0; }, 0);
}

void gemma2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionPostNorm = named("post_attention_layernorm");
    layer.mlpNorm = named("pre_feedforward_layernorm");
    layer.mlpPostNorm = named("post_feedforward_layernorm");
  }
}

void gemma3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readGemma(config, spec, 131072, 4);
  int64_t pattern = config.size("_sliding_window_pattern", 6);
  pattern = config.size("sliding_window_pattern", pattern);
  readWithWindows(
      config, spec, 0, 0,
      [](const ModelSpec &, int64_t layer, int64_t each) { return (layer + 1) % each != 0; },
      pattern);
  if (spec.attentionSoftCap != 0)
    config.mistake("attn_logit_softcapping", "Gemma 3 caps no scores, whatever its config says",
                   "set it to null");
  readRotaryOfLayerTypes(config, spec, 1e6, "rope_local_base_freq", 1e4);
  spec.queryKeyNorm = true;
}

void gemma3NameTensors(ModelSpec &spec) {
  gemma2NameTensors(spec);
  nameHeadNorms(spec);
}

void vaultGemmaReadConfig(ConfigReader &config, ModelSpec &spec) {
  gemma2ReadConfig(config, spec);
  spec.normPlace = NormPlace::Pre;
}

void vaultGemmaNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    layer.mlpNorm = norm(spec, "pre_feedforward_layernorm",
                         layer.path + ".pre_feedforward_layernorm", spec.hiddenSize);
}

} // namespace sinter
