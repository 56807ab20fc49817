// Llama 1 to 3: RMS norms, rotary positions of every rope_type, gated MLPs, grouped heads. CWM has
// a window in three of four layers; IQuest-Coder, InternLM 3 and EXAONE 3 are Llama by other names;
// Jais 2 has layer norms and a plain MLP of squared ReLU.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void llamaReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.eps = 1e-6});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void llamaNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void cwmReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 128, .theta = 1e6});
  if (!config.has("rope_parameters") && !config.has("rope_scaling")) {
    RotarySpec &rotary = spec.rotaries.front();
    rotary.type = RopeType::Llama3;
    rotary.factor = 16;
    rotary.originalMaxPositions = 8192;
  }
  std::optional<int64_t> window = config.optionalSize("sliding_window");
  if (!config.present("sliding_window"))
    window = 8192;
  readLayerTypes(config, spec, window,
                 [](const ModelSpec &, int64_t layer, int64_t) { return layer % 4 != 0; });
  spec.mlpBias = config.flag("mlp_bias", false);
}

void cwmNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void iQuestCoderReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 128});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  config.requireFlag("use_sliding_window", false);
  config.ignore({"sliding_window", "max_window_layers"});
}

void iQuestCoderNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void internLm3ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 32768, .kvHeads = 2, .headDim = 128});
  bool qkvBias = config.flag("qkv_bias", config.flag("attention_bias", false)),
       bias = config.flag("bias", config.flag("mlp_bias", false));
  if (qkvBias != bias)
    config.mistake("qkv_bias", "models of this type have biases in all products or in none", "");
  spec.qkvBias = spec.outputBias = spec.mlpBias = bias;
}

void internLm3NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void jais2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 8192, false);
  readPaddingId(config, spec);
  readKvHeads(config, spec, std::nullopt);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Relu2);
  spec.gatedMlp = false;
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_eps", 1e-5);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", true);
  spec.mlpBias = config.flag("mlp_bias", true);
}

void jais2NameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

/// EXAONE 3 to 3.5, and Deep: keys and tensors have older names.
void exaoneReadConfig(ConfigReader &config, ModelSpec &spec) {
  auto oneOf = [&](const char *older, const char *newer) {
    return config.has(older) ? older : newer;
  };
  readVocabulary(config, spec, false);
  spec.hiddenSize = config.size("hidden_size");
  spec.mlpSize = config.size("intermediate_size");
  readLayerCount(config, spec, oneOf("num_layers", "num_hidden_layers"));
  spec.heads = config.size("num_attention_heads");
  spec.maxPositions = config.size("max_position_embeddings", 4096);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 8);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, 5e5);
  setUsualQueryScale(spec);
  spec.activation =
      readActivation(config, oneOf("activation_function", "hidden_act"), Activation::Silu);
  spec.normEps = config.positive(oneOf("layer_norm_epsilon", "rms_norm_eps"), 1e-5);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  config.ignore({"embed_dropout"});
}

void exaoneNameTensors(ModelSpec &spec) {
  nameGptTensors(spec);
  spec.surplusEndings.push_back(".rotary.inv_freq");
  for (LayerSpec &layer : spec.layers) {
    int64_t hidden = spec.hiddenSize, queries = spec.heads * spec.headDim,
            keys = spec.kvHeads * spec.headDim;
    auto named = [&](const std::string &name, int64_t in, int64_t out, bool bias) {
      return linear(name, layer.path + "." + name, in, out, bias);
    };
    layer.query = named("attn.attention.q_proj", hidden, queries, spec.qkvBias);
    layer.key = named("attn.attention.k_proj", hidden, keys, spec.qkvBias);
    layer.value = named("attn.attention.v_proj", hidden, keys, spec.qkvBias);
    layer.output = named("attn.attention.out_proj", queries, hidden, spec.outputBias);
    layer.mlpNorm = norm(spec, "ln_2", layer.path + ".ln_2", hidden);
    layer.gate = named("mlp.c_fc_0", hidden, spec.mlpSize, spec.mlpBias);
    layer.up = named("mlp.c_fc_1", hidden, spec.mlpSize, spec.mlpBias);
    layer.down = named("mlp.c_proj", spec.mlpSize, hidden, spec.mlpBias);
  }
}

} // namespace sinter
