// GPT-J: parallel residuals of one layer norm, rotary positions of neighbouring components, biases
// in the MLP and the head.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {

void gptJReadConfig(ConfigReader &config, ModelSpec &spec) {
  spec.vocabSize = config.size("vocab_size");
  spec.hiddenSize = config.size("n_embd");
  spec.mlpSize = config.size("n_inner", 4 * spec.hiddenSize);
  readLayerCount(config, spec, "n_layer");
  spec.heads = spec.kvHeads = config.size("n_head");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("n_positions", 2048);
  int64_t width = config.size("rotary_dim", 64);
  if (width > spec.headDim || width % 2 != 0)
    config.mistake("rotary_dim",
                   std::to_string(width) + " of " + std::to_string(spec.headDim) +
                       " components of a head would be rotated in pairs",
                   "");
  RotarySpec rotary;
  rotary.dim = std::min(width, spec.headDim);
  rotary.interleaved = true;
  rotary.maxPositions = rotary.originalMaxPositions = spec.maxPositions;
  spec.rotaries = {rotary};
  setUsualQueryScale(spec);
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.activation = readActivation(config, "activation_function", Activation::GeluTanh);
  spec.initializerRange = config.positive("initializer_range", 0.02);
  spec.tiedEmbeddings = config.flag("tie_word_embeddings", false);
  spec.bosIds = config.ids("bos_token_id");
  spec.eosIds = config.ids("eos_token_id");
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.parallelResidual = spec.sharedParallelNorm = true;
  spec.mlpBias = spec.headBias = true;
  config.requireFlag("rotary", true);
  config.requireFlag("scale_attn_weights", true);
  config.ignore({"n_ctx", "summary_type", "summary_use_proj", "summary_activation",
                 "summary_proj_to_labels", "summary_first_dropout"});
}

void gptJNameTensors(ModelSpec &spec) {
  spec.embedding = "transformer.wte.weight";
  spec.embeddingName = "transformer.wte";
  spec.finalNorm = norm(spec, "transformer.ln_f", "transformer.ln_f", spec.hiddenSize);
  nameHead(spec, "lm_head", spec.headBias);
  spec.surplusEndings.insert(spec.surplusEndings.end(), {".attn.bias", ".attn.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    layer.path = "transformer.h." + std::to_string(&layer - spec.layers.data());
    auto named = [&](const char *name, int64_t in, int64_t out, bool bias) {
      return linear(name, layer.path + "." + name, in, out, bias);
    };
    layer.attentionNorm = norm(spec, "ln_1", layer.path + ".ln_1", hidden);
    layer.query = named("attn.q_proj", hidden, hidden, false);
    layer.key = named("attn.k_proj", hidden, hidden, false);
    layer.value = named("attn.v_proj", hidden, hidden, false);
    layer.output = named("attn.out_proj", hidden, hidden, false);
    layer.up = named("mlp.fc_in", hidden, spec.mlpSize, true);
    layer.down = named("mlp.fc_out", spec.mlpSize, hidden, true);
  }
}

} // namespace sinter
