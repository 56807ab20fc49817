// LFM2: short convolutions between two gates in most layers, in the others Llama's attention with
// norms of Q and K; LFM2-MoE has experts behind the first layers.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

/// layer_types, or full_attn_idxs: the layers with attention.
void readConvolutions(ConfigReader &config, ModelSpec &spec) {
  std::vector<double> full = config.numbers("full_attn_idxs");
  bool areListed = config.has("full_attn_idxs");
  readLayerMixers(config, spec, "conv", MixerKind::Convolution, [&](size_t layer) {
    return areListed && std::find(full.begin(), full.end(), double(layer)) == full.end();
  });
}

void readLfm2(ConfigReader &config, ModelSpec &spec, int64_t mlpSize) {
  readCommon(config, spec, 128000, true, mlpSize);
  spec.tiedEmbeddings = config.flag("tie_embedding", spec.tiedEmbeddings);
  readPaddingId(config, spec);
  readKvHeads(config, spec, 8);
  readHeadDim(config, spec, std::nullopt);
  readRotary(config, spec, std::nullopt, 1e6);
  setUsualQueryScale(spec);
  spec.normEps = config.positive("norm_eps", 1e-5);
  spec.queryKeyNorm = true;
  spec.convolutionWidth = config.size("conv_L_cache", 3);
  spec.convolutionBias = config.flag("conv_bias", false);
  readConvolutions(config, spec);
}

/// The width of MLPs, which files give before it is cut to two thirds and rounded up.
void adjustMlpSize(ConfigReader &config, ModelSpec &spec) {
  spec.mlpSize = config.size("block_ff_dim", spec.mlpSize);
  bool adjusts = config.flag("block_auto_adjust_ff_dim", true);
  double factor = config.positive("block_ffn_dim_multiplier", 1);
  int64_t multiple = config.size("block_multiple_of", 256);
  if (!adjusts)
    return;
  double size = std::floor(factor * std::floor(2.0 * double(spec.mlpSize) / 3));
  spec.mlpSize = static_cast<int64_t>(std::ceil(size / double(multiple))) * multiple;
}

void nameConvolution(const ModelSpec &spec, LayerSpec &layer) {
  int64_t hidden = spec.hiddenSize;
  auto part = [&](const char *name, int64_t index) {
    WeightRef ref{.tensorOut = 3 * hidden, .begin = index * hidden, .count = hidden};
    return linearPart(name, layer.path + ".conv.in_proj", hidden, ref, spec.convolutionBias);
  };
  layer.convolution = {.input = part("conv.in_proj.b", 0),
                       .gate = part("conv.in_proj.c", 1),
                       .value = part("conv.in_proj.x", 2),
                       .weight = layer.path + ".conv.conv.weight",
                       .bias = spec.convolutionBias ? layer.path + ".conv.conv.bias" : ""};
  layer.query = layer.key = layer.value = {};
  layer.output =
      linear("conv.out_proj", layer.path + ".conv.out_proj", hidden, hidden, spec.convolutionBias);
}

} // namespace

void lfm2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLfm2(config, spec, 12288);
  adjustMlpSize(config, spec);
  // What published files say beside what transformers reads.
  config.ignore({"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
                 "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
                 "conv_use_xavier_init", "num_heads", "use_pos_enc"});
}

void lfm2NameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  nameHeadNorms(spec, "self_attn.q_layernorm", "self_attn.k_layernorm");
  spec.finalNorm = norm(spec, "model.embedding_norm", "model.embedding_norm", spec.hiddenSize);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name, int64_t in, int64_t out) {
      return linear(name, layer.path + "." + name, in, out, false);
    };
    layer.attentionNorm =
        norm(spec, "operator_norm", layer.path + ".operator_norm", spec.hiddenSize);
    layer.mlpNorm = norm(spec, "ffn_norm", layer.path + ".ffn_norm", spec.hiddenSize);
    layer.output = named("self_attn.out_proj", spec.heads * spec.headDim, spec.hiddenSize);
    layer.gate = named("feed_forward.w1", spec.hiddenSize, spec.mlpSize);
    layer.up = named("feed_forward.w3", spec.hiddenSize, spec.mlpSize);
    layer.down = named("feed_forward.w2", spec.mlpSize, spec.hiddenSize);
    if (layer.isConvolution())
      nameConvolution(spec, layer);
  }
}

void lfm2MoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLfm2(config, spec, 7168);
  readExperts(config, spec, {"num_experts", "num_local_experts"}, 32, 4);
  spec.expertSize = config.size("moe_intermediate_size", 1792);
  int64_t dense = config.count("num_dense_layers", 2);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    spec.layers[i].isSparse = static_cast<int64_t>(i) >= dense;
  spec.routing.usesSigmoid = true;
  spec.routing.hasBias = config.flag("use_expert_bias", true);
  spec.routing.normalizes = config.flag("norm_topk_prob", true);
  spec.routing.sumOffset = 1e-6;
  spec.routing.scale = config.positive("routed_scaling_factor", 1);
}

void lfm2MoeNameTensors(ModelSpec &spec) {
  lfm2NameTensors(spec);
  for (LayerSpec &layer : spec.layers) {
    if (!layer.isSparse)
      continue;
    nameExperts(spec, layer, layer.path + ".", "feed_forward.gate", "feed_forward.experts",
                {"w1", "w3", "w2"});
    if (spec.routing.hasBias)
      layer.experts->routerBias = layer.path + ".feed_forward.expert_bias";
  }
}

} // namespace sinter
