// GLM: Llama with partial rotary positions of neighbouring components, gate and up in one tensor;
// GLM-4 (of 2025) has norms before and after each block. GLM-4.5 has DeepSeek-V3's experts and
// pairs that are half of what is rotated apart; Solar Open has such experts in all layers, and
// heads that are rotated whole.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void glmReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec,
            {.positions = 131072, .kvHeads = 2, .headDim = 128, .partial = 0.5, .eps = 1.5625e-7});
  spec.rotaries.front().interleaved = true;
  spec.qkvBias = config.flag("attention_bias", true);
}

void glmNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  for (LayerSpec &layer : spec.layers)
    nameFusedGate(spec, layer);
}

void glm4ReadConfig(ConfigReader &config, ModelSpec &spec) {
  glmReadConfig(config, spec);
  spec.normPlace = NormPlace::PrePost;
}

void glm4NameTensors(ModelSpec &spec) {
  glmNameTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, spec.hiddenSize);
    };
    layer.attentionPostNorm = named("post_self_attn_layernorm");
    layer.mlpPostNorm = named("post_mlp_layernorm");
  }
}

void glm4MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .partial = 0.5});
  spec.qkvBias = config.flag("attention_bias", false);
  spec.queryKeyNorm = config.flag("use_qk_norm", false);
  readDeepSeekExperts(config, spec,
                      {.count = 128, .perToken = 8, .size = 1408, .dense = 1, .shared = 1});
  useSigmoidRouting(config, spec, true);
}

void glm4MoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameDeepSeekExperts(spec);
  if (spec.queryKeyNorm)
    nameHeadNorms(spec);
}

void solarOpenReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec,
            {.positions = 131072,
             .kvHeads = 8,
             .headDim = 128,
             .partial = 1,
             .theta = 1e6,
             .mlpSize = 1280});
  spec.qkvBias = config.flag("attention_bias", false);
  config.requireFlag("use_qk_norm", false);
  readDeepSeekExperts(config, spec, {.count = 128, .perToken = 8, .size = 1280, .shared = 1});
  useSigmoidRouting(config, spec, true);
}

void solarOpenNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameDeepSeekExperts(spec);
}

} // namespace sinter
