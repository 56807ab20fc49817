// Gemma 4 (its text models): Gemma 3 with factors that are the weights themselves, norms of values,
// scores that are not scaled, and a factor a layer. Layers without a window have heads of another
// size, of which the first pairs alone turn, and maybe fewer of keys, which may be the values, too.
// In the small ones the last layers use the keys and values of earlier ones, and each layer has an
// input of its own; in the one with experts these are beside the MLP and have norms of their own.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

/// What is of one layer where a file says so of each layer (per_layer_config).
void readLayerSizes(ConfigReader &config, ModelSpec &spec) {
  const ConfigReader::Json *layers = config.value("per_layer_config");
  if (!layers->is_object())
    return config.mistake("per_layer_config", "it is not an object", "");
  for (const auto &[name, sizes] : layers->items()) {
    auto layer = std::ranges::find_if(spec.layers, [&](const LayerSpec &each) {
      return std::to_string(&each - spec.layers.data()) == name;
    });
    if (layer == spec.layers.end() || !sizes.is_object())
      return config.mistake("per_layer_config", "'" + name + "' is no layer with an object", "");
    ConfigReader own(sizes, "layer " + name);
    layer->headDim = own.optionalSize("head_dim").value_or(0);
    layer->kvHeads = own.optionalSize("num_key_value_heads").value_or(0);
    if (Expected<void> read = own.finish(); !read)
      return config.mistake("per_layer_config", read.error().message(), "");
  }
}

/// Sizes of heads by layer: those of layers without a window are other ones.
void readHeadSizes(ConfigReader &config, ModelSpec &spec) {
  readFullHeads(config, spec, 512);
  const char *sizesKey = "num_global_key_value_heads";
  if (config.has("per_layer_config")) {
    sizesKey = "per_layer_config";
    for (LayerSpec &layer : spec.layers)
      layer.headDim = layer.kvHeads = 0;
    readLayerSizes(config, spec);
  } else {
    config.ignore({"per_layer_config"});
    for (LayerSpec &layer : spec.layers)
      if (!layer.valuesAreKeys)
        layer.kvHeads = 0;
  }
  checkLayerHeads(config, spec, sizesKey);
}

/// Which rotary positions there are, both kinds of which a file has, or neither.
void readRotaries(ConfigReader &config, ModelSpec &spec) {
  if (const ConfigReader::Json *kinds = config.value("rope_parameters"); kinds)
    for (const char *kind : {"full_attention", "sliding_attention"})
      if (!kinds->contains(kind))
        config.mistake("rope_parameters", "its '" + std::string(kind) + "' is missing", "add it");
  readRotaryOfLayerTypes(config, spec, 1e6, nullptr, 1e4, 0.25);
}

void readExpertsBesideMlp(ConfigReader &config, ModelSpec &spec) {
  config.ignore({"num_experts", "top_k_experts", "moe_intermediate_size"});
  if (!config.flag("enable_moe_block", false))
    return;
  int64_t perToken = config.size("top_k_experts");
  readExperts(config, spec, {"num_experts"}, 1, perToken);
  spec.expertSize = config.size("moe_intermediate_size");
  spec.expertNorms = spec.routerNorm = spec.expertScales = true;
  spec.routing.normalizes = true;
}

void readCommonOfGemma4(ConfigReader &config, ModelSpec &spec, int64_t positions, int64_t window) {
  readCommon(config, spec, positions, true);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 4);
  readHeadDim(config, spec, 256);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.normEps = config.positive("rms_norm_eps", 1e-6);
  spec.normPlace = NormPlace::PrePost;
  spec.embeddingScale = std::sqrt(double(spec.hiddenSize));
  spec.queryKeyNorm = spec.valueNorm = spec.layerScales = true;
  spec.activation = readActivation(config, "hidden_activation", Activation::GeluTanh);
  spec.logitSoftCap = config.optionalPositive("final_logit_softcapping").value_or(0);
  // Images are seen from both sides; a text is not.
  if (config.text("use_bidirectional_attention", "vision") != "vision")
    config.mistake("use_bidirectional_attention", "only attention to what is before is supported",
                   "");
  readLayerTypes(
      config, spec, config.size("sliding_window", window),
      [](const ModelSpec &, int64_t layer, int64_t each) { return (layer + 1) % each != 0; }, 6);
  spec.layers.back().window = 0; // whatever its type is, as transformers has it
  readHeadSizes(config, spec);
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = 1;
  readRotaries(config, spec);
  readSharedKeys(config, spec);
}

} // namespace

void gemma4ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommonOfGemma4(config, spec, 131072, 512);
  int64_t size = config.present("hidden_size_per_layer_input")
                     ? config.count("hidden_size_per_layer_input", 0)
                     : 256;
  readLayerInputs(config, spec, size, 262144);
  readExpertsBesideMlp(config, spec);
}

void gemma4UnifiedReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommonOfGemma4(config, spec, 262144, 1024);
}

void gemma4NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec);
  if (spec.layerInputs)
    nameLayerInputs(spec, "model.embed_tokens_per_layer", "model.per_layer_model_projection",
                    "model.per_layer_projection_norm");
  int64_t hidden = spec.hiddenSize, count = spec.expertCount, size = spec.expertSize;
  for (LayerSpec &layer : spec.layers) {
    auto normNamed = [&](const char *name) {
      return norm(spec, name, layer.path + "." + name, hidden);
    };
    layer.attentionPostNorm = normNamed("post_attention_layernorm");
    layer.mlpNorm = normNamed("pre_feedforward_layernorm");
    layer.mlpPostNorm = normNamed("post_feedforward_layernorm");
    layer.scale = layer.path + ".layer_scalar";
    if (layer.cacheOf)
      for (const char *name : {"k_proj.", "v_proj.", "k_norm.", "v_norm."})
        spec.surplusBeginnings.push_back(layer.path + ".self_attn." + name);
    else
      layer.valueNorm = NormSpec{"self_attn.v_norm", "", "", spec.getHeadDim(layer)};
    if (spec.layerInputs)
      nameLayerInput(spec, layer, layer.path + ".", "per_layer_input_gate", "per_layer_projection",
                     "post_per_layer_input_norm");
    if (!layer.isSparse)
      continue;
    auto part = [&](const std::string &name, int64_t expert, int64_t in, int64_t columns,
                    int64_t begin, int64_t out) {
      WeightRef weight{.tensor = layer.path + ".experts." + name,
                       .tensorOut = count * columns,
                       .begin = expert * columns + begin,
                       .count = out,
                       .matrices = count};
      return LinearSpec{.name = "experts." + std::to_string(expert) + "." + name,
                        .in = in,
                        .out = out,
                        .weight = weight};
    };
    ExpertsSpec &experts = layer.experts.emplace();
    experts.router = linear("router.proj", layer.path + ".router.proj", hidden, count, false);
    experts.routerNorm = NormSpec{"router.norm", layer.path + ".router.scale", "", hidden};
    experts.scales = layer.path + ".router.per_expert_scale";
    experts.norm = normNamed("pre_feedforward_layernorm_2");
    experts.postNorm = normNamed("post_feedforward_layernorm_2");
    experts.sharedPostNorm = normNamed("post_feedforward_layernorm_1");
    for (int64_t i = 0; i < count; ++i)
      experts.experts.push_back({part("gate_up_proj", i, hidden, 2 * size, 0, size),
                                 part("gate_up_proj", i, hidden, 2 * size, size, size),
                                 part("down_proj", i, size, hidden, 0, hidden)});
  }
}

void gemma4UnifiedNameTensors(ModelSpec &spec) { gemma4NameTensors(spec); }

} // namespace sinter
