// Bloom: ALiBi, layer norms before each block and behind the embedding, Q, K and V of each head
// side by side in one tensor.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void bloomReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, true);
  // Older files have GPT's names.
  auto older = [&](const char *key, const char *olderKey) {
    return config.has(olderKey) ? olderKey : key;
  };
  spec.hiddenSize = config.size(older("hidden_size", "n_embed"));
  spec.mlpSize = 4 * spec.hiddenSize;
  readLayerCount(config, spec, older("n_layer", "num_hidden_layers"));
  spec.heads = spec.kvHeads = config.size(older("n_head", "num_attention_heads"));
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("seq_length", 2048);
  spec.positions = PositionKind::Alibi;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.normsEmbedding = true;
  spec.activation = Activation::GeluTanh;
  spec.gatedMlp = false;
  spec.qkvBias = spec.outputBias = spec.mlpBias = true;
  setUsualQueryScale(spec);
  config.requireFlag("apply_residual_connection_post_layernorm", false);
  // How training was laid out, and defaults of a time before there were others.
  config.ignore({"slow_but_exact", "attention_softmax_in_fp32", "bias_dropout_fusion",
                 "masked_softmax_fusion", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv",
                 "n_inner", "n_positions"});
}

void bloomNameTensors(ModelSpec &spec) {
  spec.alibiSlopes = getAlibiSlopes(spec.heads);
  spec.embedding = "transformer.word_embeddings.weight";
  spec.embeddingName = "transformer.word_embeddings";
  auto outer = [&](const char *name) { return norm(spec, name, name, spec.hiddenSize); };
  spec.embeddingNorm = outer("transformer.word_embeddings_layernorm");
  spec.finalNorm = outer("transformer.ln_f");
  nameHead(spec, "lm_head");
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.h." + std::to_string(&layer - spec.layers.data());
    auto normNamed = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, hidden);
    };
    layer.attentionNorm = normNamed("input_layernorm");
    layer.mlpNorm = normNamed("post_attention_layernorm");
    nameGroupedHeads(spec, layer, "self_attention.query_key_value");
    layer.output =
        linear("self_attention.dense", layer.path + ".self_attention.dense", hidden, hidden, true);
    namePlainMlp(spec, layer, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  }
}

} // namespace sinter
