// OPT: learned positions behind two rows that are not used, layer norms before each block, or after
// it (350M, whose embeddings are narrower than its layers), biases everywhere.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void optReadConfig(ConfigReader &config, ModelSpec &spec) {
  spec.vocabSize = config.size("vocab_size");
  spec.hiddenSize = config.size("hidden_size");
  spec.mlpSize = config.size("ffn_dim");
  readLayerCount(config, spec, "num_hidden_layers");
  spec.heads = spec.kvHeads = config.size("num_attention_heads");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("max_position_embeddings", 2048);
  spec.positions = PositionKind::Learned;
  spec.positionOffset = 2;
  if (int64_t size = config.size("word_embed_proj_dim", spec.hiddenSize); size != spec.hiddenSize)
    spec.embeddingSize = size;
  bool isBefore = config.flag("do_layer_norm_before", true);
  spec.normPlace = isBefore ? NormPlace::Pre : NormPlace::Post;
  spec.normKind = NormKind::LayerNorm;
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "activation_function", Activation::Relu);
  spec.gatedMlp = false;
  spec.qkvBias = spec.outputBias = spec.mlpBias = true;
  config.requireFlag("enable_bias", true);
  config.requireFlag("layer_norm_elementwise_affine", true);
  config.requireFlag("_remove_final_layer_norm", false);
  spec.initializerRange = config.positive("init_std", 0.02);
  spec.tiedEmbeddings = config.flag("tie_word_embeddings", true);
  spec.bosIds = config.ids("bos_token_id");
  spec.eosIds = config.ids("eos_token_id");
  readPaddingId(config, spec);
  config.ignore({"dropout", "activation_dropout", "layerdrop"});
}

void optNameTensors(ModelSpec &spec) {
  spec.embedding = "model.decoder.embed_tokens.weight";
  spec.embeddingName = "model.decoder.embed_tokens";
  spec.positionEmbedding = "model.decoder.embed_positions.weight";
  spec.positionEmbeddingName = "model.decoder.embed_positions";
  bool isBefore = spec.normPlace == NormPlace::Pre;
  if (isBefore)
    spec.finalNorm = norm(spec, "model.decoder.final_layer_norm", "model.decoder.final_layer_norm",
                          spec.hiddenSize);
  int64_t hidden = spec.hiddenSize;
  if (spec.embeddingSize) {
    auto project = [&](const std::string &name, int64_t in, int64_t out) {
      return linear(name, name, in, out, false);
    };
    spec.embeddingProjection = project("model.decoder.project_in", spec.embeddingSize, hidden);
    spec.headProjection = project("model.decoder.project_out", hidden, spec.embeddingSize);
  }
  nameHead(spec, "lm_head");
  for (LayerSpec &layer : spec.layers) {
    layer.path = "model.decoder.layers." + std::to_string(&layer - spec.layers.data());
    auto named = [&](const char *name, int64_t in, int64_t out) {
      return linear(name, layer.path + "." + name, in, out, true);
    };
    (isBefore ? layer.attentionNorm : layer.attentionPostNorm) =
        norm(spec, "self_attn_layer_norm", layer.path + ".self_attn_layer_norm", hidden);
    layer.query = named("self_attn.q_proj", hidden, hidden);
    layer.key = named("self_attn.k_proj", hidden, hidden);
    layer.value = named("self_attn.v_proj", hidden, hidden);
    layer.output = named("self_attn.out_proj", hidden, hidden);
    (isBefore ? layer.mlpNorm : layer.mlpPostNorm) =
        norm(spec, "final_layer_norm", layer.path + ".final_layer_norm", hidden);
    namePlainMlp(spec, layer, "fc1", "fc2");
  }
}

} // namespace sinter
