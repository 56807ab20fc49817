#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

constexpr int64_t maxLayers = 10'000;
/// Experts of all layers, each of which has tensors of its own.
constexpr int64_t maxExperts = 100'000;

constexpr std::pair<const char *, Activation> activations[] = {
    {"gelu", Activation::Gelu},          {"gelu_python", Activation::Gelu},
    {"gelu_new", Activation::GeluTanh},  {"gelu_fast", Activation::GeluTanh},
    {"gelu_tanh", Activation::GeluTanh}, {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"silu", Activation::Silu},          {"swish", Activation::Silu},
    {"relu", Activation::Relu},          {"relu2", Activation::Relu2},
};

} // namespace

void readLayerCount(ConfigReader &config, ModelSpec &spec, const char *key) {
  int64_t layers = config.size(key);
  if (layers > maxLayers) {
    config.mistake(
        key, std::to_string(layers) + " layers are more than " + std::to_string(maxLayers), "");
    layers = 1;
  }
  spec.layers.resize(layers);
  for (int64_t i = 0; i < layers; ++i)
    spec.layers[i].parameterGroup = i;
}

void readVocabulary(ConfigReader &config, ModelSpec &spec, bool defaultTied) {
  spec.vocabSize = config.size("vocab_size");
  spec.initializerRange = config.positive("initializer_range", 0.02);
  spec.tiedEmbeddings = config.flag("tie_word_embeddings", defaultTied);
  spec.bosIds = config.ids("bos_token_id");
  spec.eosIds = config.ids("eos_token_id");
}

void readCommon(ConfigReader &config, ModelSpec &spec, int64_t defaultPositions, bool defaultTied,
                std::optional<int64_t> defaultMlpSize) {
  readVocabulary(config, spec, defaultTied);
  spec.hiddenSize = config.size("hidden_size");
  spec.mlpSize = defaultMlpSize ? config.size("intermediate_size", *defaultMlpSize)
                                : config.size("intermediate_size");
  readLayerCount(config, spec, "num_hidden_layers");
  spec.heads = config.size("num_attention_heads");
  spec.maxPositions = config.size("max_position_embeddings", defaultPositions);
}

void readLlama(ConfigReader &config, ModelSpec &spec, const LlamaDefaults &defaults) {
  readCommon(config, spec, defaults.positions, defaults.tied, defaults.mlpSize);
  readPaddingId(config, spec);
  readKvHeads(config, spec, defaults.kvHeads);
  readHeadDim(config, spec, defaults.headDim);
  readRotary(config, spec, defaults.partial, defaults.theta);
  setUsualQueryScale(spec);
  spec.activation = readActivation(config, "hidden_act", Activation::Silu);
  spec.normEps = config.positive("rms_norm_eps", defaults.eps);
}

void readGpt(ConfigReader &config, ModelSpec &spec, int64_t defaultPositions, bool defaultTied) {
  readVocabulary(config, spec, defaultTied);
  spec.hiddenSize = config.size("n_embd");
  spec.mlpSize = config.size("n_inner", 4 * spec.hiddenSize);
  readLayerCount(config, spec, "n_layer");
  spec.heads = spec.kvHeads = config.size("n_head");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("n_positions", defaultPositions);
  spec.normKind = NormKind::LayerNorm;
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.gatedMlp = false;
  spec.activation = readActivation(config, "activation_function", Activation::GeluTanh);
  config.ignore({"n_ctx"}); // an older name of n_positions
}

void readPaddingId(ConfigReader &config, ModelSpec &spec) {
  std::vector<int64_t> ids = config.ids("pad_token_id");
  if (!ids.empty() && ids.front() >= 0 && ids.front() < spec.vocabSize)
    spec.paddingId = ids.front();
}

void readKvHeads(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent) {
  int64_t fallback =
      config.present("num_key_value_heads") ? spec.heads : absent.value_or(spec.heads);
  spec.kvHeads = config.size("num_key_value_heads", fallback);
  if (spec.heads % spec.kvHeads != 0)
    config.mistake("num_key_value_heads",
                   std::to_string(spec.kvHeads) + " does not divide the " +
                       std::to_string(spec.heads) + " attention heads",
                   "");
}

