#include "frontends/Gguf/GgufArchitectures.h"
#include "frontends/Gguf/GgufValues.h"
#include <algorithm>
#include <cmath>
#include <span>

namespace sinter {
using namespace gguf;

namespace {

//===----------------------------------------------------------------------===//
// Names of tensors
//===----------------------------------------------------------------------===//

constexpr char kLayers[] = "model.layers.";
constexpr GgufChange kPaired = GgufChange::PairsTogether, kOne = GgufChange::OneAdded,
                     kTransposed = GgufChange::Transposed;

const Names kGlobal = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
const Names kGlobalOfOne = {{"token_embd", "model.embed_tokens"},
                            {"output_norm", "model.norm", kOne},
                            {"output", "lm_head"}};
const Names kQueries = {{"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"}};
const Names kPairedQueries = {{"attn_q", "self_attn.q_proj", kPaired},
                              {"attn_k", "self_attn.k_proj", kPaired}};
const Names kAttention = {{"attn_v", "self_attn.v_proj"}, {"attn_output", "self_attn.o_proj"}};
const Names kProducts =
    kAttention +
    Names{{"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
const Names kStackedExperts = {{"ffn_gate_exps", "mlp.experts.gate_proj"},
                               {"ffn_up_exps", "mlp.experts.up_proj"},
                               {"ffn_down_exps", "mlp.experts.down_proj"}};
const Names kExperts = kStackedExperts + Names{{"ffn_gate_inp", "mlp.gate"}};
const Names kSharedExperts = {{"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
                              {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
                              {"ffn_down_shexp", "mlp.shared_experts.down_proj"}};
const Names kRouterBias = {{"exp_probs_b", "mlp.gate.e_score_correction_bias", GgufChange::Ending}};
/// Of layers that predict further tokens, which are left out.
const Names kFurtherTokens = {{"nextn.eh_proj", "eh_proj"},
                              {"nextn.enorm", "enorm"},
                              {"nextn.hnorm", "hnorm"},
                              {"nextn.embed_tokens", "embed_tokens"},
                              {"nextn.shared_head_head", "shared_head.head"},
                              {"nextn.shared_head_norm", "shared_head.norm"}};
const Names kLatentAttention = {{"attn_norm", "input_layernorm"},
                                {"ffn_norm", "post_attention_layernorm"},
                                {"attn_q", "self_attn.q_proj"},
                                {"attn_q_a", "self_attn.q_a_proj"},
                                {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                                {"attn_q_b", "self_attn.q_b_proj"},
                                {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                                {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                                {"attn_kv_b", "self_attn.kv_b_proj"},
                                {"attn_k_b", "self_attn.kv_b_proj", GgufChange::KeysOfLatent}};
const Names kSharedExpert = {
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", GgufChange::RowAlone}};
const Names kNorms = {{"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"}};
const Names kNormsOfOne = {{"attn_norm", "input_layernorm", kOne},
                           {"ffn_norm", "post_attention_layernorm", kOne}};
const Names kFourNormsOfOne = {{"attn_norm", "input_layernorm", kOne},
                               {"post_attention_norm", "post_attention_layernorm", kOne},
                               {"ffn_norm", "pre_feedforward_layernorm", kOne},
                               {"post_ffw_norm", "post_feedforward_layernorm", kOne}};
const Names kNormsBehind = {{"post_attention_norm", "post_attention_layernorm"},
                            {"post_ffw_norm", "post_feedforward_layernorm"}};
const Names kAttentionNorm = {{"attn_norm", "input_layernorm"}};
const Names kNormsOfBlocks = {{"attn_norm", "input_layernorm"},
                              {"post_attention_norm", "post_attention_layernorm"}};
const Names kHeadNorms = {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
const Names kHeadNormsOfOne = {{"attn_q_norm", "self_attn.q_norm", kOne},
                               {"attn_k_norm", "self_attn.k_norm", kOne}};

//===----------------------------------------------------------------------===//
// Keys of config.json
//===----------------------------------------------------------------------===//

int64_t headSize(GgufKeys &keys) {
  int64_t heads = keys.size("attention.head_count");
  const GgufTensor *queries = keys.findTensor("blk.0.attn_q.weight");
  int64_t rows = queries ? queries->getRows() : keys.size("embedding_length");
  int64_t size = keys.size("attention.key_length", rows / heads);
  if (keys.size("attention.value_length", size) != size)
    keys.mistake("its values have another size than its keys");
  return size;
}

double rotatedPart(GgufKeys &keys) {
  int64_t size = headSize(keys);
  return double(keys.size("rope.dimension_count", size)) / double(size);
}

double thetaOfWholeHeads(GgufKeys &keys) {
  int64_t size = headSize(keys), rotated = keys.size("rope.dimension_count", size);
  if (rotated != size)
    keys.mistake("it rotates " + std::to_string(rotated) + " of a head's " + std::to_string(size) +
                 " components");
  return keys.number("rope.freq_base", 10000);
}

/// Not in the file: the largest Gemma scales scores as llama.cpp knows by its layers.
Value scoresOf(int64_t layersOf27B) {
  return [layersOf27B](GgufKeys &keys) {
    bool isLarge = keys.size("block_count") == layersOf27B;
    return Json(isLarge ? keys.size("embedding_length") / keys.size("attention.head_count")
                        : headSize(keys));
  };
}

Json parallelResidual(GgufKeys &keys) {
  const Json *value = keys.find("use_parallel_residual");
  return !value || *value == true;
}

Json scoreScale(GgufKeys &keys) {
  return keys.number("attention.scale", 1 / std::sqrt(double(headSize(keys))));
}

Json thetaOfWindows(GgufKeys &keys) {
  return {{"sliding_attention", {{"rope_theta", keys.number("rope.freq_base", 10000)}}}};
}

/// Whether the file gives a sliding window; 0 is none.
bool hasWindow(const GgufKeys &keys) {
  const Json *window = keys.find("attention.sliding_window");
  return window && *window != 0;
}

/// Others have a convolution in attention's place.
Json layersOfLfm2(GgufKeys &keys) { return layersByKeyHeads(keys, "conv"); }

/// The activation, one of whose numbers is the same in all models.
Json xielu(GgufKeys &keys) {
  const Json *betas = keys.findEntry("xielu.beta");
  bool areUsual = !betas || (betas->is_array() && std::ranges::all_of(*betas, [](const Json &beta) {
                               return beta == 0.5;
                             }));
  if (!areUsual)
    keys.mistake("its xielu.beta is " + betas->dump() +
                     ", and 0.5 in each layer alone is supported",
                 "take another model");
  return "xielu";
}

/// Files whose layers all have experts need not have the size of an MLP, which nothing asks for.
Json mlpSize(GgufKeys &keys) {
  bool isOfExperts = !keys.find("feed_forward_length") && keys.find("expert_feed_forward_length");
  return keys.size(isOfExperts ? "expert_feed_forward_length" : "feed_forward_length");
}

Json window(GgufKeys &keys) {
  return hasWindow(keys) ? Json(keys.size("attention.sliding_window")) : Json();
}

/// That experts lie in one tensor. Refuses what the architecture's models do not do with them;
/// whether their weights add up to 1 only some files say.
Value stacksExperts(bool normalizes) {
  return [normalizes](GgufKeys &keys) {
    auto require = [&](const char *key, std::initializer_list<Json> known) {
      const Json *value = keys.find(key);
      if (value && std::find(known.begin(), known.end(), *value) == known.end())
        keys.mistake("its " + keys.nameOf(key) + " is " + value->dump() +
                         ", which is not supported",
                     "take another model, or its Hugging Face directory");
    };
    require("expert_gating_func", {0, 1}); // a softmax
    require("expert_weights_norm", {normalizes});
    require("expert_weights_scale", {0, 1});
    require("expert_group_count", {0, 1});
    require("leading_dense_block_count", {0});
    return Json(true);
  };
}

/// The same of experts that are chosen by sigmoids.
Json stacksSigmoidExperts(GgufKeys &keys) {
  const Json *function = keys.find("expert_gating_func");
  if (function && *function != 2)
    keys.mistake("its " + keys.nameOf("expert_gating_func") + " is " + function->dump() +
                     ", which is not supported",
                 "take another model, or its Hugging Face directory");
  return true;
}

/// Those that predict further tokens come behind the others.
Json layersOfOneToken(GgufKeys &keys) {
  return keys.size("block_count") - keys.count("nextn_predict_layers", 0);
}

bool hasSigmoids(const GgufKeys &keys) {
  const Json *function = keys.find("expert_gating_func");
  return function && *function == 2;
}

/// Of a key that is no latent vector, what is not rotated.
Json plainKeySize(GgufKeys &keys) {
  return keys.size("attention.key_length_mla", keys.size("attention.key_length")) -
         keys.size("rope.dimension_count");
}
Json valueSize(GgufKeys &keys) {
  return keys.size("attention.value_length_mla", keys.size("attention.value_length"));
}
Json queryLatent(GgufKeys &keys) {
  return keys.find("attention.q_lora_rank") ? Json(keys.size("attention.q_lora_rank")) : Json();
}
Json choiceOfGroups(GgufKeys &keys) {
  return keys.size("expert_group_count", 1) > 1 ? "group_limited_greedy" : "greedy";
}

/// The file has one factor of YaRN's for what config.json has two equal ones.
Json latentScaling(GgufKeys &keys) {
  double factor = 10 * keys.number("rope.scaling.yarn_log_multiplier", 0);
  return factor == 0 ? Json() : Json{{"mscale", factor}, {"mscale_all_dim", factor}};
}

/// Not in the file: of Maverick, with 128 experts, heads have no norms.
Json normsHeadsOfLlama4(GgufKeys &keys) { return keys.size("expert_count") != 128; }

Json hasOneKeyHead(GgufKeys &keys) { return keyHeads(keys) == 1; }

/// The file says one of every StarCoder 1; the rows of queries, keys and values do not.
Json joinsOneKeyHead(GgufKeys &keys) {
  const GgufTensor *joined = keys.findTensor("blk.0.attn_qkv.weight");
  return !joined || joined->getRows() != 3 * keys.size("embedding_length");
}

/// Groups of heads, of which there are others than one or as many as heads.
Json sharesKeyHeads(GgufKeys &keys) {
  int64_t groups = keyHeads(keys);
  return groups != 1 && groups != keys.size("attention.head_count");
}

Json zero(GgufKeys &) { return 0; }
Json one(GgufKeys &) { return 1; }
Json two(GgufKeys &) { return 2; }

Json alibi(GgufKeys &keys) {
  Json attention = {{"alibi", true},
                    {"alibi_bias_max", keys.number("attention.max_alibi_bias", 8)}};
  if (double limit = keys.number("attention.clamp_kqv", 0); limit != 0)
    attention["clip_qkv"] = limit;
  return attention;
}

/// Not in the file: gpt-oss's stretch of rotary positions does not begin with whole components.
Json untruncated(GgufKeys &keys) {
  return keys.find("rope.scaling.type") ? Json{{"truncate", false}} : Json();
}

int64_t sharedSize(GgufKeys &keys) {
  return keys.size("expert_shared_feed_forward_length", keys.size("feed_forward_length"));
}

/// Old files do not have it: all experts of a token are as large as an MLP.
int64_t sizeOfPart(GgufKeys &keys) {
  if (keys.find("expert_feed_forward_length"))
    return keys.size("expert_feed_forward_length");
  int64_t all = keys.size("feed_forward_length"), parts = keys.size("expert_used_count");
  return std::max<int64_t>(1, all / parts);
}

Keys experts(const char *count, bool normalizes) {
  return {{count, size("expert_count")},
          {"num_experts_per_tok", size("expert_used_count")},
          {"stacked_experts", stacksExperts(normalizes)}};
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

const Keys kPlacedExperts = {{"num_experts_per_tok", size("expert_used_count")},
                             {"first_k_dense_replace", count("leading_dense_block_count", 0)},
                             {"moe_intermediate_size", sizeOfPart},
                             {"routed_scaling_factor", expertScale},
                             {"norm_topk_prob", flag("expert_weights_norm", false)},
                             {"n_group", size("expert_group_count", 1)},
                             {"topk_group", size("expert_group_used_count", 1)}};
const Keys kDeepSeekExperts =
    kPlacedExperts + Keys{{"n_routed_experts", size("expert_count")},
                          {"n_shared_experts", count("expert_shared_count", 0)}};
const Keys kSigmoidExperts = kDeepSeekExperts + Keys{{"stacked_experts", stacksSigmoidExperts}};
const Keys kSizes = {{"hidden_size", size("embedding_length")},
                     {"intermediate_size", mlpSize},
                     {"num_hidden_layers", size("block_count")},
                     {"num_attention_heads", size("attention.head_count")},
                     {"max_position_embeddings", size("context_length")}};
const Keys kHeads = {{"num_key_value_heads", keyHeads}, {"head_dim", headSize}};
const Keys kWholeHeads = kSizes + kHeads + Keys{{"rope_theta", thetaOfWholeHeads}};
const Keys kPartHeads =
    kSizes + kHeads +
    Keys{{"rope_theta", number("rope.freq_base", 10000)}, {"partial_rotary_factor", rotatedPart}};
const Keys kRmsEps = {{"rms_norm_eps", number("attention.layer_norm_rms_epsilon", 1e-5)}};
const Keys kLayerNormEps = {{"layer_norm_eps", number("attention.layer_norm_epsilon", 1e-5)}};
const Keys kSilu = {{"hidden_act", text("silu")}};
const Keys kAttentionBias = {{"attention_bias", holds("blk.0.attn_q.bias")}};
const Keys kMlpBias = {{"mlp_bias", holds("blk.0.ffn_up.bias")}};
const Keys kWindow = {{"sliding_window", window}};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const Names kLlamaNames = kNorms + kProducts + kPairedQueries;
const Names kOlmo2Names = kProducts + kQueries + kHeadNorms + kNormsBehind;
const Keys kLlamaKeys = kWholeHeads + kRmsEps + kSilu;

const Keys kGraniteKeys = kLlamaKeys + kWindow + kAttentionBias + kMlpBias +
                          Keys{{"attention_multiplier", scoreScale},
                               {"embedding_multiplier", number("embedding_scale", 1)},
                               {"residual_multiplier", number("residual_scale", 1)},
                               {"logits_scaling", number("logit_scale", 1)}};

const Names kGraniteMoeNames = kNorms + kAttention + kPairedQueries +
                               Names{{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                     {"ffn_gate_exps", "block_sparse_moe.experts.gate"},
                                     {"ffn_up_exps", "block_sparse_moe.experts.up"},
                                     {"ffn_down_exps", "block_sparse_moe.experts.down"}};

const Names kSharedMlp = {{"ffn_gate_shexp", "shared_mlp.gate"},
                          {"ffn_up_shexp", "shared_mlp.up"},
                          {"ffn_down_shexp", "shared_mlp.output_linear"}};

const Names kBambaGlobal = {{"token_embd", "model.embed_tokens"},
                            {"output_norm", "model.final_layernorm"},
                            {"output", "lm_head"}};
const Names kBambaNames =
    listMambaTensors() +
    Names{{"attn_norm", "input_layernorm"},    {"attn_v", "self_attn.v_proj"},
          {"attn_output", "self_attn.o_proj"}, {"ffn_gate", "feed_forward.gate_proj"},
          {"ffn_up", "feed_forward.up_proj"},  {"ffn_down", "feed_forward.down_proj"}};

const Names kHeadLayerNorms = {{"attn_q_norm", "self_attn.query_layernorm"},
                               {"attn_k_norm", "self_attn.key_layernorm"}};
const Names kLfm2Global = {{"token_embd", "model.embed_tokens"},
                           {"token_embd_norm", "model.embedding_norm"},
                           {"output", "lm_head"}};
const Names kLfm2Names = {{"attn_norm", "operator_norm"},
                          {"ffn_norm", "ffn_norm"},
                          {"attn_q", "self_attn.q_proj"},
                          {"attn_k", "self_attn.k_proj"},
                          {"attn_v", "self_attn.v_proj"},
                          {"attn_output", "self_attn.out_proj"},
                          {"attn_q_norm", "self_attn.q_layernorm"},
                          {"attn_k_norm", "self_attn.k_layernorm"},
                          {"shortconv.conv", "conv.conv", GgufChange::Taps},
                          {"shortconv.in_proj", "conv.in_proj"},
                          {"shortconv.out_proj", "conv.out_proj"},
                          {"ffn_gate", "feed_forward.w1"},
                          {"ffn_up", "feed_forward.w3"},
                          {"ffn_down", "feed_forward.w2"}};
const Names kLfm2Experts = {{"ffn_gate_inp", "feed_forward.gate"},
                            {"ffn_gate_exps", "feed_forward.experts.w1"},
                            {"ffn_up_exps", "feed_forward.experts.w3"},
                            {"ffn_down_exps", "feed_forward.experts.w2"},
                            {"exp_probs_b", "feed_forward.expert_bias", GgufChange::Ending}};
const Keys kLfm2Keys = kSizes + Keys{{"num_key_value_heads", keyHeads},
                                     {"layer_types", layersOfLfm2},
                                     {"rope_theta", number("rope.freq_base", 1e6)},
                                     {"norm_eps", number("attention.layer_norm_rms_epsilon", 1e-5)},
                                     {"conv_L_cache", size("shortconv.l_cache")}};
const Names kPlainMlp = {{"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
const Names kGptGlobal = {{"token_embd", "transformer.wte"},
                          {"position_embd", "transformer.wpe"},
                          {"output_norm", "transformer.ln_f"},
                          {"output", "lm_head"}};
const Names kFalconLayer = {{"attn_qkv", "self_attention.query_key_value", GgufChange::PartsApart},
                            {"attn_output", "self_attention.dense"},
                            {"ffn_up", "mlp.dense_h_to_4h"},
                            {"ffn_down", "mlp.dense_4h_to_h"}};
const Names kFalconGlobal = {{"token_embd", "transformer.word_embeddings"},
                             {"output_norm", "transformer.ln_f"},
                             {"output", "lm_head"}};
const Keys kFalconKeys = {{"hidden_size", size("embedding_length")},
                          {"ffn_hidden_size", size("feed_forward_length")},
                          {"num_hidden_layers", size("block_count")},
                          {"num_attention_heads", size("attention.head_count")},
                          {"max_position_embeddings", size("context_length")},
                          {"num_kv_heads", keyHeads},
                          {"new_decoder_architecture", sharesKeyHeads},
                          {"multi_query", hasOneKeyHead},
                          {"bias", holds("blk.0.attn_qkv.bias")},
                          {"layer_norm_epsilon", number("attention.layer_norm_epsilon", 1e-5)},
                          {"rope_theta", thetaOfWholeHeads}};
const Keys kGptSizes = {{"n_embd", size("embedding_length")},
                        {"n_inner", size("feed_forward_length")},
                        {"n_layer", size("block_count")},
                        {"n_head", size("attention.head_count")},
                        {"n_positions", size("context_length")},
                        {"layer_norm_epsilon", number("attention.layer_norm_epsilon", 1e-5)}};

const Names kDeepSeekNames = kLatentAttention + kExperts + kSharedExperts + kRouterBias +
                             kFurtherTokens +
                             Names{{"attn_output", "self_attn.o_proj"},
                                   {"ffn_gate", "mlp.gate_proj"},
                                   {"ffn_up", "mlp.up_proj"},
                                   {"ffn_down", "mlp.down_proj"}};
const Keys kLatentKeys = kSizes + kRmsEps + kSilu +
                         Keys{{"num_hidden_layers", layersOfOneToken},
                              {"rope_theta", number("rope.freq_base", 10000)},
                              {"rope_scaling", latentScaling},
                              {"attention_bias", holds("blk.0.attn_kv_a_mqa.bias")},
                              {"kv_lora_rank", size("attention.kv_lora_rank")},
                              {"q_lora_rank", queryLatent},
                              {"qk_nope_head_dim", plainKeySize},
                              {"qk_rope_head_dim", size("rope.dimension_count")},
                              {"v_head_dim", valueSize}};
const Keys kDeepSeekKeys = kDeepSeekExperts + kLatentKeys;

const GgufArchitecture kArchitectures[] = {
    {"llama4", "llama4_text", kLayers, kGlobal,
     kNorms + kAttention + kQueries +
         Names{{"ffn_gate", "feed_forward.gate_proj"},
               {"ffn_up", "feed_forward.up_proj"},
               {"ffn_down", "feed_forward.down_proj"},
               {"ffn_gate_inp", "feed_forward.router"},
               {"ffn_gate_exps", "feed_forward.experts.gate_proj", GgufChange::Ending},
               {"ffn_up_exps", "feed_forward.experts.up_proj", GgufChange::Ending},
               {"ffn_down_exps", "feed_forward.experts.down_proj", GgufChange::Ending},
               {"ffn_gate_shexp", "feed_forward.shared_expert.gate_proj"},
               {"ffn_up_shexp", "feed_forward.shared_expert.up_proj"},
               {"ffn_down_shexp", "feed_forward.shared_expert.down_proj"}},
     kLlamaKeys + Keys{{"intermediate_size", sizeOfPart},
                       {"intermediate_size_mlp", size("feed_forward_length")},
                       {"num_local_experts", size("expert_count")},
                       {"num_experts_per_tok", size("expert_used_count")},
                       {"interleave_moe_layer_step", size("interleave_moe_layer_step", 1)},
                       {"use_qk_norm", normsHeadsOfLlama4},
                       {"stacked_experts", isTrue}}},
    {"llama", "mixtral", kLayers, kGlobal,
     kNorms + kAttention + kPairedQueries +
         Names{{"ffn_gate_inp", "block_sparse_moe.gate"},
               {"ffn_gate_exps", "block_sparse_moe.experts.w1"},
               {"ffn_up_exps", "block_sparse_moe.experts.w3"},
               {"ffn_down_exps", "block_sparse_moe.experts.w2"}},
     kLlamaKeys + kWindow + experts("num_local_experts", true), hasExperts},
    {"llama", "mistral", kLayers, kGlobal, kLlamaNames, kLlamaKeys + kWindow, hasWindow},
    {"llama", "llama", kLayers, kGlobal, kLlamaNames, kLlamaKeys + kAttentionBias + kMlpBias},
    {"qwen2", "qwen2", kLayers, kGlobal, kNorms + kProducts + kQueries, kLlamaKeys},
    {"qwen3", "qwen3", kLayers, kGlobal, kNorms + kProducts + kQueries + kHeadNorms, kLlamaKeys},
    {"qwen2moe", "qwen2_moe", kLayers, kGlobal,
     kNorms + kAttention + kQueries + kExperts + kSharedExpert,
     kLlamaKeys + experts("num_experts", false) +
         Keys{{"moe_intermediate_size", sizeOfPart},
              {"shared_expert_intermediate_size", sharedSize},
              {"qkv_bias", holds("blk.0.attn_q.bias")}}},
    {"qwen3moe", "qwen3_moe", kLayers, kGlobal,
     kNorms + kAttention + kQueries + kHeadNorms + kExperts,
     kLlamaKeys + experts("num_experts", true) +
         Keys{{"moe_intermediate_size", sizeOfPart}, {"norm_topk_prob", isTrue}}},
    {"olmoe", "olmoe", kLayers, kGlobal, kNorms + kAttention + kQueries + kHeadNorms + kExperts,
     kLlamaKeys + kAttentionBias + experts("num_experts", false)},
    {"gpt-oss", "gpt_oss", kLayers, kGlobal,
     kNormsOfBlocks + kAttention + kQueries + kStackedExperts +
         Names{{"attn_sinks", "self_attn.sinks", GgufChange::Ending},
               {"ffn_gate_inp", "mlp.router"}},
     kLlamaKeys + kWindow + kAttentionBias + experts("num_local_experts", true) +
         Keys{{"intermediate_size", sizeOfPart}, {"rope_scaling", untruncated}}},
    {"cohere2", "cohere2", kLayers, kGlobal, kAttentionNorm + kProducts + kQueries,
     kWholeHeads + kLayerNormEps + kSilu + kWindow + kAttentionBias +
         Keys{{"logit_scale", number("logit_scale", 0.0625)}}},
    {"exaone",
     "exaone",
     "transformer.h.",
     {{"token_embd", "transformer.wte"},
      {"output_norm", "transformer.ln_f"},
      {"output", "lm_head"}},
     {{"attn_norm", "ln_1"},
      {"ffn_norm", "ln_2"},
      {"attn_q", "attn.attention.q_proj"},
      {"attn_k", "attn.attention.k_proj"},
      {"attn_v", "attn.attention.v_proj"},
      {"attn_output", "attn.attention.out_proj"},
      {"ffn_gate", "mlp.c_fc_0"},
      {"ffn_up", "mlp.c_fc_1"},
      {"ffn_down", "mlp.c_proj"}},
     kLlamaKeys},
    {"exaone4", "exaone4", kLayers, kGlobal, kOlmo2Names, kLlamaKeys + kWindow},
    {"exaone-moe", "exaone_moe", kLayers, kGlobal,
     kNorms + kProducts + kQueries + kHeadNorms + kExperts + kSharedExperts +
         Names{{"exp_probs_b", "mlp.e_score_correction_bias", GgufChange::Ending}},
     kLlamaKeys + kWindow + kPlacedExperts +
         Keys{{"num_hidden_layers", layersOfOneToken},
              {"layer_types", layerTypes},
              {"num_experts", size("expert_count")},
              {"num_shared_experts", count("expert_shared_count", 0)},
              {"stacked_experts", stacksSigmoidExperts}}},
    {"ernie4_5-moe", "ernie4_5_moe", kLayers, kGlobal,
     kNorms + kProducts + kQueries + kExperts + kSharedExperts +
         Names{{"exp_probs_b", "mlp.moe_statics.e_score_correction_bias", GgufChange::RowOfEnding}},
     kLlamaKeys + Keys{{"moe_num_experts", size("expert_count")},
                       {"moe_k", size("expert_used_count")},
                       {"moe_intermediate_size", sizeOfPart},
                       {"moe_num_shared_experts", count("expert_shared_count", 0)},
                       {"moe_layer_start_index", count("leading_dense_block_count", 0)},
                       {"moe_layer_interval", size("interleave_moe_layer_step", 1)},
                       {"stacked_experts", isTrue}}},
    {"ernie4_5", "ernie4_5", kLayers, kGlobal, kNorms + kProducts + kQueries,
     kLlamaKeys + Keys{{"use_bias", holds("blk.0.attn_q.bias")}}},
    {"seed_oss", "seed_oss", kLayers, kGlobal, kNormsOfBlocks + kProducts + kQueries,
     kLlamaKeys + kAttentionBias + kMlpBias +
         Keys{{"attention_out_bias", holds("blk.0.attn_output.bias")}}},
    {"hunyuan-dense", "hunyuan_v1_dense", kLayers, kGlobal,
     kNorms + kProducts + kQueries + kHeadLayerNorms, kLlamaKeys + kAttentionBias},
    {"hunyuan-moe", "hunyuan_v1_moe", kLayers, kGlobal,
     kNorms + kAttention + kQueries + kHeadLayerNorms + kStackedExperts +
         Names{{"ffn_gate_inp", "mlp.gate.wg"},
               {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
               {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
               {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}},
     kLlamaKeys + kAttentionBias + experts("num_experts", true) +
         Keys{{"intermediate_size", sizeOfPart}, {"moe_topk", size("expert_used_count")}}},
    {"arcee", "arcee", kLayers, kGlobal, kNorms + kAttention + kPairedQueries + kPlainMlp,
     kWholeHeads + kRmsEps + kAttentionBias + kMlpBias + Keys{{"hidden_act", text("relu2")}}},
    {"olmo", "olmo", kLayers, kGlobal, kProducts + kPairedQueries,
     kWholeHeads + kSilu + kAttentionBias + Keys{{"clip_qkv", orNone("attention.clamp_kqv")}}},
    {"glm4", "glm4", kLayers, kGlobal,
     kAttention + kQueries +
         Names{{"attn_norm", "input_layernorm"},
               {"post_attention_norm", "post_self_attn_layernorm"},
               {"ffn_norm", "post_attention_layernorm"},
               {"post_ffw_norm", "post_mlp_layernorm"},
               {"ffn_up", "mlp.gate_up_proj"},
               {"ffn_down", "mlp.down_proj"}},
     kPartHeads + kRmsEps + kSilu + kAttentionBias},
    {"chatglm", "glm", kLayers, kGlobal,
     kNorms + kAttention + kQueries +
         Names{{"ffn_up", "mlp.gate_up_proj"}, {"ffn_down", "mlp.down_proj"}},
     kPartHeads + kRmsEps + kSilu + kAttentionBias},
    {"glm4moe", "glm4_moe", kLayers, kGlobal,
     kNormsOfBlocks + kProducts + kQueries + kHeadNorms + kExperts + kSharedExperts + kRouterBias +
         kFurtherTokens,
     kPartHeads + kRmsEps + kSilu + kAttentionBias + kSigmoidExperts +
         Keys{{"num_hidden_layers", layersOfOneToken},
              {"use_qk_norm", holds("blk.0.attn_q_norm.weight")}}},
    {"dots1", "dots1", kLayers, kGlobal,
     kNorms + kProducts + kQueries + kHeadNorms + kExperts + kSharedExperts + kRouterBias,
     kLlamaKeys + kAttentionBias + kSigmoidExperts},
    {"minimax-m2", "minimax_m2", kLayers, kGlobal,
     kNorms + kAttention + kQueries + kHeadNorms +
         Names{{"ffn_gate_inp", "block_sparse_moe.gate"},
               {"ffn_gate_exps", "block_sparse_moe.experts.w1"},
               {"ffn_up_exps", "block_sparse_moe.experts.w3"},
               {"ffn_down_exps", "block_sparse_moe.experts.w2"},
               {"exp_probs_b", "block_sparse_moe.e_score_correction_bias", GgufChange::Ending}},
     kPartHeads + kRmsEps + kSilu +
         Keys{{"num_local_experts", size("expert_count")},
              {"num_experts_per_tok", size("expert_used_count")},
              {"intermediate_size", sizeOfPart},
              {"stacked_experts", stacksSigmoidExperts}}},
    {"deepseek2", "youtu", kLayers, kGlobal, kDeepSeekNames, kLatentKeys,
     [](const GgufKeys &keys) { return !hasExperts(keys); }},
    {"deepseek2", "deepseek_v3", kLayers, kGlobal, kDeepSeekNames,
     kDeepSeekKeys + Keys{{"stacked_experts", stacksSigmoidExperts}}, hasSigmoids},
    {"deepseek2", "deepseek_v2", kLayers, kGlobal, kDeepSeekNames,
     kDeepSeekKeys + Keys{{"stacked_experts", isTrue}, {"topk_method", choiceOfGroups}}},
    {"granite", "granite", kLayers, kGlobal, kLlamaNames, kGraniteKeys},
    {"granitemoe", "granitemoeshared", kLayers, kGlobal, kGraniteMoeNames + kSharedMlp,
     kGraniteKeys + experts("num_local_experts", true) +
         Keys{{"shared_intermediate_size", size("expert_shared_feed_forward_length")}},
     [](const GgufKeys &keys) {
       return keys.find("expert_shared_feed_forward_length") != nullptr;
     }},
    {"granitemoe", "granitemoe", kLayers, kGlobal, kGraniteMoeNames,
     kGraniteKeys + experts("num_local_experts", true)},
    {"granitehybrid", "bamba", kLayers, kBambaGlobal,
     kBambaNames + kPairedQueries + Names{{"ffn_norm", "pre_ff_layernorm"}},
     kPartHeads + kRmsEps + kSilu + kAttentionBias + kMlpBias + listBambaKeys(),
     [](const GgufKeys &keys) {
       const Json *rotates = keys.find("rope.scaling.finetuned");
       return rotates && *rotates == true;
     }},
    {"granitehybrid", "granitemoehybrid", kLayers, kGlobal,
     kGraniteMoeNames + kSharedMlp + listMambaTensors(),
     kGraniteKeys + experts("num_local_experts", true) + listGraniteHybridKeys() +
         Keys{{"shared_intermediate_size", size("expert_shared_feed_forward_length")}},
     hasExperts},
    {"granitehybrid", "granitemoehybrid", kLayers, kGlobal,
     kNorms + kAttention + kPairedQueries + listMambaTensors() +
         Names{{"ffn_gate", "shared_mlp.gate"},
               {"ffn_up", "shared_mlp.up"},
               {"ffn_down", "shared_mlp.output_linear"}},
     kGraniteKeys + listGraniteHybridKeys() +
         Keys{{"num_local_experts", zero},
              {"stacked_experts", isTrue},
              {"shared_intermediate_size", sharedSize}}},
    // Its converter leaves the end of a name out.
    {"falcon-h1", "falcon_h1", kLayers, kBambaGlobal,
     kBambaNames + kQueries + Names{{"ffn_norm", "pre_ff_layernorm.weight"}},
     kWholeHeads + kRmsEps + kSilu + kAttentionBias + kMlpBias + listFalconH1Keys()},
    describeMamba2(),
    describeNemotronH(),
    describeNemotronHMoe(),
    {"smollm3", "smollm3", kLayers, kGlobal, kLlamaNames,
     kLlamaKeys + kWindow + kAttentionBias + kMlpBias},
    {"command-r", "cohere", kLayers, kGlobal, kNorms + kProducts + kQueries + kHeadNorms,
     kWholeHeads + kLayerNormEps + kSilu + kAttentionBias +
         Keys{{"logit_scale", number("logit_scale", 0.0625)},
              {"use_qk_norm", holds("blk.0.attn_q_norm.weight")}}},
    {"jais2", "jais2", kLayers, kGlobal, kNorms + kProducts + kQueries,
     kWholeHeads + kLayerNormEps + kAttentionBias + kMlpBias + Keys{{"hidden_act", text("relu2")}}},
    {"apertus",
     "apertus",
     kLayers,
     kGlobal,
     Names{{"attn_norm", "attention_layernorm"}, {"ffn_norm", "feedforward_layernorm"}} +
         kProducts + kQueries + kHeadNorms,
     kWholeHeads + kRmsEps + kAttentionBias + Keys{{"hidden_act", xielu}},
     nullptr,
     {{"xielu.alpha_p", "mlp.act_fn.alpha_p"}, {"xielu.alpha_n", "mlp.act_fn.alpha_n"}}},
    {"lfm2", "lfm2", kLayers, kLfm2Global, kLfm2Names,
     kLfm2Keys + Keys{{"block_auto_adjust_ff_dim", [](GgufKeys &) { return Json(false); }}}},
    {"lfm2moe", "lfm2_moe", kLayers, kLfm2Global, kLfm2Names + kLfm2Experts,
     kLfm2Keys + Keys{{"num_experts", size("expert_count")},
                      {"num_experts_per_tok", size("expert_used_count")},
                      {"moe_intermediate_size", size("expert_feed_forward_length")},
                      {"num_dense_layers", count("leading_dense_block_count", 0)},
                      {"routed_scaling_factor", expertScale},
                      {"stacked_experts", stacksSigmoidExperts}}},
    {"stablelm", "stablelm", kLayers, kGlobal, kNorms + kProducts + kQueries,
     kPartHeads + kLayerNormEps + kSilu +
         Keys{{"use_qkv_bias", holds("blk.0.attn_q.bias")},
              {"use_parallel_residual", lacks("blk.0.ffn_norm.weight")}}},
    {"nemotron", "nemotron", kLayers, kGlobalOfOne, kNormsOfOne + kProducts + kQueries,
     kPartHeads + kAttentionBias + kMlpBias +
         Keys{{"norm_eps", number("attention.layer_norm_epsilon", 1e-5)},
              {"hidden_act", text("relu2")}}},
    {"gemma", "gemma", kLayers, kGlobalOfOne, kNormsOfOne + kProducts + kQueries,
     kWholeHeads + kRmsEps + Keys{{"hidden_act", text("gelu_pytorch_tanh")}}},
    {"gemma2", "gemma2", kLayers, kGlobalOfOne, kFourNormsOfOne + kProducts + kQueries,
     kWholeHeads + kRmsEps +
         Keys{{"hidden_activation", text("gelu_pytorch_tanh")},
              {"query_pre_attn_scalar", scoresOf(46)},
              {"attn_logit_softcapping", cap("attn_logit_softcapping", 50)},
              {"final_logit_softcapping", cap("final_logit_softcapping", 30)},
              {"sliding_window", size("attention.sliding_window", 4096)}}},
    {"gemma3", "gemma3_text", kLayers, kGlobalOfOne,
     kFourNormsOfOne + kProducts + kQueries + kHeadNormsOfOne,
     kWholeHeads + kRmsEps +
         Keys{{"hidden_activation", text("gelu_pytorch_tanh")},
              {"query_pre_attn_scalar", scoresOf(62)},
              {"sliding_window", size("attention.sliding_window", 1024)},
              {"rope_local_base_freq", number("rope.freq_base_swa", 10000)}}},
    describeGemma4(),
    describeQwen35(),
    describeQwen35Moe(),
    describeQwen3Next(),
    {"olmo2", "olmo3", kLayers, kGlobal, kOlmo2Names,
     kLlamaKeys + kWindow + kAttentionBias + Keys{{"rope_parameters", thetaOfWindows}}, hasWindow},
    {"olmo2", "olmo2", kLayers, kGlobal, kOlmo2Names, kLlamaKeys + kAttentionBias},
    {"starcoder2", "starcoder2", kLayers, kGlobal,
     kNorms + kQueries +
         Names{{"attn_v", "self_attn.v_proj"},
               {"attn_output", "self_attn.o_proj"},
               {"ffn_up", "mlp.c_fc"},
               {"ffn_down", "mlp.c_proj"}},
     kWholeHeads + Keys{{"norm_epsilon", number("attention.layer_norm_epsilon", 1e-5)},
                        {"hidden_act", text("gelu_pytorch_tanh")},
                        {"use_bias", holds("blk.0.attn_q.bias")}}},
    {"phi2", "phi", kLayers,
     Names{{"token_embd", "model.embed_tokens"},
           {"output_norm", "model.final_layernorm"},
           {"output", "lm_head"}},
     kQueries + Names{{"attn_norm", "input_layernorm"},
                      {"attn_v", "self_attn.v_proj"},
                      {"attn_output", "self_attn.dense"},
                      {"ffn_up", "mlp.fc1"},
                      {"ffn_down", "mlp.fc2"}},
     kPartHeads + kLayerNormEps + Keys{{"hidden_act", text("gelu_new")}}},
    {"phi3", "phi3", kLayers, kGlobal,
     kNorms + Names{{"attn_qkv", "self_attn.qkv_proj"},
                    {"attn_output", "self_attn.o_proj"},
                    {"ffn_up", "mlp.gate_up_proj"},
                    {"ffn_down", "mlp.down_proj"}},
     kPartHeads + kRmsEps + kSilu + kWindow},
    {"gpt2", "gpt2", "transformer.h.", kGptGlobal,
     Names{{"attn_norm", "ln_1"},
           {"attn_qkv", "attn.c_attn", kTransposed},
           {"attn_output", "attn.c_proj", kTransposed},
           {"ffn_norm", "ln_2"},
           {"ffn_up", "mlp.c_fc", kTransposed},
           {"ffn_down", "mlp.c_proj", kTransposed}},
     kGptSizes + Keys{{"activation_function", text("gelu_new")}}},
    {"starcoder", "gpt_bigcode", "transformer.h.", kGptGlobal,
     Names{{"attn_norm", "ln_1"},
           {"attn_qkv", "attn.c_attn"},
           {"attn_output", "attn.c_proj"},
           {"ffn_norm", "ln_2"},
           {"ffn_up", "mlp.c_fc"},
           {"ffn_down", "mlp.c_proj"}},
     kGptSizes + Keys{{"activation_function", text("gelu_pytorch_tanh")},
                      {"multi_query", joinsOneKeyHead}}},
    {"bloom", "bloom", "transformer.h.",
     Names{{"token_embd", "transformer.word_embeddings"},
           {"token_embd_norm", "transformer.word_embeddings_layernorm"},
           {"output_norm", "transformer.ln_f"},
           {"output", "lm_head"}},
     kFalconLayer + kNorms,
     Keys{{"hidden_size", size("embedding_length")},
          {"n_layer", size("block_count")},
          {"n_head", size("attention.head_count")},
          {"seq_length", size("context_length")},
          {"layer_norm_epsilon", number("attention.layer_norm_epsilon", 1e-5)}}},
    {"falcon", "falcon", "transformer.h.", kFalconGlobal,
     kFalconLayer + Names{{"attn_norm", "ln_mlp"}, {"attn_norm_2", "ln_attn"}},
     kFalconKeys + Keys{{"num_ln_in_parallel_attn", two}},
     [](const GgufKeys &keys) { return keys.findTensor("blk.0.attn_norm_2.weight") != nullptr; }},
    {"falcon", "falcon", "transformer.h.", kFalconGlobal,
     kFalconLayer + Names{{"attn_norm", "input_layernorm"}},
     kFalconKeys + Keys{{"num_ln_in_parallel_attn", one}}},
    {"mpt", "mpt", "transformer.blocks.",
     Names{{"token_embd", "transformer.wte"},
           {"output_norm", "transformer.norm_f"},
           {"output", "lm_head"}},
     Names{{"attn_norm", "norm_1"},
           {"attn_qkv", "attn.Wqkv"},
           {"attn_output", "attn.out_proj"},
           {"ffn_norm", "norm_2"},
           {"ffn_up", "ffn.up_proj"},
           {"ffn_down", "ffn.down_proj"}},
     Keys{{"d_model", size("embedding_length")},
          {"n_layers", size("block_count")},
          {"n_heads", size("attention.head_count")},
          {"max_seq_len", size("context_length")},
          {"layer_norm_epsilon", number("attention.layer_norm_epsilon", 1e-5)},
          {"attn_config", alibi}}},
    {"gptneox", "gpt_neox", "gpt_neox.layers.",
     Names{{"token_embd", "gpt_neox.embed_in"},
           {"output_norm", "gpt_neox.final_layer_norm"},
           {"output", "embed_out"}},
     Names{{"attn_norm", "input_layernorm"},
           {"attn_qkv", "attention.query_key_value", GgufChange::PartsApart},
           {"attn_output", "attention.dense"},
           {"ffn_norm", "post_attention_layernorm"},
           {"ffn_up", "mlp.dense_h_to_4h"},
           {"ffn_down", "mlp.dense_4h_to_h"}},
     kSizes + kLayerNormEps +
         Keys{{"rotary_pct", rotatedPart},
              {"rotary_emb_base", number("rope.freq_base", 10000)},
              {"hidden_act", text("gelu")},
              {"attention_bias", holds("blk.0.attn_qkv.bias")},
              {"use_parallel_residual", parallelResidual}}}};

} // namespace

Expected<const GgufArchitecture *> findGgufArchitecture(const GgufFile &file,
                                                        std::string_view source) {
  if (auto parts = file.metadata.find("split.count");
      parts != file.metadata.end() && parts->is_number_unsigned() && parts->get<uint64_t>() > 1)
    return fail(std::string(source), "it is one of " + parts->dump() + " parts of a model",
                "give the path of the first part");
  auto given = file.metadata.find("general.architecture");
  if (given == file.metadata.end())
    return fail(std::string(source), "it has no general.architecture", "download the file again");
  std::string known;
  for (const GgufArchitecture &architecture : kArchitectures) {
    GgufKeys keys(file, source, architecture.name);
    if (*given == architecture.name && (!architecture.applies || architecture.applies(keys)))
      return &architecture;
    if (!architecture.applies)
      known += std::string(known.empty() ? "" : ", ") + architecture.name;
  }
  return fail(std::string(source), "its general.architecture is " + given->dump(),
              "these are known: " + known);
}

} // namespace sinter
