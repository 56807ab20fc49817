// Mamba-2, whose layers are state spaces alone; Bamba, Llama with state spaces in most layers;
// Falcon-H1, Llama with a state space beside attention in every layer, and factors of all that
// products give; and Nemotron-H, whose blocks are state spaces, attention without positions, MLPs
// of squared ReLU, or experts of these, each behind a norm of its own: an MLP or experts and the
// block before it are a layer here.

#include "frontends/Spec/Families/Family.h"
#include <algorithm>

namespace sinter {

//===----------------------------------------------------------------------===//
// Mamba-2
//===----------------------------------------------------------------------===//

void mamba2ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, false);
  spec.initializerRange = config.positive("initializer_range", 0.1);
  spec.hiddenSize = config.size("hidden_size", 4096);
  readLayerCount(config, spec, "num_hidden_layers");
  readStateSpaces(config, spec,
                  {.heads = "num_heads",
                   .headSize = "head_dim",
                   .groups = "n_groups",
                   .stateSize = "state_size",
                   .width = "conv_kernel",
                   .expand = "expand",
                   .bias = "use_bias",
                   .convolutionBias = "use_conv_bias",
                   .chunk = "chunk_size",
                   .headSizeDefault = 64,
                   .groupsDefault = 8,
                   .stateSizeDefault = 128});
  int64_t inner = config.size("expand", 2) * spec.hiddenSize;
  if (spec.linearValueHeads * spec.linearValueSize != inner)
    config.mistake("num_heads",
                   "its heads have " +
                       std::to_string(spec.linearValueHeads * spec.linearValueSize) +
                       " values, and hidden_size times expand is " + std::to_string(inner),
                   "");
  if (readActivation(config, "hidden_act", Activation::Silu) != Activation::Silu)
    config.mistake("hidden_act", "state spaces have 'silu'", "");
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.positions = PositionKind::None;
  // There is no attention, and no length that a model was made for.
  spec.heads = spec.kvHeads = 1;
  spec.headDim = spec.mlpSize = spec.hiddenSize;
  spec.maxPositions = int64_t(1) << 20;
  for (LayerSpec &layer : spec.layers) {
    layer.mixer = MixerKind::StateSpace;
    layer.endsWithMixer = true;
  }
  config.ignore({"residual_in_fp32", "rescale_prenorm_residual", "time_step_rank", "time_step_min",
                 "time_step_max", "time_step_floor"});
}

/// Embedding, final norm and head of models whose tensors begin with "backbone.".
static void nameBackbone(ModelSpec &spec) {
  spec.embedding = "backbone.embeddings.weight";
  spec.embeddingName = "backbone.embeddings";
  spec.finalNorm = norm(spec, "backbone.norm_f", "backbone.norm_f", spec.hiddenSize);
  nameHead(spec, "lm_head");
}

void mamba2NameTensors(ModelSpec &spec) {
  nameBackbone(spec);
  for (LayerSpec &layer : spec.layers) {
    layer.path = "backbone.layers." + std::to_string(&layer - spec.layers.data());
    layer.attentionNorm = norm(spec, "norm", layer.path + ".norm", spec.hiddenSize);
    nameStateSpace(spec, layer, "mixer", layer.path + ".mixer");
  }
}

//===----------------------------------------------------------------------===//
// Bamba
//===----------------------------------------------------------------------===//

void bambaReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 262144, .kvHeads = 8, .partial = 0.5});
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  std::vector<double> full = config.numbers("attn_layer_indices");
  for (size_t i = 0; i < spec.layers.size(); ++i)
    if (std::find(full.begin(), full.end(), double(i)) == full.end())
      spec.layers[i].mixer = MixerKind::StateSpace;
  readStateSpaces(config, spec, kMambaKeys);
  config.ignore({"z_loss_coefficient", "num_logits_to_keep"});
}

