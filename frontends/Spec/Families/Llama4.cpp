// Llama 4: rotary positions of neighbouring components in three of four layers, there norms without
// weights behind them and attention in chunks; in the others queries that grow with their position.
// Experts, of which a token goes through one, beside a shared one.

#include "frontends/Spec/Families/Family.h"

namespace sinter {
namespace {

/// no_rope_layers, or each no_rope_layer_interval-th layer: those that know no positions but for
/// what their queries are scaled by.
void readScaledLayers(ConfigReader &config, ModelSpec &spec) {
  int64_t interval = config.size("no_rope_layer_interval", 4);
  std::vector<double> rotates = config.numbers("no_rope_layers");
  if (rotates.empty())
    for (size_t i = 1; i <= spec.layers.size(); ++i)
      rotates.push_back(static_cast<int64_t>(i) % interval != 0);
  if (rotates.size() != spec.layers.size())
    return config.mistake("no_rope_layers",
                          "it has " + std::to_string(rotates.size()) + " entries for " +
                              std::to_string(spec.layers.size()) + " layers",
                          "");
  RotarySpec scaling = spec.rotaries.front();
  scaling.turns = false;
  scaling.growthOffset = 1;
  scaling.growthLength = config.size("floor_scale", 8192);
  scaling.queryGrowth = config.number("attn_scale", 0.1);
  if (!config.flag("attn_temperature_tuning", true))
    scaling.queryGrowth = 0;
  spec.rotaries.push_back(scaling);
  for (size_t i = 0; i < rotates.size(); ++i)
    spec.layers[i].rotary = rotates[i] == 0 ? 1 : 0;
}

/// attention_chunk_size, of the layers that rotate; layer_types may say so once more.
void readChunks(ConfigReader &config, ModelSpec &spec) {
  std::optional<int64_t> chunk = config.present("attention_chunk_size")
                                     ? config.optionalSize("attention_chunk_size")
                                     : std::optional<int64_t>(8192);
  spec.attentionChunk = chunk.value_or(0);
  std::optional<std::vector<std::string>> types = config.texts("layer_types");
  for (size_t i = 0; types && i < std::min(types->size(), spec.layers.size()); ++i)
    if ((*types)[i] !=
        (chunk && spec.layers[i].rotary == 0 ? "chunked_attention" : "full_attention"))
      config.mistake("layer_types",
                     "layer " + std::to_string(i) + " is not as no_rope_layers has it",
                     "remove it");
}

/// moe_layers, or each interleave_moe_layer_step-th.
void readMoeLayers(ConfigReader &config, ModelSpec &spec) {
  int64_t step = config.size("interleave_moe_layer_step", 1);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].isSparse = static_cast<int64_t>(i + 1) % step == 0;
  if (!config.has("moe_layers"))
    return config.ignore({"moe_layers"});
  for (LayerSpec &layer : spec.layers)
    layer.isSparse = false;
  for (double layer : config.numbers("moe_layers")) {
    if (layer < 0 || layer >= double(spec.layers.size()) || layer != double(int64_t(layer)))
      return config.mistake(
          "moe_layers",
          "its entries are not layers from 0 to " + std::to_string(spec.layers.size() - 1), "");
    spec.layers[static_cast<size_t>(layer)].isSparse = true;
  }
}

} // namespace

void llama4ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 131072, .kvHeads = 8, .headDim = 128, .theta = 5e5});
  spec.rotaries.front().interleaved = true;
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  readScaledLayers(config, spec);
  readChunks(config, spec);
  spec.queryKeyNorm = spec.normsRotatedHeads = config.flag("use_qk_norm", true);
  readExperts(config, spec, {"num_local_experts"}, 16, 1);
  spec.sharedExpertSize = spec.expertSize;
  spec.mlpSize = config.size("intermediate_size_mlp", 16384);
  readMoeLayers(config, spec);
  spec.routing.usesSigmoid = spec.routing.scalesInput = true;
  if (config.number("router_jitter_noise", 0) != 0)
    config.mistake("router_jitter_noise", "noise before the router is not supported",
                   "set it to 0");
  config.ignore({"for_llm_compressor"});
}

void llama4NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  int64_t hidden = spec.hiddenSize, size = spec.expertSize, count = spec.expertCount;
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const std::string &name, int64_t in, int64_t out) {
      return linear("feed_forward." + name, layer.path + ".feed_forward." + name, in, out, false);
    };
    if (spec.queryKeyNorm && layer.rotary == 0) {
      layer.queryNorm = NormSpec{"self_attn.q_norm", "", "", spec.headDim};
      layer.keyNorm = NormSpec{"self_attn.k_norm", "", "", spec.headDim};
    }
    std::string mlp = layer.isSparse ? "shared_expert." : "";
    int64_t mlpSize = layer.isSparse ? spec.sharedExpertSize : spec.mlpSize;
    layer.gate = named(mlp + "gate_proj", hidden, mlpSize);
    layer.up = named(mlp + "up_proj", hidden, mlpSize);
    layer.down = named(mlp + "down_proj", mlpSize, hidden);
    if (!layer.isSparse)
      continue;
    // Of an expert's `columns` those from `begin` on.
    auto part = [&](const std::string &name, int64_t expert, int64_t in, int64_t columns,
                    int64_t begin, int64_t out) {
      using Layout = WeightRef::Layout;
      WeightRef weight{.tensor = layer.path + ".feed_forward.experts." + name,
                       .layout = spec.stacksExperts ? Layout::OutIn : Layout::InOut,
                       .tensorOut = count * columns,
                       .begin = expert * columns + begin,
                       .count = out,
                       .matrices = count};
      return LinearSpec{.name = "feed_forward.experts." + std::to_string(expert) + "." + name,
                        .in = in,
                        .out = out,
                        .weight = weight};
    };
    layer.experts.emplace();
    layer.experts->router = named("router", hidden, count);
    for (int64_t i = 0; i < count; ++i) {
      LinearSpec down = part("down_proj", i, size, hidden, 0, hidden);
      if (spec.stacksExperts)
        layer.experts->experts.push_back({part("gate_proj", i, hidden, size, 0, size),
                                          part("up_proj", i, hidden, size, 0, size), down});
      else
        layer.experts->experts.push_back({part("gate_up_proj", i, hidden, 2 * size, 0, size),
                                          part("gate_up_proj", i, hidden, 2 * size, size, size),
                                          down});
    }
  }
}

} // namespace sinter