void deriveHeadDim(ConfigReader &config, ModelSpec &spec) {
  spec.headDim = spec.hiddenSize / spec.heads;
  if (spec.hiddenSize % spec.heads != 0)
    config.mistake("num_attention_heads",
                   std::to_string(spec.heads) + " heads do not divide the hidden size of " +
                       std::to_string(spec.hiddenSize),
                   "");
}

void readHeadDim(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent) {
  std::optional<int64_t> given = config.optionalSize("head_dim");
  if (!given && !config.present("head_dim"))
    given = absent;
  if (given)
    spec.headDim = *given;
  else
    deriveHeadDim(config, spec);
}

Activation readActivation(ConfigReader &config, const char *key, Activation fallback) {
  if (!config.has(key)) {
    config.ignore({key});
    return fallback;
  }
  std::string name = config.text(key, "");
  for (auto [known, activation] : activations)
    if (name == known)
      return activation;
  config.mistake(key, "activation '" + name + "' is not supported",
                 "use gelu, gelu_new, gelu_pytorch_tanh, silu, relu or relu2");
  return fallback;
}

void readUniformWindow(ConfigReader &config, ModelSpec &spec) {
  if (std::optional<int64_t> window = config.optionalSize("sliding_window"))
    for (LayerSpec &layer : spec.layers)
      layer.window = *window;
}

void readLayerMixers(ConfigReader &config, ModelSpec &spec, const char *otherType, MixerKind other,
                     const std::function<bool(size_t layer)> &isOther) {
  std::optional<std::vector<std::string>> types =
      readBlockTypes(config, {"layer_types", "layers_block_type"});
  if (types && types->size() != spec.layers.size())
    return config.mistake("layer_types",
                          "it has " + std::to_string(types->size()) + " entries for " +
                              std::to_string(spec.layers.size()) + " layers",
                          "");
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (types && (*types)[i] != otherType && (*types)[i] != "full_attention")
      config.mistake("layer_types", "'" + (*types)[i] + "' is not supported",
                     "use '" + std::string(otherType) + "' or 'full_attention'");
    if (types ? (*types)[i] == otherType : isOther(i))
      spec.layers[i].mixer = other;
  }
}

void readLayerTypes(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> window,
                    bool (*isSliding)(const ModelSpec &, int64_t, int64_t), int64_t argument) {
  std::optional<std::vector<std::string>> types = config.texts("layer_types");
  if (types && types->size() != spec.layers.size()) {
    config.mistake("layer_types",
                   "it has " + std::to_string(types->size()) + " entries for " +
                       std::to_string(spec.layers.size()) + " layers",
                   "");
    return;
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    bool sliding = types ? (*types)[i] == "sliding_attention"
                         : isSliding(spec, static_cast<int64_t>(i), argument);
    if (types && !sliding && spec.layers[i].mixer == MixerKind::Attention &&
        (*types)[i] != "full_attention")
      config.mistake("layer_types", "'" + (*types)[i] + "' is not supported",
                     "use 'full_attention' or 'sliding_attention'");
    if (sliding && !window)
      config.mistake("sliding_window", "layer " + std::to_string(i) + " needs it", "add it");
    spec.layers[i].window = sliding ? window.value_or(0) : 0;
  }
}

void readFullHeads(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent) {
  std::optional<int64_t> width = config.optionalSize("global_head_dim");
  std::optional<int64_t> keys = config.optionalSize("num_global_key_value_heads");
  bool areValues = config.flag("attention_k_eq_v", false);
  for (LayerSpec &layer : spec.layers)
    if (!layer.window) {
      layer.headDim = width.value_or(absent.value_or(0));
      layer.kvHeads = keys.value_or(0);
      layer.valuesAreKeys = areValues;
    }
}