void bambaNameTensors(ModelSpec &spec) {
  nameLlamaTensors(spec);
  spec.finalNorm = norm(spec, "model.final_layernorm", "model.final_layernorm", spec.hiddenSize);
  for (LayerSpec &layer : spec.layers) {
    auto named = [&](const char *name, int64_t in, int64_t out) {
      return linear(name, layer.path + "." + name, in, out, spec.mlpBias);
    };
    layer.mlpNorm =
        norm(spec, "pre_ff_layernorm", layer.path + ".pre_ff_layernorm", spec.hiddenSize);
    layer.gate = named("feed_forward.gate_proj", spec.hiddenSize, spec.mlpSize);
    layer.up = named("feed_forward.up_proj", spec.hiddenSize, spec.mlpSize);
    layer.down = named("feed_forward.down_proj", spec.mlpSize, spec.hiddenSize);
    if (layer.isStateSpace())
      nameStateSpace(spec, layer, "mamba", layer.path + ".mamba");
  }
}

//===----------------------------------------------------------------------===//
// Falcon-H1
//===----------------------------------------------------------------------===//

/// So many factors, or ones where the key is absent.
static std::vector<double> readFactors(ConfigReader &config, const char *key, size_t count) {
  std::vector<double> factors = config.numbers(key);
  if (factors.empty())
    return std::vector<double>(count, 1);
  if (factors.size() != count)
    config.mistake(
        key, "it has " + std::to_string(factors.size()) + " entries, not " + std::to_string(count),
        "");
  factors.resize(count, 1);
  return factors;
}

void falconH1ReadConfig(ConfigReader &config, ModelSpec &spec) {
  readLlama(config, spec, {.positions = 8192, .kvHeads = 8});
  StateSpaceKeys keys = kMambaKeys;
  keys.values = "mamba_d_ssm";
  readStateSpaces(config, spec, keys);
  spec.stateSpaceNorm = config.flag("mamba_rms_norm", false);
  spec.normsBeforeGate = config.flag("mamba_norm_before_gate", true);
  spec.embeddingScale = config.positive("embedding_multiplier", 1);
  spec.logitScale = config.positive("lm_head_multiplier", 1);
  // Factors of what products take are those of what they give.
  double in = config.positive("attention_in_multiplier", 1),
         states = config.positive("ssm_in_multiplier", 1);
  std::vector<double> parts = readFactors(config, "ssm_multipliers", 5),
                      mlp = readFactors(config, "mlp_multipliers", 2);
  spec.productScales = {.query = in,
                        .key = in * config.positive("key_multiplier", 1),
                        .value = in,
                        .attention = config.positive("attention_out_multiplier", 1),
                        .mlpGate = mlp[0],
                        .mlp = mlp[1],
                        .gate = states * parts[0],
                        .states = states * parts[1],
                        .keys = states * parts[2],
                        .queries = states * parts[3],
                        .steps = states * parts[4],
                        .stateSpace = config.positive("ssm_out_multiplier", 1)};
  for (const char *bias : {"attention_bias", "mlp_bias", "mamba_proj_bias", "projectors_bias"})
    if (config.flag(bias, false))
      config.mistake(bias, "biases beside factors of products are not supported", "");
  config.ignore({"num_logits_to_keep"});
}

void falconH1NameTensors(ModelSpec &spec) {
  bambaNameTensors(spec);
  const ProductScales &scales = spec.productScales;
  for (LayerSpec &layer : spec.layers) {
    nameStateSpace(spec, layer, "mamba", layer.path + ".mamba");
    layer.query.scale = scales.query;
    layer.key.scale = scales.key;
    layer.value.scale = scales.value;
    layer.output.scale = scales.attention;
    layer.gate->scale = scales.mlpGate;
    layer.down.scale = scales.mlp;
  }
}

//===----------------------------------------------------------------------===//
// Nemotron-H
//===----------------------------------------------------------------------===//

