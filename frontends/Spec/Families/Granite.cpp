// Granite: Llama with factors on embeddings, scores, what blocks add, and logits. Granite-MoE: with
// experts, whose matrices lie in one tensor, gate and up in the same. HyperCLOVA X is Granite with
// norms after each block, too, and multiplies logits where Granite divides them. Granite 4 has
// state spaces in most layers, an MLP beside the experts or alone, and mostly no positions.

#include "frontends/Spec/Families/Family.h"

namespace sinter {

void graniteReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.eps = 1e-6});
  double scale = config.positive("attention_multiplier", 1);
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = scale;
  spec.embeddingScale = config.positive("embedding_multiplier", 1);
  spec.residualScale = config.positive("residual_multiplier", 1);
  spec.logitScale = 1 / config.positive("logits_scaling", 1);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
}

void graniteNameTensors(ModelSpec &spec) { nameLlamaTensors(spec); }

void hyperClovaXReadConfig(ConfigReader &config, ModelSpec &spec) {
  graniteReadConfig(config, spec);
  if (!config.has("attention_multiplier"))
    setUsualQueryScale(spec);
  spec.logitScale = config.positive("logits_scaling", 1);
  if (config.flag("use_post_norm", true))
    spec.normPlace = NormPlace::PrePost;
}

void hyperClovaXNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  if (spec.normPlace == NormPlace::Pre)
    return;
  for (LayerSpec &layer : spec.layers) {
    layer.attentionPostNorm = norm(spec, "post_norm1", layer.path + ".post_norm1", spec.hiddenSize);
    layer.mlpPostNorm = norm(spec, "post_norm2", layer.path + ".post_norm2", spec.hiddenSize);
  }
}

void graniteMoeReadConfig(ConfigReader &config, ModelSpec &spec) {
  graniteReadConfig(config, spec);
  readExperts(config, spec, {"num_local_experts"}, 8, 2);
  spec.routing.normalizes = true; // a softmax of the chosen ones' logits
}

void graniteMoeNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  int64_t hidden = spec.hiddenSize, size = spec.expertSize, count = spec.expertCount;
  for (LayerSpec &layer : spec.layers) {
    if (spec.stacksExperts) {
      nameExperts(spec, layer, layer.path + ".", "block_sparse_moe.router.layer",
                  "block_sparse_moe.experts", {"gate", "up", "down"});
      continue;
    }
    std::string stem = layer.path + ".block_sparse_moe.";
    // Rows from `begin` on of the matrix of an expert, of all of which the tensor has `rows`.
    auto part = [&](const char *name, int64_t expert, int64_t in, int64_t rows, int64_t begin,
                    int64_t out) {
      WeightRef weight{.tensorOut = count * rows,
                       .begin = expert * rows + begin,
                       .count = out,
                       .matrices = count};
      return linearPart(std::string("block_sparse_moe.") + name, stem + name, in, weight, false);
    };
    layer.gate = std::nullopt;
    layer.up = layer.down = {};
    layer.experts.emplace();
    layer.experts->router =
        linear("block_sparse_moe.router.layer", stem + "router.layer", hidden, count, false);
    for (int64_t i = 0; i < count; ++i)
      layer.experts->experts.push_back({part("input_linear", i, hidden, 2 * size, 0, size),
                                        part("input_linear", i, hidden, 2 * size, size, size),
                                        part("output_linear", i, size, hidden, 0, hidden)});
  }
}

void graniteMoeSharedReadConfig(ConfigReader &config, ModelSpec &spec) {
  graniteMoeReadConfig(config, spec);
  spec.sharedExpertSize = config.count("shared_intermediate_size", 0); // 0: there is none
}

/// shared_mlp of each layer, of `size` elements.
static void nameSharedMlp(ModelSpec &spec, int64_t size) {
  int64_t hidden = spec.hiddenSize;
  for (LayerSpec &layer : spec.layers) {
    auto half = [&](const char *name, int64_t begin) {
      WeightRef weight{.tensorOut = 2 * size, .begin = begin, .count = size};
      return linearPart(name, layer.path + ".shared_mlp.input_linear", hidden, weight, false);
    };
    auto apart = [&](const char *name) {
      return linear(name, layer.path + "." + name, hidden, size, false);
    };
    bool isApart = spec.stacksExperts;
    layer.gate = isApart ? apart("shared_mlp.gate") : half("shared_mlp.input_linear.gate", 0);
    layer.up = isApart ? apart("shared_mlp.up") : half("shared_mlp.input_linear.up", size);
    layer.down = linear("shared_mlp.output_linear", layer.path + ".shared_mlp.output_linear", size,
                        hidden, false);
  }
}

void graniteMoeSharedNameTensors(ModelSpec &spec) {
  graniteMoeNameTensors(spec);
  if (spec.sharedExpertSize)
    nameSharedMlp(spec, spec.sharedExpertSize);
}

void graniteMoeHybridReadConfig(ConfigReader &config, ModelSpec &spec) {
  if (config.count("num_local_experts", 8) > 0) {
    graniteMoeReadConfig(config, spec);
    spec.sharedExpertSize = config.size("shared_intermediate_size", 1024);
  } else {
    graniteReadConfig(config, spec);
    spec.mlpSize = config.size("shared_intermediate_size", 1024);
    spec.stacksExperts = config.flag("stacked_experts", false); // gate and up by themselves
    config.ignore({"num_experts_per_tok", "output_router_logits", "router_aux_loss_coef"});
  }
  readLayerMixers(config, spec, "linear_attention", MixerKind::StateSpace,
                  [](size_t) { return true; });
  readStateSpaces(config, spec, kMambaKeys);
  if (config.text("position_embedding_type", "nope") != "rope")
    spec.positions = PositionKind::None;
  config.ignore({"normalization_function", "init_method", "logits_to_keep"});
}

void graniteMoeHybridNameTensors(ModelSpec &spec) {
  if (spec.expertCount)
    graniteMoeSharedNameTensors(spec);
  else {
    nameLlamaTensors(spec);
    nameSharedMlp(spec, spec.mlpSize);
  }
  for (LayerSpec &layer : spec.layers)
    if (layer.isStateSpace())
      nameStateSpace(spec, layer, "mamba", layer.path + ".mamba");
}

} // namespace sinter
