// clang-format off
// Sinter's own models: every choice is a key. Keys are Hugging Face's where it has one.
//
//   vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads
//   num_key_value_heads          default num_attention_heads (MHA); fewer: GQA; 1: MQA
//   head_dim                     default hidden_size / num_attention_heads
//   global_head_dim, num_global_key_value_heads   of layers with full attention where they differ
//   attention_k_eq_v             default false; true: what makes keys there makes the values, too
//   num_kv_shared_layers         default 0; so many last layers use the keys and values of the last
//                                layer of their type before them; with use_double_wide_mlp (default
//                                false) their MLPs are twice as wide
//   hidden_size_per_layer_input  default none; layers have inputs of this size, in a table with a
//                                row for each of vocab_size_per_layer_input ids (vocab_size)
//   layer_scales                 default false; true: what a layer gives is multiplied by a number
//   mlp_type                     "swiglu" (default), "geglu", "geglu_tanh", "reglu" (gated);
//                                "gelu", "gelu_tanh", "relu", "relu2", "silu" (plain)
//   num_experts                  default none; each token goes through num_experts_per_tok of them
//                                (default 2), each with an MLP of a gated mlp_type
//   stacked_experts              default false; true: all experts' gates, ups and downs are a
//                                tensor each, [num_experts, out, in], without the .E
//   moe_intermediate_size        an expert's, default intermediate_size
//   norm_topk_prob               default false; true: the weights of the chosen experts add up to 1
//   shared_expert_intermediate_size   default none; an MLP beside the experts
//   shared_expert_gate           default false; true: times the sigmoid of a product of the input
//   decoder_sparse_step, mlp_only_layers   layers without experts: all but each k-th, and these
//   router_score                 "softmax" (default), "sigmoid"
//   router_bias                  default false; true: experts are chosen by their score and a bias
//   n_group, topk_group          default 1: experts are chosen from the best topk_group of n_group
//                                groups, by group_score: "largest" (default), "two_largest"
//   routed_scaling_factor        default 1; of the chosen experts' weights
//   expert_scale_place           "output" (default), "input": what an expert's weight scales
//   expert_norms                 default false; true: experts take what their block begins with, by
//                                a norm of their own, and norms are behind experts and shared ones
//   router_norm                  default false; true: so does the router, by an RMS norm whose
//                                factor is the weight / sqrt(hidden_size)
//   expert_scales                default false; true: each expert's weights times a factor
//   kv_lora_rank                 default none; latent attention, with q_lora_rank (default none),
//                                qk_nope_head_dim (128), qk_rope_head_dim (64), v_head_dim (128)
//   norm_type                    "rms_norm" (default), "layer_norm"
//   rms_norm_eps, layer_norm_eps default 1e-5; the one of the norm's type
//   norm_placement               "pre" (default), "output", "pre_post", "post"; see ModelSpec.h
//   norm_unit_offset             default false; true: factors are 1 + weight
//   norm_weights                 default true; false: factors are 1, and layer norms add nothing
//   embedding_norm               default false; true: a norm of what the layers begin with
//   use_parallel_residual        default false; needs norm_placement "pre"
//   parallel_residual_shared_norm  default false: attention and MLP have norms of their own
//   position_embedding_type      "rotary" (default), "learned", "alibi", "none"
//   rope_theta, rope_parameters (or rope_scaling), partial_rotary_factor
//                                or rope_parameters by layer type, of heads rotated whole; with
//                                rope_type "proportional" partial_rotary_factor of the pairs turn
//   no_rope_layers               a list of 0 for layers without positions, 1 for others (rotary)
//   rope_interleave              default false: pairs are (i, i + width / 2)
//   position_offset              learned positions: row of position 0, default 0
//   layer_types, sliding_window  per layer "full_attention" (default), "sliding_attention",
//                                "convolution" or "linear_attention", which has
//   linear_num_key_heads         default num_attention_heads
//   linear_num_value_heads       default linear_num_key_heads
//   linear_key_head_dim          default hidden_size / num_attention_heads
//   linear_value_head_dim        default linear_key_head_dim
//   linear_conv_kernel_dim       default 4; the tokens that a convolution sees, of linear attention
//                                or, in layers of the type "convolution", in attention's place
//   conv_bias                    default false; of such convolutions and their products
//   attn_output_gate             default false; true: what heads of attention give is scaled by the
//                                sigmoid of a product of the input
//   query_growth                 default 0; rotated queries are scaled by their position: by
//   query_growth_length          1 + growth * log(1 + floor(position / length)), of whole heads
//   attention_sinks              default false; true: a score a head that takes part of the weights
//   value_norm                   default false; true: RMS norms of each head of V, without weights
//   use_qk_norm                  default false; true: norms of Q and K
//   qk_norm_type                 "rms_norm" (default), "layer_norm"
//   qk_norm_over                 "head" (default): of each head; "all_heads"; "own_heads": of each
//                                head, with a weight for each
//   qk_norm_place                "before_rotary" (default), "behind_rotary"
//   clip_qkv                     default none; Q, K and V stay within [-clip_qkv, clip_qkv], behind
//                                norms before rotary positions
//   query_pre_attn_scalar        scores are divided by its root; default head_dim
//   attn_logit_softcapping, final_logit_softcapping   default none
//   embedding_size               default hidden_size; another: products lead to layers, and back
//   embedding_multiplier, residual_multiplier, logit_scale   default 1
//   attention_bias, attention_output_bias, mlp_bias, lm_head_bias   default false;
//                                attention_output_bias defaults to attention_bias
//   tie_word_embeddings          default true
//   share_layers                 k: every k layers that follow each other use one set of
//                                parameters; or a list with the set of each layer
//   max_position_embeddings      default 2048
//   initializer_range, bos_token_id, eos_token_id
//
// Tensors (weights are [out, in]; a bias is beside its weight; N counts sets of parameters):
//
//   embed_tokens.weight                            embed_positions.weight   (learned)
//   embed_norm.weight                              (embedding_norm)
//   layers.N.attn_norm.weight                      (all placements but "output" and "post")
//   layers.N.attn.{q_proj,k_proj,v_proj,o_proj}.weight
//   layers.N.attn.{q_norm,k_norm}.weight           (use_qk_norm; of "own_heads" [heads, head_dim])
//   layers.N.attn.{q_norm,k_norm}.bias             (layer norms of the others)
//   layers.N.attn.sinks                            (attention_sinks)
//   layers.N.attn.{q_down,q_down_norm,q_up}.weight in place of q_proj (q_lora_rank)
//   layers.N.attn.{kv_down,kv_norm,kv_up}.weight   in place of k_proj, v_proj (kv_lora_rank)
//   layers.N.attn.gate_proj.weight                 (attn_output_gate; linear attention)
//   layers.N.attn.{beta_proj,decay_proj,norm}.weight, layers.N.attn.{log_decay,decay_bias}
//   layers.N.attn.conv1d.weight                    (linear attention; conv1d is of the channels of
//                                                  q_proj, k_proj, v_proj: [all, 1, kernel])
//   layers.N.conv.{in_proj,gate_proj,value_proj,out_proj}.weight, layers.N.conv.conv1d.weight
//                                                  (convolutions; conv1d: [hidden, 1, kernel])
//   layers.N.attn_post_norm.weight                 (all placements but "pre")
//   layers.N.mlp_norm.weight, layers.N.mlp_post_norm.weight   (likewise)
//   layers.N.mlp.{gate_proj,up_proj,down_proj}.weight         (gate_proj: gated types)
//   layers.N.mlp.{positive,negative}               (xielu)
//   layers.N.moe.router_bias                       (router_bias)
//   layers.N.moe.{norm,post_norm,shared_post_norm}.weight     (expert_norms)
//   layers.N.moe.router_norm.weight, layers.N.moe.expert_scales
//   embed_layers.weight, embed_layers_proj.weight, embed_layers_norm.weight
//   layers.N.input.{gate,proj,norm}.weight         (hidden_size_per_layer_input)
//   layers.N.scale                                 (layer_scales; it is not trained)
//   layers.N.moe.router.weight, layers.N.moe.experts.E.{gate_proj,up_proj,down_proj}.weight
//   layers.N.moe.shared.{gate_proj,up_proj,down_proj}.weight, layers.N.moe.shared_gate.weight
//   embed_proj.weight, head_proj.weight            (embedding_size)
//   norm.weight                                    (all placements but "post")
//   lm_head.weight                                 (untied)
// clang-format on