void checkLayerHeads(ConfigReader &config, const ModelSpec &spec, const char *sizesKey) {
  const LayerSpec *ofKind[2] = {};
  for (const LayerSpec &layer : spec.layers) {
    if (spec.heads % spec.getKvHeads(layer) != 0)
      config.mistake(sizesKey,
                     std::to_string(spec.getKvHeads(layer)) + " heads of keys do not divide the " +
                         std::to_string(spec.heads) + " attention heads",
                     "");
    const LayerSpec *&first = ofKind[layer.window != 0];
    first = first ? first : &layer;
    if (spec.getHeadDim(layer) != spec.getHeadDim(*first) ||
        spec.getKvHeads(layer) != spec.getKvHeads(*first))
      config.mistake(sizesKey, "layers of one type have heads of several sizes", "");
  }
}

void readSharedKeys(ConfigReader &config, ModelSpec &spec) {
  int64_t count = static_cast<int64_t>(spec.layers.size());
  int64_t shared = config.count("num_kv_shared_layers", 0);
  bool isWide = config.flag("use_double_wide_mlp", false);
  for (int64_t i = std::max<int64_t>(count - shared, 0); i < count; ++i) {
    LayerSpec &layer = spec.layers[i];
    for (int64_t j = 0; j < count - shared; ++j)
      if ((spec.layers[j].window != 0) == (layer.window != 0))
        layer.cacheOf = j;
    if (!layer.cacheOf)
      return config.mistake("num_kv_shared_layers",
                            "no layer of the type of layer " + std::to_string(i) +
                                " has keys and values of its own",
                            "");
    layer.valuesAreKeys = false;
    if (isWide)
      layer.mlpSize = 2 * spec.mlpSize;
  }
}

void readLayerInputs(ConfigReader &config, ModelSpec &spec, int64_t size, int64_t defaultRows) {
  int64_t rows = config.size("vocab_size_per_layer_input", defaultRows);
  if (size == 0)
    return;
  if (rows < spec.vocabSize)
    config.mistake("vocab_size_per_layer_input",
                   "it is less than the vocabulary of " + std::to_string(spec.vocabSize), "");
  spec.layerInputs.emplace();
  spec.layerInputs->size = size;
  spec.layerInputs->rows = rows;
}

void readExperts(ConfigReader &config, ModelSpec &spec,
                 std::initializer_list<const char *> countKeys, int64_t defaultCount,
                 int64_t defaultPerToken) {
  const char *key = *countKeys.begin();
  for (const char *other : countKeys)
    if (!config.has(key) && config.has(other))
      key = other;
  spec.expertCount = config.sizeOfLayers(key, defaultCount);
  for (const char *other : countKeys)
    if (config.has(other) && config.sizeOfLayers(other, 1) != spec.expertCount)
      config.mistake(other, std::string("it is not what ") + key + " is", "remove one of them");
    else
      config.ignore({other});
  int64_t count = static_cast<int64_t>(spec.layers.size());
  if (spec.expertCount > maxExperts / count) {
    config.mistake(key,
                   std::to_string(spec.expertCount) + " experts in each of " +
                       std::to_string(count) + " layers are more than " +
                       std::to_string(maxExperts),
                   "");
    spec.expertCount = 1;
  }
  spec.expertsPerToken = config.size("num_experts_per_tok", defaultPerToken);
  if (spec.expertsPerToken > spec.expertCount)
    config.mistake("num_experts_per_tok",
                   std::to_string(spec.expertsPerToken) + " of " +
                       std::to_string(spec.expertCount) + " experts cannot be chosen",
                   "");
  spec.expertSize = spec.mlpSize;
  spec.stacksExperts = config.flag("stacked_experts", false);
  for (LayerSpec &layer : spec.layers)
    layer.isSparse = true;
  bool hasLoss = config.flag("output_router_logits", false);
  double coefficient = config.number("router_aux_loss_coef", 0.001);
  spec.routerLoss = hasLoss ? coefficient : 0;
}

void readLinearHeads(ConfigReader &config, ModelSpec &spec, const LinearHeadDefaults &defaults) {
  spec.linearKeyHeads = config.size("linear_num_key_heads", defaults.keyHeads);
  spec.linearValueHeads = config.size(
      "linear_num_value_heads", defaults.valueHeads ? defaults.valueHeads : spec.linearKeyHeads);
  spec.linearKeySize = config.size("linear_key_head_dim", defaults.keySize);
  spec.linearValueSize = config.size("linear_value_head_dim",
                                     defaults.valueSize ? defaults.valueSize : spec.linearKeySize);
  spec.convolutionWidth = config.size("linear_conv_kernel_dim", 4);
  if (spec.linearValueHeads % spec.linearKeyHeads != 0)
    config.mistake("linear_num_value_heads",
                   "the " + std::to_string(spec.linearKeyHeads) + " key heads do not divide its " +
                       std::to_string(spec.linearValueHeads),
                   "");
}

