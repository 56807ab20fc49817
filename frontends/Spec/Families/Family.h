//===- Family.h - What a mapping of a model family consists of --*- C++ -*-===//
//
// A family is a row of the table in Families.def: its `model_type` and two functions. readConfig
// turns keys into numbers and choices; once these are known to be sane, nameTensors gives every
// weight its checkpoint tensor. The helpers below are what families have in common.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Spec/ConfigReader.h"
#include "frontends/Spec/ModelSpec.h"
#include <array>
#include <functional>

namespace sinter {

struct Family {
  const char *modelType;
  /// Reads every key that matters; mistakes are kept by `config`. spec.layers has its final size
  /// afterwards.
  void (*readConfig)(ConfigReader &config, ModelSpec &spec);
  /// Fills in names, linears and norms from the sizes, which have been checked.
  void (*nameTensors)(ModelSpec &spec);
};

#define FAMILY(TYPE, PREFIX)                                                                       \
  void PREFIX##ReadConfig(ConfigReader &config, ModelSpec &spec);                                  \
  void PREFIX##NameTensors(ModelSpec &spec);
#include "frontends/Spec/Families/Families.def"

//--- Reading configs ---------------------------------------------------------------------------

/// num_hidden_layers under the family's name for it; sizes spec.layers.
void readLayerCount(ConfigReader &config, ModelSpec &spec, const char *key);

/// vocab_size, initializer_range, tie_word_embeddings, token ids.
void readVocabulary(ConfigReader &config, ModelSpec &spec, bool defaultTied);

/// The same and hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
/// max_position_embeddings.
void readCommon(ConfigReader &config, ModelSpec &spec, int64_t defaultPositions, bool defaultTied,
                std::optional<int64_t> defaultMlpSize = {});

/// What Llama's relatives differ in where their files say nothing.
struct LlamaDefaults {
  int64_t positions = 2048;
  bool tied = false;
  std::optional<int64_t> kvHeads = {}, headDim = {}; ///< as of readKvHeads, readHeadDim
  std::optional<double> partial = {};                ///< as of readRotary
  double theta = 10000;
  double eps = 1e-5;
  std::optional<int64_t> mlpSize = {}; ///< of models that have none but those of experts
};

/// readCommon() and what Llama's relatives share: padding, heads, one kind of rotary positions,
/// scores by the root of the head size, hidden_act, rms_norm_eps.
void readLlama(ConfigReader &config, ModelSpec &spec, const LlamaDefaults &defaults);

/// readCommon() of GPT-2 and GPT-J under its names for them (n_embd, n_layer, ...), and
/// activation_function, layer_norm_epsilon; plain MLPs, layer norms, a head size for each head.
void readGpt(ConfigReader &config, ModelSpec &spec, int64_t defaultPositions, bool defaultTied);

/// pad_token_id, of families whose embedding does not learn it (torch's padding_idx).
void readPaddingId(ConfigReader &config, ModelSpec &spec);

/// num_key_value_heads: null means num_attention_heads, absent means `absent` (null pointer: the
/// same).
void readKvHeads(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent);

/// head_dim: null means hidden_size / num_attention_heads, absent means `absent`.
void readHeadDim(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent);

/// head_dim = hidden_size / num_attention_heads, for families without the key.
void deriveHeadDim(ConfigReader &config, ModelSpec &spec);

/// An activation by its Hugging Face name.
Activation readActivation(ConfigReader &config, const char *key, Activation fallback);

/// rope_theta, rope_scaling or rope_parameters, original_max_position_embeddings.
/// `partial`: the default of partial_rotary_factor, or nothing where the family has no such key.
/// `theta`: the default of rope_theta.
void readRotary(ConfigReader &config, ModelSpec &spec, std::optional<double> partial,
                double theta = 10000);

/// rope_parameters by layer type ("full_attention", "sliding_attention"), or, of the layers with
/// full attention, rope_theta and rope_scaling; whole heads are rotated. Layers that have a window
/// are sliding ones: readLayerTypes comes first.
/// @param theta of full attention, where no key says it
/// @param slidingKey an older key of the sliding layers' theta, or null; else it is `slidingTheta`
/// @param share of the pairs that turn with full attention, where there is no rope_parameters
void readRotaryOfLayerTypes(ConfigReader &config, ModelSpec &spec, double theta,
                            const char *slidingKey, double slidingTheta, double share = 1);

/// Heads of layers without a window: global_head_dim (null pointer: that of the others is the
/// default), num_global_key_value_heads, and whether keys are the values, too, attention_k_eq_v.
void readFullHeads(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> absent);

/// Fails where heads of keys do not divide the heads, or layers of one kind have heads of several
/// sizes, which `sizesKey` says.
void checkLayerHeads(ConfigReader &config, const ModelSpec &spec, const char *sizesKey);

/// num_kv_shared_layers: so many layers, the last ones, use the keys and values of the last one of
/// their kind before them; with use_double_wide_mlp their MLPs are twice as wide.
void readSharedKeys(ConfigReader &config, ModelSpec &spec);

/// Inputs of layers of `size` elements (0: there are none), in a table of
/// vocab_size_per_layer_input rows.
void readLayerInputs(ConfigReader &config, ModelSpec &spec, int64_t size, int64_t defaultRows);

/// no_rope_layers, of rotary positions: 0 for a layer without positions, 1 for one that has them,
/// whatever the key is called. Where it is absent all layers keep what they have.
void readRotatedLayers(ConfigReader &config, ModelSpec &spec);

/// Gives every layer the window of `sliding_window` where it is not null.
void readUniformWindow(ConfigReader &config, ModelSpec &spec);

/// layer_types or layers_block_type ("full_attention", `otherType`): layers of the other type mix
/// positions by `other`. Where the key is absent they are those that `isOther(layer)` chooses.
void readLayerMixers(ConfigReader &config, ModelSpec &spec, const char *otherType, MixerKind other,
                     const std::function<bool(size_t layer)> &isOther);

/// layer_types ("full_attention", "sliding_attention") with `window` for the sliding ones; where
/// the key is absent, `isSliding(layer)` decides. Layers with linear attention are known before.
void readLayerTypes(ConfigReader &config, ModelSpec &spec, std::optional<int64_t> window,
                    bool (*isSliding)(const ModelSpec &, int64_t layer, int64_t argument),
                    int64_t argument = 0);

/// Experts in every layer: num_experts_per_tok, and how many there are by the first of these keys
/// that is there, whose size is spec.mlpSize. With output_router_logits, training has a loss of its
/// own for the router (router_aux_loss_coef).
void readExperts(ConfigReader &config, ModelSpec &spec,
                 std::initializer_list<const char *> countKeys, int64_t defaultCount,
                 int64_t defaultPerToken);

/// The heads of linear attention where no key says them; 0: as many values as keys.
struct LinearHeadDefaults {
  int64_t keyHeads, valueHeads = 0, keySize, valueSize = 0;
};

/// linear_num_key_heads, linear_num_value_heads, linear_key_head_dim, linear_value_head_dim
/// and linear_conv_kernel_dim.
void readLinearHeads(ConfigReader &config, ModelSpec &spec, const LinearHeadDefaults &defaults);

/// The keys by which a family says what its state spaces are, and what they are by default.
struct StateSpaceKeys {
  const char *heads, *headSize, *groups, *stateSize, *width, *expand, *bias, *convolutionBias,
      *chunk;                   ///< the last one how they are computed, which is not read
  const char *values = nullptr; ///< all heads' values, in place of `expand`
  std::optional<int64_t> headSizeDefault = {}; ///< nothing: the widened hidden size / heads
  int64_t groupsDefault = 1, stateSizeDefault = 256;
};

/// Those of Llama's relatives.
inline constexpr StateSpaceKeys kMambaKeys = {.heads = "mamba_n_heads",
                                              .headSize = "mamba_d_head",
                                              .groups = "mamba_n_groups",
                                              .stateSize = "mamba_d_state",
                                              .width = "mamba_d_conv",
                                              .expand = "mamba_expand",
                                              .bias = "mamba_proj_bias",
                                              .convolutionBias = "mamba_conv_bias",
                                              .chunk = "mamba_chunk_size"};

/// Heads, groups, sizes, biases and time_step_limit of state spaces.
void readStateSpaces(ConfigReader &config, ModelSpec &spec, const StateSpaceKeys &keys);

/// What each block is ("linear_attention", "full_attention", ...) by the first of these keys that
/// is there, in today's names for it; nothing where there is none.
std::optional<std::vector<std::string>> readBlockTypes(ConfigReader &config,
                                                       std::initializer_list<const char *> keys);

/// moe_intermediate_size, norm_topk_prob, and the layers without experts: those in mlp_only_layers
/// and all but each decoder_sparse_step-th.
void readSparseLayers(ConfigReader &config, ModelSpec &spec, int64_t defaultSize);

/// What DeepSeek's experts, and those of families that have taken them over, differ in.
struct DeepSeekExpertDefaults {
  int64_t count = 0, perToken = 0, size = 0;
  int64_t dense = 0;  ///< layers without experts, at the beginning
  int64_t shared = 0; ///< experts that all tokens go through
  double scale = 1;
  int64_t groups = 1, groupsPerToken = 1;
};

/// n_routed_experts, num_experts_per_tok, moe_intermediate_size, first_k_dense_replace or
/// mlp_layer_types, n_shared_experts (or num_shared_experts), routed_scaling_factor, n_group,
/// topk_group.
void readDeepSeekExperts(ConfigReader &config, ModelSpec &spec,
                         const DeepSeekExpertDefaults &defaults);

/// How many experts there are by this key that all tokens go through; they are one of as many times
/// the size.
void readSharedExperts(ConfigReader &config, ModelSpec &spec, const char *key, int64_t fallback);

/// n_group, topk_group, routed_scaling_factor.
void readExpertGroups(ConfigReader &config, ModelSpec &spec, int64_t groups, int64_t perToken,
                      double scale);

/// Latent attention with kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim and
/// q_lora_rank, of which `queryLatent` is the default (0: none); its rotary positions and the scale
/// of its scores.
void readLatentAttention(ConfigReader &config, ModelSpec &spec, int64_t queryLatent);

/// DeepSeek-V3's choice by sigmoids and a bias: norm_topk_prob, of which `normalizes` is the
/// default.
void useSigmoidRouting(ConfigReader &config, ModelSpec &spec, bool normalizes);

/// Rotary positions are those of layers with a window alone; others know none.
void dropFullRotaries(ModelSpec &spec);

/// Scores are scaled by 1 / sqrt(head_dim) in every layer.
void setUsualQueryScale(ModelSpec &spec);

/// Keys that Hugging Face writes into any config and that do not touch a forward pass.
void ignoreHarmless(ConfigReader &config);

//--- Naming tensors ----------------------------------------------------------------------------

/// A linear [out, in] whose tensors are `stem`.weight and, with `bias`, `stem`.bias.
LinearSpec linear(std::string name, const std::string &stem, int64_t in, int64_t out, bool bias);

/// Part of a linear whose tensors hold `tensorOut` outputs; see WeightRef.
LinearSpec linearPart(std::string name, const std::string &stem, int64_t in, const WeightRef &part,
                      bool bias);

/// A norm whose tensors are `stem`.weight and, for layer norms, `stem`.bias.
NormSpec norm(const ModelSpec &spec, std::string name, const std::string &stem, int64_t size);

/// What GPT-2, GPT-Neo and GPT-J have in common: transformer.wte, transformer.wpe where positions
/// are learned, transformer.ln_f, lm_head, and transformer.h.N with its ln_1.
void nameGptTensors(ModelSpec &spec);

/// A layer's state space, in place of attention or beside it: `stem`.in_proj, with all of gate,
/// values, keys, queries and steps, conv1d, A_log, dt_bias, D, norm and out_proj.
/// @param name what `stem` is called within the layer
void nameStateSpace(const ModelSpec &spec, LayerSpec &layer, const std::string &name,
                    const std::string &stem);

/// Norms of Q and K of every layer.
void nameHeadNorms(ModelSpec &spec, const char *query = "self_attn.q_norm",
                   const char *key = "self_attn.k_norm");

/// RMS norms behind each block and none before: post_attention_layernorm and
/// post_feedforward_layernorm.
void moveNormsBehindBlocks(ModelSpec &spec);

/// All norms that have been named are without weights and biases.
void dropNormWeights(ModelSpec &spec);

/// Q, K and V of each group of heads side by side in one tensor: its queries, its key, its value.
void nameGroupedHeads(const ModelSpec &spec, LayerSpec &layer, const std::string &name);

/// All of Q, all of K and all of V, one after the other in one tensor.
void nameConcatenatedHeads(const ModelSpec &spec, LayerSpec &layer, const std::string &name);

/// Up and down of an MLP without a gate.
void namePlainMlp(const ModelSpec &spec, LayerSpec &layer, const std::string &up,
                  const std::string &down);

/// Gate and up as halves of one tensor mlp.gate_up_proj.
void nameFusedGate(ModelSpec &spec, LayerSpec &layer);

/// The tensors of Llama and its relatives: model.embed_tokens, model.layers.N.self_attn.q_proj,
/// ..., model.norm, lm_head; gated MLPs.
void nameLlamaTensors(ModelSpec &spec);

/// Experts of a layer instead of its MLP, each with tensors of its own: `stem``router`.weight, and
/// of expert E `stem``experts`.E.`name`.weight for the names of gate, up and down; where the model
/// stacks them `stem``experts`.`name`.weight of all. Where MLPs have no gate, experts have none.
void nameExperts(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                 const std::string &router, const std::string &experts,
                 std::array<const char *, 3> names);

/// nameExperts() for every sparse layer as Qwen and OLMoE have it: mlp.gate, and
/// mlp.experts.E.gate_proj, ....
void nameMlpExperts(ModelSpec &spec);

/// The expert that all tokens go through: `name`.gate_proj, up_proj and down_proj of a layer.
void nameSharedExpert(const ModelSpec &spec, LayerSpec &layer, const std::string &name);

/// nameMlpExperts(), mlp.shared_expert beside them and its gate, mlp.shared_expert_gate.
void nameGatedSharedExperts(ModelSpec &spec);

/// nameMlpExperts(), mlp.shared_experts beside them and, where there is one, the router's bias
/// mlp.gate.e_score_correction_bias; layers behind the last are surplus.
void nameDeepSeekExperts(ModelSpec &spec);

/// What the parts of latent attention are called.
struct LatentNames {
  const char *query, *queryDown, *queryDownNorm, *queryUp, *down, *norm, *up, *output;
};

/// Latent attention of tensors `stem``name`.weight.
void nameLatentAttention(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                         const LatentNames &names);

/// The inputs of layers: a table, and the product of the embedding with its norm.
void nameLayerInputs(ModelSpec &spec, const std::string &table, const std::string &projection,
                     const std::string &norm);

/// What a layer takes of its input, tensors `stem``name`.weight.
void nameLayerInput(const ModelSpec &spec, LayerSpec &layer, const std::string &stem,
                    const std::string &gate, const std::string &projection,
                    const std::string &norm);

/// The head: `tensor` [vocab, hidden], or the embedding where tied.
void nameHead(ModelSpec &spec, const std::string &stem, bool bias = false);

} // namespace sinter
