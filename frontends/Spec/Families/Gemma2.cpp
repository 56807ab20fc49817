// Gemma 2: norms before and after each block with factor 1 + weight, soft caps on scores and
// logits, scaled embeddings, a window in every second layer.

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

void gemma2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 8192, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 4);
  readHeadDim(config, spec, 256);
  readRotary(config, spec, std::nullopt);
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 4096;
  readLayerTypes(config, spec, window,
                 [](const ModelSpec &, int64_t layer, int64_t) { return layer % 2 == 0; });
  double scalar = config.positive("query_pre_attn_scalar", 256);
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = 1 / std::sqrt(scalar);
  // Null switches a cap off; an absent key means the family's default.
  auto cap = [&](const char *key, double absent) {
    return config.optionalPositive(key).value_or(config.present(key) ? 0.0 : absent);
  };
  spec.attentionSoftCap = cap("attn_logit_softcapping", 50);
  spec.logitSoftCap = cap("final_logit_softcapping", 30);
  spec.activation = readActivation(config, "hidden_activation", Activation::GeluTanh);
  config.ignore({"hidden_act"}); // transformers does not read it either
  config.requireFlag("use_bidirectional_attention", false);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.normUnitOffset = true;
  spec.normPlace = NormPlace::PrePost;
  spec.embeddingScale = std::sqrt(double(spec.hiddenSize));
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

} // namespace sinter
