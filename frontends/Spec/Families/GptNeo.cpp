// GPT-Neo: GPT-2 with matrices as torch's Linear has them, scores that are not scaled, and a window
// in every second layer.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {
namespace {

/// attention_types: [[["global", "local"], 12]] is "global", "local" twelve times.
std::vector<std::string> readAttentionTypes(ConfigReader &config, size_t layers) {
  std::vector<std::string> types;
  const ConfigReader::Json *value = config.value("attention_types");
  if (!value) {
    for (size_t i = 0; i < layers; ++i)
      types.emplace_back(i % 2 == 0 ? "global" : "local");
    return types;
  }
  try {
    for (const ConfigReader::Json &item : *value) {
      auto names = item.at(0).get<std::vector<std::string>>();
      auto times = item.at(1).get<int64_t>();
      for (int64_t i = 0; i < times && !names.empty() && types.size() <= layers; ++i)
        types.insert(types.end(), names.begin(), names.end());
    }
  } catch (const ConfigReader::Json::exception &) {
    config.mistake("attention_types", "it is no list of [[TYPE, ...], TIMES]", "");
  }
  if (types.size() != layers ||
      std::any_of(types.begin(), types.end(),
                  [](const std::string &type) { return type != "global" && type != "local"; }))
    config.mistake("attention_types",
                   "it does not say 'global' or 'local' of " + std::to_string(layers) + " layers",
                   "");
  types.resize(layers);
  return types;
}

} // namespace

void gptNeoReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, true);
  spec.hiddenSize = config.size("hidden_size");
  spec.mlpSize = config.size("intermediate_size", 4 * spec.hiddenSize);
  readLayerCount(config, spec, "num_layers");
  spec.heads = spec.kvHeads = config.size("num_heads");
  deriveHeadDim(config, spec);
  spec.maxPositions = config.size("max_position_embeddings", 2048);
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.activation = readActivation(config, "activation_function", Activation::GeluTanh);
  int64_t window = config.size("window_size", 256);
  std::vector<std::string> types = readAttentionTypes(config, spec.layers.size());
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].window = types[i] == "local" ? window : 0;
  spec.gatedMlp = false;
  spec.mlpBias = true;
  spec.normKind = NormKind::LayerNorm;
  spec.positions = PositionKind::Learned;
  // attention_layers is attention_types written out.
  config.ignore({"attention_layers", "resid_dropout", "embed_dropout"});
}

void gptNeoNameTensors(ModelSpec &spec) {
  nameGptTensors(spec);
  spec.surplusEndings.insert(spec.surplusEndings.end(),
                             {".attn.attention.bias", ".attn.attention.masked_bias"});
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name, int64_t in, int64_t out, bool bias) {
      return linear(name, layer.path + "." + name, in, out, bias);
    };
    layer.query = named("attn.attention.q_proj", hidden, hidden, false);
    layer.key = named("attn.attention.k_proj", hidden, hidden, false);
    layer.value = named("attn.attention.v_proj", hidden, hidden, false);
    layer.output = named("attn.attention.out_proj", hidden, hidden, true);
    layer.mlpNorm = norm(spec, "ln_2", layer.path + ".ln_2", hidden);
    namePlainMlp(spec, layer, "mlp.c_fc", "mlp.c_proj");
  }
}

} // namespace sinter
