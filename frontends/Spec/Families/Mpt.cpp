// MPT: ALiBi, layer norms and linears without biases, Q, K and V concatenated in one tensor.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

/// MPT's slopes: where heads are no power of two, every second one of the power above, then the
/// others.
std::vector<float> makeSlopes(int64_t heads, double exponent) {
  int64_t power = 1;
  while (power < heads)
    power *= 2;
  auto slope = [&](int64_t i) {
    return static_cast<float>(std::exp2(-exponent * double(i) / double(power)));
  };
  std::vector<float> slopes;
  if (power != heads)
    for (int64_t i = 2; i <= power; i += 2)
      slopes.push_back(slope(i));
  for (int64_t i = 1; i <= power; i += power == heads ? 1 : 2)
    slopes.push_back(slope(i));
  slopes.resize(heads);
  return slopes;
}

void readAttention(ConfigReader &config, ModelSpec &spec) {
  const ConfigReader::Json *object = config.value("attn_config");
  ConfigReader::Json none = ConfigReader::Json::object();
  if (object && !object->is_object()) {
    config.mistake("attn_config", "it is not an object", "");
    object = nullptr;
  }
  ConfigReader attention(object ? *object : none, "attn_config");
  ignoreHarmless(attention);
  spec.clipQkv = attention.positive("clip_qkv", 0);
  spec.alibiExponent = attention.positive("alibi_bias_max", 8);
  double scale = attention.positive("softmax_scale", 1 / std::sqrt(double(spec.headDim)));
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = scale;
  attention.requireFlag("alibi", true);
  attention.requireFlag("qk_ln", false);
  attention.requireFlag("prefix_lm", false);
  attention.requireFlag("attn_uses_sequence_id", false);
  attention.choice("attn_type", {"multihead_attention"}, 0);
  attention.ignore({"attn_impl"});
  if (Expected<void> read = attention.finish(); !read)
    config.mistake("attn_config", read.error().message(), "");
}

} // namespace

void mptReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, true);
  spec.hiddenSize = config.size("d_model");
  spec.mlpSize = 4 * spec.hiddenSize;
  if (config.size("expansion_ratio", 4) != 4)
    config.mistake("expansion_ratio", "it is 4 in models of this type", "");
  readLayerCount(config, spec, "n_layers");
  spec.heads = spec.kvHeads = config.size("n_heads");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("max_seq_len", 2048);
  spec.positions = PositionKind::Alibi;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.activation = Activation::Gelu;
  spec.gatedMlp = false;
  readAttention(config, spec);
  config.requireFlag("no_bias", true);
  if (config.value("logit_scale"))
    config.mistake("logit_scale", "scaled logits are not supported", "set it to null");
  config.ignore({"embedding_fraction", "init_config", "init_device", "learned_pos_emb", "norm_type",
                 "tokenizer_name", "verbose", "emb_pdrop"});
}

void mptNameTensors(ModelSpec &spec) {
  spec.alibiSlopes = makeSlopes(spec.heads, spec.alibiExponent);
  spec.embedding = "transformer.wte.weight";
  spec.embeddingName = "transformer.wte";
  auto outer = [&](const std::string &path, const char *name) {
    NormSpec result = norm(spec, name, path + name, spec.hiddenSize);
    result.bias.clear();
    return result;
  };
  spec.finalNorm = outer("", "transformer.norm_f");
  nameHead(spec, "lm_head");
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.blocks." + std::to_string(&layer - spec.layers.data());
    layer.attentionNorm = outer(layer.path + ".", "norm_1");
    layer.mlpNorm = outer(layer.path + ".", "norm_2");
    nameConcatenatedHeads(spec, layer, "attn.Wqkv");
    layer.output = linear("attn.out_proj", layer.path + ".attn.out_proj", hidden, hidden, false);
    namePlainMlp(spec, layer, "ffn.up_proj", "ffn.down_proj");
  }
}

} // namespace sinter