#include "frontends/Spec/Families/Family.h"
#include <algorithm>
#include <cmath>

namespace sinter {
namespace {

void readMlp(ConfigReader &config, ModelSpec &spec) {
  size_t type = config.choice("mlp_type",
                              {"swiglu", "geglu", "geglu_tanh", "reglu", "gelu", "gelu_tanh",
                               "relu", "relu2", "silu", "xielu"},
                              0);
  constexpr Activation activations[] = {Activation::Silu, Activation::Gelu,  Activation::GeluTanh,
                                        Activation::Relu, Activation::Gelu,  Activation::GeluTanh,
                                        Activation::Relu, Activation::Relu2, Activation::Silu,
                                        Activation::Xielu};
  spec.activation = activations[type];
  spec.gatedMlp = type < 4;
}

void readMixture(ConfigReader &config, ModelSpec &spec) {
  if (!config.has("num_experts"))
    return config.ignore({"num_experts"});
  readExperts(config, spec, {"num_experts"}, 1, 2);
  readSparseLayers(config, spec, spec.mlpSize);
  if (!spec.gatedMlp)
    config.mistake("mlp_type", "experts have a gate", "use swiglu, geglu, geglu_tanh or reglu");
  spec.sharedExpertSize = config.optionalSize("shared_expert_intermediate_size").value_or(0);
  spec.sharedExpertGate = config.flag("shared_expert_gate", false);
  spec.routing.usesSigmoid = config.choice("router_score", {"softmax", "sigmoid"}, 0) == 1;
  spec.routing.hasBias = config.flag("router_bias", false);
  readExpertGroups(config, spec, 1, 1, 1);
  constexpr RoutingSpec::GroupScore scores[] = {RoutingSpec::GroupScore::Largest,
                                                RoutingSpec::GroupScore::TwoLargest};
  spec.routing.groupScore = scores[config.choice("group_score", {"largest", "two_largest"}, 0)];
  spec.routing.scalesInput = config.choice("expert_scale_place", {"output", "input"}, 0) == 1;
  spec.expertNorms = config.flag("expert_norms", false);
  spec.routerNorm = config.flag("router_norm", false);
  spec.expertScales = config.flag("expert_scales", false);
  if (spec.sharedExpertGate && !spec.sharedExpertSize)
    config.mistake("shared_expert_gate", "it needs shared_expert_intermediate_size", "");
}

void readNorms(ConfigReader &config, ModelSpec &spec) {
  bool isLayerNorm = config.choice("norm_type", {"rms_norm", "layer_norm"}, 0) == 1;
  spec.normKind = isLayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
  spec.normEps = config.positive(isLayerNorm ? "layer_norm_eps" : "rms_norm_eps", 1e-5);
  constexpr NormPlace places[] = {NormPlace::Pre, NormPlace::Output, NormPlace::PrePost,
                                  NormPlace::Post};
  spec.normPlace =
      places[config.choice("norm_placement", {"pre", "output", "pre_post", "post"}, 0)];
  spec.normUnitOffset = config.flag("norm_unit_offset", false);
  spec.normWeights = config.flag("norm_weights", true);
  if (!spec.normWeights && spec.normUnitOffset)
    config.mistake("norm_unit_offset", "norms have no weights", "leave it out");
  spec.normsEmbedding = config.flag("embedding_norm", false);
  spec.parallelResidual = config.flag("use_parallel_residual", false);
  spec.sharedParallelNorm = config.flag("parallel_residual_shared_norm", false);
  if (spec.parallelResidual && spec.normPlace != NormPlace::Pre)
    config.mistake("use_parallel_residual", "it needs norm_placement 'pre'", "");
  if (spec.sharedParallelNorm && !spec.parallelResidual)
    config.mistake("parallel_residual_shared_norm", "it needs use_parallel_residual", "");
}

void readRotaries(ConfigReader &config, ModelSpec &spec) {
  const ConfigReader::Json *parameters = config.value("rope_parameters");
  if (parameters &&
      (parameters->contains("full_attention") || parameters->contains("sliding_attention")))
    readRotaryOfLayerTypes(config, spec, 10000, nullptr, 10000);
  else
    readRotary(config, spec, 1.0);
  for (const LayerSpec &layer : spec.layers)
    if (spec.rotaries.size() == 1 && spec.getHeadDim(layer) != spec.headDim)
      config.mistake("global_head_dim", "heads of two sizes need rope_parameters by layer type",
                     "");
  bool isInterleaved = config.flag("rope_interleave", false);
  double growth = config.number("query_growth", 0);
  int64_t growthLength = config.size("query_growth_length", spec.maxPositions);
  for (RotarySpec &rotary : spec.rotaries) {
    rotary.interleaved = isInterleaved;
    rotary.queryGrowth = growth;
    rotary.growthLength = growthLength;
  }
  for (const LayerSpec &layer : spec.layers)
    if (growth != 0 && spec.rotaries[*layer.rotary].getWidth() != spec.getHeadDim(layer))
      config.mistake("query_growth", "it needs heads that are rotated whole", "");
  readRotatedLayers(config, spec);
}

/// Heads, positions and the scale of scores.
void readLatent(ConfigReader &config, ModelSpec &spec) {
  readLatentAttention(config, spec, 0);
  spec.rotaries.front().interleaved = config.flag("rope_interleave", false);
  config.choice("position_embedding_type", {"rotary"}, 0);
  config.requireFlag("use_qk_norm", false);
  config.requireFlag("attn_output_gate", false);
  for (const LayerSpec &layer : spec.layers)
    if (layer.mixer != MixerKind::Attention)
      return config.mistake("layer_types",
                            std::string(layer.isLinear() ? "'linear_attention'" : "'convolution'") +
                                " is not supported beside latent attention",
                            "leave kv_lora_rank out");
}

void readPositions(ConfigReader &config, ModelSpec &spec) {
  switch (config.choice("position_embedding_type", {"rotary", "learned", "alibi", "none"}, 0)) {
  case 0:
    readRotaries(config, spec);
    break;
  case 1:
    spec.positions = PositionKind::Learned;
    if (config.number("position_offset", 0) != 0)
      spec.positionOffset = config.size("position_offset", 0);
    break;
  case 2:
    spec.positions = PositionKind::Alibi;
    break;
  case 3:
    spec.positions = PositionKind::None;
    break;
  }
}

/// Positions, the scale of scores, norms of heads, clipping.
void readHeads(ConfigReader &config, ModelSpec &spec) {
  readPositions(config, spec);
  std::optional<double> scalar = config.optionalPositive("query_pre_attn_scalar");
  for (LayerSpec &layer : spec.layers)
    layer.queryScale = 1 / std::sqrt(scalar.value_or(double(spec.getHeadDim(layer))));
  spec.valueNorm = config.flag("value_norm", false);
  spec.queryKeyNorm = config.flag("use_qk_norm", false);
  size_t over = config.choice("qk_norm_over", {"head", "all_heads", "own_heads"}, 0);
  spec.wholeQueryKeyNorm = over == 1;
  spec.headNormWeights = over == 2;
  if (config.choice("qk_norm_type", {"rms_norm", "layer_norm"}, 0) == 1)
    spec.headNormKind = NormKind::LayerNorm;
  spec.normsRotatedHeads =
      config.choice("qk_norm_place", {"before_rotary", "behind_rotary"}, 0) == 1;
  spec.clipQkv = config.positive("clip_qkv", 0);
}

/// Which layers of layer_types have no attention.
void readMixers(ConfigReader &config, ModelSpec &spec) {
  std::vector<std::string> types = config.texts("layer_types").value_or(std::vector<std::string>());
  for (size_t i = 0; i < std::min(types.size(), spec.layers.size()); ++i)
    spec.layers[i].mixer = types[i] == "linear_attention" ? MixerKind::LinearAttention
                           : types[i] == "convolution"    ? MixerKind::Convolution
                                                          : MixerKind::Attention;
}

/// Sizes of layers without attention, once it is known what others have.
void readOtherMixers(ConfigReader &config, ModelSpec &spec) {
  bool isLinear = std::ranges::any_of(spec.layers, &LayerSpec::isLinear),
       isConvolution = std::ranges::any_of(spec.layers, &LayerSpec::isConvolution);
  if (isLinear)
    readLinearHeads(config, spec,
                    {.keyHeads = spec.heads, .keySize = spec.hiddenSize / spec.heads});
  else if (isConvolution)
    spec.convolutionWidth = config.size("linear_conv_kernel_dim", 4);
  if (isConvolution)
    spec.convolutionBias = config.flag("conv_bias", false);
  for (LayerSpec &layer : spec.layers) {
    if (layer.cacheOf && (isLinear || isConvolution))
      return config.mistake("num_kv_shared_layers",
                            "layers with linear attention or a convolution have no keys and values "
                            "to share",
                            "");
    if (layer.mixer != MixerKind::Attention)
      layer.valuesAreKeys = false;
  }
}

void readSharing(ConfigReader &config, ModelSpec &spec) {
  const ConfigReader::Json *value = config.value("share_layers");
  if (!value)
    return;
  int64_t count = static_cast<int64_t>(spec.layers.size());
  if (!value->is_array()) {
    int64_t run = config.size("share_layers", 1);
    for (int64_t i = 0; i < count; ++i)
      spec.layers[i].parameterGroup = i / run;
    return;
  }
  if (static_cast<int64_t>(value->size()) != count) {
    config.mistake("share_layers",
                   "it has " + std::to_string(value->size()) + " entries for " +
                       std::to_string(count) + " layers",
                   "");
    return;
  }
  int64_t groups = 0;
  for (int64_t i = 0; i < count; ++i) {
    const ConfigReader::Json &group = (*value)[i];
    if (!group.is_number_integer() || group.get<int64_t>() < 0 || group.get<int64_t>() > groups) {
      config.mistake("share_layers",
                     "its entry " + std::to_string(i) +
                         " is neither a set used before nor the next "
                         "new one, " +
                         std::to_string(groups),
                     "number the sets 0, 1, 2, ... in the order of their first use");
      return;
    }
    spec.layers[i].parameterGroup = group.get<int64_t>();
    groups = std::max(groups, spec.layers[i].parameterGroup + 1);
  }
}

/// Layers of one set of parameters have sizes in common.
void checkSharing(ConfigReader &config, const ModelSpec &spec) {
  for (const LayerSpec &layer : spec.layers) {
    auto first = std::ranges::find(spec.layers, layer.parameterGroup, &LayerSpec::parameterGroup);
    if (spec.getHeadDim(layer) != spec.getHeadDim(*first) ||
        spec.getKvHeads(layer) != spec.getKvHeads(*first) ||
        spec.getMlpSize(layer) != spec.getMlpSize(*first))
      config.mistake("share_layers",
                     "layers " + std::to_string(first - spec.layers.begin()) + " and " +
                         std::to_string(&layer - spec.layers.data()) + " are of different sizes",
                     "");
    else if (layer.mixer != first->mixer)
      config.mistake("share_layers",
                     "layers " + std::to_string(first - spec.layers.begin()) + " and " +
                         std::to_string(&layer - spec.layers.data()) + " are of different types",
                     "");
  }
}

void nameLinearAttention(ModelSpec &spec, LayerSpec &layer, const std::string &stem) {
  int64_t hidden = spec.hiddenSize, keys = spec.linearKeyHeads * spec.linearKeySize,
          values = spec.linearValueHeads * spec.linearValueSize;
  auto part = [&](const std::string &name, int64_t out) {
    return linear(name, stem + name, hidden, out, false);
  };
  layer.linear = {.query = part("attn.q_proj", keys),
                  .key = part("attn.k_proj", keys),
                  .value = part("attn.v_proj", values),
                  .gate = part("attn.gate_proj", values),
                  .beta = part("attn.beta_proj", spec.linearValueHeads),
                  .decay = part("attn.decay_proj", spec.linearValueHeads),
                  .convolution = stem + "attn.conv1d.weight",
                  .logDecay = stem + "attn.log_decay",
                  .decayBias = stem + "attn.decay_bias",
                  .norm = {"attn.norm", stem + "attn.norm.weight", "", spec.linearValueSize}};
  layer.output = linear("attn.o_proj", stem + "attn.o_proj", values, hidden, spec.outputBias);
}

void nameConvolution(ModelSpec &spec, LayerSpec &layer, const std::string &stem) {
  int64_t hidden = spec.hiddenSize;
  auto part = [&](const std::string &name) {
    return linear(name, stem + name, hidden, hidden, spec.convolutionBias);
  };
  layer.convolution = {.input = part("conv.in_proj"),
                       .gate = part("conv.gate_proj"),
                       .value = part("conv.value_proj"),
                       .weight = stem + "conv.conv1d.weight",
                       .bias = spec.convolutionBias ? stem + "conv.conv1d.bias" : ""};
  layer.output = part("conv.out_proj");
}

/// Attention that keeps keys and values of tokens.
void nameAttention(ModelSpec &spec, LayerSpec &layer, const std::string &stem) {
  int64_t hidden = spec.hiddenSize, width = spec.getHeadDim(layer), queries = spec.heads * width,
          keys = spec.getKvHeads(layer) * width;
  auto part = [&](const std::string &name, int64_t in, int64_t out, bool bias) {
    return linear(name, stem + name, in, out, bias);
  };
  layer.query = part("attn.q_proj", hidden, queries, spec.qkvBias);
  if (!layer.cacheOf)
    layer.key = part("attn.k_proj", hidden, keys, spec.qkvBias);
  if (!layer.cacheOf && !layer.valuesAreKeys)
    layer.value = part("attn.v_proj", hidden, keys, spec.qkvBias);
  if (spec.gatesHeads)
    layer.attentionGate = part("attn.gate_proj", hidden, queries, false);
  layer.output = part("attn.o_proj", queries, hidden, spec.outputBias);
  if (spec.queryKeyNorm) {
    auto normed = [&](const std::string &name, int64_t all) {
      bool hasBias = spec.headNormKind == NormKind::LayerNorm && !spec.headNormWeights;
      return NormSpec{name, stem + name + ".weight", hasBias ? stem + name + ".bias" : "",
                      spec.wholeQueryKeyNorm ? all : width, spec.headNormWeights ? all / width : 0};
    };
    layer.queryNorm = normed("attn.q_norm", queries);
    if (!layer.cacheOf)
      layer.keyNorm = normed("attn.k_norm", keys);
  }
  if (spec.valueNorm && !layer.cacheOf)
    layer.valueNorm = {"attn.v_norm", "", "", width};
}

} // namespace

void sinterOwnReadConfig(ConfigReader &config, ModelSpec &spec) {
  readCommon(config, spec, 2048, true);
  bool isLatent = config.has("kv_lora_rank");
  if (!isLatent) {
    readKvHeads(config, spec, std::nullopt);
    readHeadDim(config, spec, std::nullopt);
    config.ignore({"kv_lora_rank"});
  }
  readMlp(config, spec);
  readMixture(config, spec);
  readNorms(config, spec);
  readSharing(config, spec);
  readMixers(config, spec);
  readLayerTypes(config, spec, config.optionalSize("sliding_window"),
                 [](const ModelSpec &, int64_t, int64_t) { return false; });
  if (isLatent) {
    readLatent(config, spec);
  } else {
    readFullHeads(config, spec, std::nullopt);
    checkLayerHeads(config, spec, "num_global_key_value_heads");
    readHeads(config, spec);
    readSharedKeys(config, spec);
    readOtherMixers(config, spec);
    spec.gatesHeads = config.flag("attn_output_gate", false);
  }
  checkSharing(config, spec);
  readLayerInputs(config, spec, config.optionalSize("hidden_size_per_layer_input").value_or(0),
                  spec.vocabSize);
  if (spec.activation == Activation::Xielu &&
      (spec.layerInputs || std::ranges::any_of(spec.layers, &LayerSpec::isLinear)))
    config.mistake("mlp_type", "xielu is not supported in linear attention and layers' inputs",
                   "use silu");
  spec.layerScales = config.flag("layer_scales", false);
  spec.attentionSinks = config.flag("attention_sinks", false);
  spec.attentionSoftCap = config.positive("attn_logit_softcapping", 0);
  spec.logitSoftCap = config.positive("final_logit_softcapping", 0);
  spec.embeddingScale = config.positive("embedding_multiplier", 1);
  spec.embeddingSize = config.optionalSize("embedding_size").value_or(0);
  spec.residualScale = config.positive("residual_multiplier", 1);
  spec.logitScale = config.positive("logit_scale", 1);
  spec.qkvBias = config.flag("attention_bias", false);
  spec.outputBias = config.flag("attention_output_bias", spec.qkvBias);
  spec.mlpBias = config.flag("mlp_bias", false);
  spec.headBias = config.flag("lm_head_bias", false);
}

void sinterOwnNameTensors(ModelSpec &spec) {
  if (spec.positions == PositionKind::Alibi)
    spec.alibiSlopes = getAlibiSlopes(spec.heads);
  int64_t hidden = spec.hiddenSize;
  bool before = spec.normPlace == NormPlace::Pre || spec.normPlace == NormPlace::PrePost;
  bool after = spec.normPlace != NormPlace::Pre;
  spec.embedding = "embed_tokens.weight";
  spec.embeddingName = "embed_tokens";
  if (spec.positions == PositionKind::Learned) {
    spec.positionEmbedding = "embed_positions.weight";
    spec.positionEmbeddingName = "embed_positions";
  }
  if (spec.normsEmbedding)
    spec.embeddingNorm = norm(spec, "embed_norm", "embed_norm", hidden);
  if (spec.normPlace != NormPlace::Post)
    spec.finalNorm = norm(spec, "norm", "norm", hidden);
  if (spec.embeddingSize) {
    spec.embeddingProjection =
        linear("embed_proj", "embed_proj", spec.embeddingSize, hidden, false);
    spec.headProjection = linear("head_proj", "head_proj", hidden, spec.embeddingSize, false);
  }
  nameHead(spec, "lm_head", spec.headBias);
  if (spec.layerInputs)
    nameLayerInputs(spec, "embed_layers", "embed_layers_proj", "embed_layers_norm");
  for (LayerSpec &layer : spec.layers) {
    layer.path = "layers." + std::to_string(&layer - spec.layers.data());
    std::string stem = "layers." + std::to_string(layer.parameterGroup) + ".";
    auto named = [&](const std::string &name, int64_t in, int64_t out, bool bias) {
      return linear(name, stem + name, in, out, bias);
    };
    if (before)
      layer.attentionNorm = norm(spec, "attn_norm", stem + "attn_norm", hidden);
    if (after)
      layer.attentionPostNorm = norm(spec, "attn_post_norm", stem + "attn_post_norm", hidden);
    if (before && !spec.sharedParallelNorm)
      layer.mlpNorm = norm(spec, "mlp_norm", stem + "mlp_norm", hidden);
    if (after)
      layer.mlpPostNorm = norm(spec, "mlp_post_norm", stem + "mlp_post_norm", hidden);
    if (spec.latentSize) {
      nameLatentAttention(spec, layer, stem,
                          {"attn.q_proj", "attn.q_down", "attn.q_down_norm", "attn.q_up",
                           "attn.kv_down", "attn.kv_norm", "attn.kv_up", "attn.o_proj"});
    } else if (layer.isLinear()) {
      nameLinearAttention(spec, layer, stem);
    } else if (layer.isConvolution()) {
      nameConvolution(spec, layer, stem);
    } else {
      nameAttention(spec, layer, stem);
    }
    if (spec.attentionSinks && layer.mixer == MixerKind::Attention)
      layer.sinks = stem + "attn.sinks";
    if (spec.layerInputs)
      nameLayerInput(spec, layer, stem, "input.gate", "input.proj", "input.norm");
    if (spec.layerScales)
      layer.scale = stem + "scale";
    auto nameMlp = [&](const std::string &mlp, int64_t size) {
      if (spec.gatedMlp)
        layer.gate = named(mlp + ".gate_proj", hidden, size, spec.mlpBias);
      layer.up = named(mlp + ".up_proj", hidden, size, spec.mlpBias);
      if (spec.activation == Activation::Xielu)
        layer.xielu = {stem + mlp + ".positive", stem + mlp + ".negative"};
      layer.down = named(mlp + ".down_proj", size, hidden, spec.mlpBias);
    };
    if (!layer.isSparse) {
      nameMlp("mlp", spec.getMlpSize(layer));
      continue;
    }
    nameExperts(spec, layer, stem, "moe.router", "moe.experts",
                {"gate_proj", "up_proj", "down_proj"});
    if (spec.routing.hasBias)
      layer.experts->routerBias = stem + "moe.router_bias";
    if (spec.expertNorms) {
      layer.experts->norm = norm(spec, "moe.norm", stem + "moe.norm", hidden);
      layer.experts->postNorm = norm(spec, "moe.post_norm", stem + "moe.post_norm", hidden);
      if (spec.sharedExpertSize)
        layer.experts->sharedPostNorm =
            norm(spec, "moe.shared_post_norm", stem + "moe.shared_post_norm", hidden);
    }
    if (spec.routerNorm)
      layer.experts->routerNorm = {"moe.router_norm", stem + "moe.router_norm.weight", "", hidden};
    if (spec.expertScales)
      layer.experts->scales = stem + "moe.expert_scales";
    if (spec.sharedExpertSize)
      nameMlp("moe.shared", spec.sharedExpertSize);
    if (spec.sharedExpertGate)
      layer.experts->sharedGate = named("moe.shared_gate", hidden, 1, false);
  }
  if (!spec.normWeights)
    dropNormWeights(spec);
}

} // namespace sinter
