// GPT-2: learned positions, layer norms before each block, Conv1D weights ([in, out]), Q, K and V
// concatenated in one tensor.

#include "frontends/Spec/Families/Family.h"
#include <cmath>

namespace sinter {

void gpt2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  spec.vocabSize = config.size("vocab_size");
  spec.hiddenSize = config.size("n_embd");
  spec.mlpSize = config.size("n_inner", 4 * spec.hiddenSize);
  readLayerCount(config, spec, "n_layer");
  spec.heads = spec.kvHeads = config.size("n_head");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("n_positions", 1024);
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.activation = readActivation(config, "activation_function", Activation::GeluTanh);
  spec.initializerRange = config.positive("initializer_range", 0.02);
  spec.tiedEmbeddings = config.flag("tie_word_embeddings", true);
  spec.bosIds = config.ids("bos_token_id");
  spec.eosIds = config.ids("eos_token_id");
  bool scale = config.flag("scale_attn_weights", true);
  bool scaleByLayer = config.flag("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].queryScale =
        (scale ? 1 / std::sqrt(double(spec.headDim)) : 1.0) / (scaleByLayer ? double(i + 1) : 1.0);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.positions = PositionKind::Learned;
  // n_ctx is an older name of n_positions; reordering only moves roundings.
  config.ignore({"n_ctx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
                 "summary_activation", "summary_proj_to_labels", "summary_first_dropout"});
}

void gpt2NameTensors(ModelSpec &spec) {
  spec.embedding = "transformer.wte.weight";
  spec.embeddingName = "transformer.wte";
  spec.positionEmbedding = "transformer.wpe.weight";
  spec.positionEmbeddingName = "transformer.wpe";
  spec.finalNorm = norm(spec, "transformer.ln_f", "transformer.ln_f", spec.hiddenSize);
  nameHead(spec, "lm_head");
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".attn.bias", ".attn.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.h." + std::to_string(&layer - spec.layers.data());
    auto part = [&](const char *name, const char *tensor, int64_t in, int64_t out, int64_t index,
                    int64_t parts) {
      WeightRef weight{.layout = WeightRef::Layout::InOut,
                       .tensorOut = parts * out,
                       .begin = index * out,
                       .count = out};
      return linearPart(name, layer.path + "." + tensor, in, weight, true);
    };
    layer.attentionNorm = norm(spec, "ln_1", layer.path + ".ln_1", hidden);
    layer.query = part("attn.c_attn.q", "attn.c_attn", hidden, hidden, 0, 3);
    layer.key = part("attn.c_attn.k", "attn.c_attn", hidden, hidden, 1, 3);
    layer.value = part("attn.c_attn.v", "attn.c_attn", hidden, hidden, 2, 3);
    layer.output = part("attn.c_proj", "attn.c_proj", hidden, hidden, 0, 1);
    layer.mlpNorm = norm(spec, "ln_2", layer.path + ".ln_2", hidden);
    layer.up = part("mlp.c_fc", "mlp.c_fc", hidden, spec.mlpSize, 0, 1);
    layer.down = part("mlp.c_proj", "mlp.c_proj", spec.mlpSize, hidden, 0, 1);
  }
}

} // namespace sinter