void readSparseLayers(ConfigReader &config, ModelSpec &spec, int64_t defaultSize) {
  spec.expertSize = config.size("moe_intermediate_size", defaultSize);
  spec.routing.normalizes = config.flag("norm_topk_prob", false);
  int64_t step = config.size("decoder_sparse_step", 1);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].isSparse = static_cast<int64_t>(i + 1) % step == 0;
  for (double layer : config.numbers("mlp_only_layers")) {
    if (layer < 0 || layer >= double(spec.layers.size()) || layer != std::floor(layer))
      return config.mistake(
          "mlp_only_layers",
          "its entries are not layers from 0 to " + std::to_string(spec.layers.size() - 1), "");
    spec.layers[static_cast<size_t>(layer)].isSparse = false;
  }
}

void dropFullRotaries(ModelSpec &spec) {
  for (LayerSpec &layer : spec.layers)
    if (!layer.window)
      layer.rotary = std::nullopt;
}

void setUsualQueryScale(ModelSpec &spec) {
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = 1 / std::sqrt(static_cast<double>(spec.headDim));
}

void ignoreHarmless(ConfigReader &config) {
  config.ignore({"model_type",
                 "architectures",
                 "auto_map",
                 "transformers_version",
                 "tokenizer_class",
                 "torch_dtype",
                 "dtype",
                 "use_cache",
                 "cache_implementation",
                 "pad_token_id",
                 "unk_token_id",
                 "sep_token_id",
                 "cls_token_id",
                 "mask_token_id",
                 "decoder_start_token_id",
                 "return_dict",
                 "return_dict_in_generate",
                 "output_attentions",
                 "output_hidden_states",
                 "output_scores",
                 "torchscript",
                 "use_bfloat16",
                 "gradient_checkpointing",
                 "attn_implementation",
                 "chunk_size_feed_forward",
                 "id2label",
                 "label2id",
                 "num_labels",
                 "problem_type",
                 "finetuning_task",
                 "task_specific_params",
                 "prefix",
                 "tie_encoder_decoder",
                 "cross_attention_hidden_size",
                 "is_decoder",
                 "summary_type",
                 "summary_use_proj",
                 "summary_activation",
                 "summary_proj_to_labels",
                 "summary_first_dropout",
                 "name_or_path"});
  // What only training or sampling uses.
  config.ignore({"attention_dropout",
                 "hidden_dropout",
                 "attn_pdrop",
                 "resid_pdrop",
                 "embd_pdrop",
                 "classifier_dropout",
                 "do_sample",
                 "temperature",
                 "top_k",
                 "top_p",
                 "typical_p",
                 "max_length",
                 "min_length",
                 "num_beams",
                 "num_beam_groups",
                 "diversity_penalty",
                 "repetition_penalty",
                 "length_penalty",
                 "no_repeat_ngram_size",
                 "encoder_no_repeat_ngram_size",
                 "bad_words_ids",
                 "num_return_sequences",
                 "early_stopping",
                 "forced_bos_token_id",
                 "forced_eos_token_id",
                 "remove_invalid_values",
                 "exponential_decay_length_penalty",
                 "suppress_tokens",
                 "begin_suppress_tokens",
                 "tf_legacy_loss",
                 "pretraining_tp"});
  config.requireFlag("is_encoder_decoder", false);
  config.requireFlag("add_cross_attention", false);
  if (const ConfigReader::Json *pruned = config.value("pruned_heads"); pruned && !pruned->empty())
    config.mistake("pruned_heads", "pruned heads are not supported", "");
  // How the weights are stored, which frontends/Quantized reads with them.
  config.ignore({"quantization_config"});
}

} // namespace sinter