/// hybrid_override_pattern, a character a block, or layers_block_type.
static std::vector<std::string> readNemotronBlocks(ConfigReader &config) {
  std::vector<std::string> blocks;
  std::string pattern = config.text("hybrid_override_pattern", "");
  for (char block : pattern)
    blocks.push_back(block == 'M'   ? "linear_attention"
                     : block == '*' ? "full_attention"
                     : block == 'E' ? "moe"
                     : block == '-' ? "mlp"
                                    : std::string("'") + block + "'");
  std::optional<std::vector<std::string>> types =
      readBlockTypes(config, {"layers_block_type", "layer_types"});
  if (types)
    return *types;
  if (pattern.empty())
    config.mistake("layers_block_type", "it is missing", "add it, or hybrid_override_pattern");
  return blocks;
}

static void readNemotronLayers(ConfigReader &config, ModelSpec &spec) {
  std::vector<std::string> blocks = readNemotronBlocks(config);
  size_t count = static_cast<size_t>(
      config.size("num_hidden_layers", std::max<int64_t>(1, static_cast<int64_t>(blocks.size()))));
  if (count != blocks.size())
    config.mistake("num_hidden_layers",
                   "it is " + std::to_string(count) + ", and there are " +
                       std::to_string(blocks.size()) + " blocks",
                   "");
  spec.layers.clear();
  for (const std::string &block : blocks) {
    bool isState = block == "linear_attention", isFull = block == "full_attention";
    if (isState || isFull) {
      LayerSpec &layer = spec.layers.emplace_back();
      layer.parameterGroup = static_cast<int64_t>(spec.layers.size()) - 1;
      layer.mixer = isState ? MixerKind::StateSpace : MixerKind::Attention;
      layer.endsWithMixer = true;
    } else if (block != "mlp" && block != "moe") {
      config.mistake("layers_block_type", "block " + block + " is not supported",
                     "use 'linear_attention', 'full_attention', 'mlp' or 'moe'");
    } else if (spec.layers.empty() || !spec.layers.back().endsWithMixer) {
      config.mistake("layers_block_type",
                     "a block '" + block +
                         "' that no attention or state space is before is not "
                         "supported",
                     "");
    } else {
      spec.layers.back().endsWithMixer = false;
      spec.layers.back().isSparse = block == "moe";
    }
  }
  if (spec.layers.empty())
    spec.layers.resize(1);
}

void nemotronHReadConfig(ConfigReader &config, ModelSpec &spec) {
  readVocabulary(config, spec, false);
  spec.hiddenSize = config.size("hidden_size", 4096);
  spec.mlpSize = config.size("intermediate_size", 21504);
  readNemotronLayers(config, spec);
  spec.heads = config.size("num_attention_heads", 32);
  readKvHeads(config, spec, 8);
  readHeadDim(config, spec, 128);
  setUsualQueryScale(spec);
  spec.maxPositions = config.size("max_position_embeddings", 4096);
  spec.positions = PositionKind::None;
  spec.activation = readActivation(config, "mlp_hidden_act", Activation::Relu2);
  spec.gatedMlp = false;
  spec.normEps = config.positive("layer_norm_epsilon", 1e-5);
  spec.qkvBias = spec.outputBias = config.flag("attention_bias", false);
  spec.mlpBias = config.flag("mlp_bias", false);
  config.ignore({"time_step_limit"}); // the smallest step is another key's
  readStateSpaces(config, spec,
                  {.heads = "mamba_num_heads",
                   .headSize = "mamba_head_dim",
                   .groups = "n_groups",
                   .stateSize = "ssm_state_size",
                   .width = "conv_kernel",
                   .expand = "expand",
                   .bias = "use_bias",
                   .convolutionBias = "use_conv_bias",
                   .chunk = "chunk_size",
                   .headSizeDefault = 64,
                   .groupsDefault = 8,
                   .stateSizeDefault = 128});
  spec.leastStep = config.positive("time_step_min", 0.001);
  spec.mostStep = HUGE_VAL;
  if (readActivation(config, "mamba_hidden_act", Activation::Silu) != Activation::Silu)
    config.mistake("mamba_hidden_act", "state spaces have 'silu'", "");
  if (std::ranges::any_of(spec.layers, &LayerSpec::isSparse)) {
    std::vector<bool> isSparse;
    for (const LayerSpec &layer : spec.layers)
      isSparse.push_back(layer.isSparse);
    readDeepSeekExperts(config, spec, {.count = 8, .perToken = 2, .size = 7688, .shared = 1});
    for (size_t i = 0; i < spec.layers.size(); ++i)
      spec.layers[i].isSparse = isSparse[i];
    useSigmoidRouting(config, spec, true);
    spec.sharedExpertSize = config.size("moe_shared_expert_intermediate_size", 7688);
    if (config.has("moe_latent_size"))
      spec.expertWidth = config.size("moe_latent_size", spec.hiddenSize);
  }
  spec.surplusBeginnings.push_back("mtp.");
  // Of training, of how it is computed, of positions, which there are none of, and of layers that
  // guess further tokens.
  config.ignore({"rope_theta",
                 "partial_rotary_factor",
                 "time_step_max",
                 "time_step_floor",
                 "residual_in_fp32",
                 "rescale_prenorm_residual",
                 "mamba_proj_bias",
                 "mamba_ssm_cache_dtype",
                 "use_mamba_kernels",
                 "num_logits_to_keep",
                 "sliding_window",
                 "moe_latent_size",
                 "moe_shared_expert_overlap",
                 "moe_shared_expert_intermediate_size",
                 "moe_intermediate_size",
                 "n_routed_experts",
                 "n_shared_experts",
                 "n_group",
                 "topk_group",
                 "norm_topk_prob",
                 "num_experts_per_tok",
                 "routed_scaling_factor",
                 "output_router_logits",
                 "num_nextn_predict_layers",
                 "mtp_layers_block_type",
                 "mtp_hybrid_override_pattern"});
}

