// Falcon: layer norms, Q, K and V of each group of heads side by side in one tensor, a plain MLP
// beside attention (7B: of one norm; 40B: each of its own) or after it (with ALiBi: RW).

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

void falconReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, true);
  spec.hiddenSize = config.size("hidden_size");
  spec.mlpSize = config.size("ffn_hidden_size", 4 * spec.hiddenSize);
  readLayerCount(config, spec, "num_hidden_layers");
  spec.heads = config.size("num_attention_heads");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("max_position_embeddings", 2048);
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.activation = readActivation(config, "activation", Activation::Gelu);
  spec.gatedMlp = false;
  spec.qkvBias = spec.outputBias = spec.mlpBias = config.flag("bias", false);
  setUsualQueryScale(spec);

  bool isNew = config.flag("new_decoder_architecture", false);
  bool isMultiQuery = config.flag("multi_query", true);
  int64_t groups = config.size("num_kv_heads", spec.heads);
  spec.kvHeads = isNew ? groups : isMultiQuery ? 1 : spec.heads;
  if (spec.heads % spec.kvHeads != 0)
    config.mistake("num_kv_heads",
                   std::to_string(spec.kvHeads) + " does not divide the " +
                       std::to_string(spec.heads) + " attention heads",
                   "");
  spec.parallelResidual = config.flag("parallel_attn", true);
  int64_t norms = config.size("num_ln_in_parallel_attn", isNew ? 2 : 1);
  spec.sharedParallelNorm = spec.parallelResidual && norms == 1;
  if (norms > 2 || (norms == 2 && !isNew))
    config.mistake("num_ln_in_parallel_attn",
                   "it is 1, or 2 where new_decoder_architecture is true", "");
  if (isNew && !spec.parallelResidual)
    config.mistake("parallel_attn", "it is true where new_decoder_architecture is", "");
  if (config.flag("alibi", false)) {
    spec.positions = PositionKind::Alibi;
    config.ignore({"rope_parameters", "rope_scaling", "rope_theta"});
  } else {
    readRotary(config, spec, std::nullopt);
  }
  config.requireFlag("apply_residual_connection_post_layernorm", false);
}

void falconNameTensors(ModelSpec &spec) {
  // Biases are scaled with the scores.
  if (spec.positions == PositionKind::Alibi)
    for (float slope : getAlibiSlopes(spec.heads))
      spec.alibiSlopes.push_back(slope / std::sqrt(static_cast<float>(spec.headDim)));
  spec.embedding = "transformer.word_embeddings.weight";
  spec.embeddingName = "transformer.word_embeddings";
  spec.finalNorm = norm(spec, "transformer.ln_f", "transformer.ln_f", spec.hiddenSize);
  nameHead(spec, "lm_head");
  spec.surplusEndings.push_back(".rotary_emb.inv_freq");
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.h." + std::to_string(&layer - spec.layers.data());
    auto normNamed = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, hidden);
    };
    bool hasTwo = spec.parallelResidual && !spec.sharedParallelNorm;
    layer.attentionNorm = normNamed(hasTwo ? "ln_attn" : "input_layernorm");
    if (hasTwo)
      layer.mlpNorm = normNamed("ln_mlp");
    else if (!spec.parallelResidual)
      layer.mlpNorm = normNamed("post_attention_layernorm");
    namePlainMlp(spec, layer, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
    nameGroupedHeads(spec, layer, "self_attention.query_key_value");
    layer.output = linear("self_attention.dense", layer.path + ".self_attention.dense", hidden,
                          hidden, spec.outputBias);
  }
}

} // namespace sinter
