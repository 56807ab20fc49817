#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

void readLatentAttention(ConfigReader &config, ModelSpec &spec, int64_t queryLatent) {
  spec.heads = config.size("num_attention_heads");
  spec.kvHeads = spec.heads;
  if (config.has("num_key_value_heads") && config.size("num_key_value_heads") != spec.heads)
    config.mistake("num_key_value_heads", "it is not num_attention_heads", "remove it");
  spec.latentSize = config.size("kv_lora_rank", 512);
  spec.rotarySize = config.size("qk_rope_head_dim", 64);
  spec.valueSize = config.size("v_head_dim", 128);
  spec.queryLatentSize =
      config.present("q_lora_rank") ? config.optionalSize("q_lora_rank").value_or(0) : queryLatent;
  int64_t plain = config.size("qk_nope_head_dim", 128);
  if (spec.rotarySize % 2 != 0)
    config.mistake("qk_rope_head_dim", "it is odd", "");
  // Of a head this part alone is rotated.
  spec.headDim = spec.rotarySize;
  readRotary(config, spec, std::nullopt);
  spec.headDim = plain + spec.rotarySize;
  const RotarySpec &rotary = spec.rotaries.front();
  double stretch = 1, factor = rotary.factor.value_or(1);
  if (rotary.type != RopeType::Default && rotary.mscaleAllDim != 0 && factor > 1)
    stretch = 0.1 * rotary.mscaleAllDim * std::log(factor) + 1;
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = stretch * stretch / std::sqrt(double(spec.headDim));
}

void nameLatentAttention(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                         const LatentNames &names) {
  int64_t hidden = spec.hiddenSize, queries = spec.heads * spec.headDim;
  int64_t made = spec.heads * (spec.headDim - spec.rotarySize + spec.valueSize);
  auto named = [&](const std::string &name, int64_t in, int64_t out, bool bias) {
    return linear(name, stem + name, in, out, bias);
  };
  // RMS norms, whatever the model's others are.
  auto normNamed = [&](const std::string &name, int64_t size) {
    return NormSpec{name, stem + name + ".weight", "", size};
  };
  LatentAttentionSpec &latent = layer.latent.emplace();
  if (int64_t size = spec.queryLatentSize) {
    latent.queryDown = named(names.queryDown, hidden, size, spec.qkvBias);
    latent.queryDownNorm = normNamed(names.queryDownNorm, size);
    layer.query = named(names.queryUp, size, queries, false);
  } else {
    layer.query = named(names.query, hidden, queries, false);
  }
  latent.down = named(names.down, hidden, spec.latentSize + spec.rotarySize, spec.qkvBias);
  latent.latentNorm = normNamed(names.norm, spec.latentSize);
  latent.up = named(names.up, spec.latentSize, made, false);
  layer.key = layer.value = {};
  layer.output = named(names.output, spec.heads * spec.valueSize, hidden, spec.outputBias);
}

} // namespace sinter