void nemotronHNameTensors(ModelSpec &spec) {
  nameBackbone(spec);
  int64_t hidden = spec.hiddenSize, block = 0;
  for (LayerSpec &layer : spec.layers) {
    // Names of the mixer's block; those of the next one, if it is the layer's, go by its path.
    layer.path = "backbone.layers." + std::to_string(block++);
    auto named = [&](const char *name, int64_t in, int64_t out) {
      return linear(name, layer.path + "." + name, in, out, spec.qkvBias);
    };
    layer.attentionNorm = norm(spec, "norm", layer.path + ".norm", hidden);
    if (layer.isStateSpace()) {
      nameStateSpace(spec, layer, "mixer", layer.path + ".mixer");
    } else {
      layer.query = named("mixer.q_proj", hidden, spec.heads * spec.headDim);
      layer.key = named("mixer.k_proj", hidden, spec.kvHeads * spec.headDim);
      layer.value = named("mixer.v_proj", hidden, spec.kvHeads * spec.headDim);
      layer.output = named("mixer.o_proj", spec.heads * spec.headDim, hidden);
    }
    if (layer.endsWithMixer)
      continue;
    std::string path = "backbone.layers." + std::to_string(block++), stem = path + ".mixer.";
    layer.mlpNorm = norm(spec, "mlp_norm", path + ".norm", hidden);
    auto nameMlp = [&](const std::string &part, int64_t size) {
      layer.up =
          linear("mlp." + part + "up_proj", stem + part + "up_proj", hidden, size, spec.mlpBias);
      layer.down = linear("mlp." + part + "down_proj", stem + part + "down_proj", size, hidden,
                          spec.mlpBias);
    };
    if (!layer.isSparse) {
      nameMlp("", spec.mlpSize);
      continue;
    }
    nameExperts(spec, layer, stem, "gate", "experts", {"", "up_proj", "down_proj"});
    layer.experts->routerBias = stem + "gate.e_score_correction_bias";
    if (spec.expertWidth) {
      auto latent = [&](const std::string &name, int64_t in, int64_t out) {
        return linear("mlp." + name, stem + name, in, out, spec.mlpBias);
      };
      layer.experts->input = latent("fc1_latent_proj", hidden, spec.expertWidth);
      layer.experts->output = latent("fc2_latent_proj", spec.expertWidth, hidden);
    }
    nameMlp("shared_experts.", spec.sharedExpertSize);
  }
}

} // namespace sinter
