// Qwen3.5, dense or with experts, and Qwen3-Next: linear attention in most layers, and attention
// with a gate a head, side by side with its queries, in the others. Of Qwen3.5 the converter has
// put the heads of values in another order; of Qwen3-Next it has put apart what belongs to a key
// head.

#include "frontends/Gguf/GgufValues.h"

namespace sinter {
using namespace gguf;

namespace {

Json layersOfText(GgufKeys &keys) {
  return keys.size("block_count") - keys.count("nextn_predict_layers", 0);
}

/// Which layers have linear attention, where the file says so of each; else one in
/// full_attention_interval has not.
Json layerKinds(GgufKeys &keys) {
  const Json *linear = keys.find("attention.recurrent_layers");
  if (!linear)
    return {};
  auto layers = layersOfText(keys).get<int64_t>();
  if (!linear->is_array() || static_cast<int64_t>(linear->size()) < layers) {
    keys.mistake("its " + keys.nameOf("attention.recurrent_layers") +
                 " has no entry for each layer");
    return {};
  }
  Json kinds = Json::array();
  for (int64_t i = 0; i < layers; ++i)
    kinds.push_back((*linear)[static_cast<size_t>(i)] == true ? "linear_attention"
                                                              : "full_attention");
  return kinds;
}

Json valueHeadSize(GgufKeys &keys) {
  return keys.size("ssm.inner_size") / keys.size("ssm.time_step_rank");
}

Json rotatedShare(GgufKeys &keys) {
  int64_t size = keys.size("attention.key_length");
  return double(keys.size("rope.dimension_count", size)) / double(size);
}

Names listTiledAttention() {
  return {{"attn_qkv", "linear_attn.in_proj_qkv", GgufChange::ValuesBehind},
          {"attn_gate", "linear_attn.in_proj_z", GgufChange::ValuesTiled},
          {"ssm_alpha", "linear_attn.in_proj_a", GgufChange::ValuesTiled},
          {"ssm_beta", "linear_attn.in_proj_b", GgufChange::ValuesTiled},
          {"ssm_a", "linear_attn.A_log", GgufChange::DecaysOfHeads},
          {"ssm_dt.bias", "linear_attn.dt_bias", GgufChange::BiasesOfHeads},
          {"ssm_conv1d", "linear_attn.conv1d", GgufChange::TapsOfValues},
          {"ssm_out", "linear_attn.out_proj", GgufChange::ValuesColumns}};
}
Names listSplitAttention() {
  return {{"attn_qkv", "linear_attn.in_proj_qkv"},
          {"attn_gate", "linear_attn.in_proj_z"},
          {"ssm_ba", "linear_attn.in_proj_ba"},
          {"ssm_a", "linear_attn.A_log", GgufChange::Decays},
          {"ssm_dt.bias", "linear_attn.dt_bias", GgufChange::Ending},
          {"ssm_conv1d", "linear_attn.conv1d", GgufChange::Taps},
          {"ssm_out", "linear_attn.out_proj"}};
}
Names listMlp() {
  return {{"ffn_gate", "mlp.gate_proj"}, {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"}};
}
Names listExperts() {
  return {{"ffn_gate_inp", "mlp.gate"},
          {"ffn_gate_exps", "mlp.experts.gate_proj"},
          {"ffn_up_exps", "mlp.experts.up_proj"},
          {"ffn_down_exps", "mlp.experts.down_proj"},
          {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
          {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
          {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
          {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", GgufChange::RowAlone}};
}

Keys listExpertKeys() {
  return {{"num_experts", size("expert_count")},
          {"num_experts_per_tok", size("expert_used_count")},
          {"moe_intermediate_size", size("expert_feed_forward_length")},
          {"shared_expert_intermediate_size", size("expert_shared_feed_forward_length")},
          {"stacked_experts", isTrue}};
}

/// An architecture with linear attention, and what its layers have of it and behind it.
GgufArchitecture describe(const char *name, const char *modelType, const Names &behind,
                          const Keys &keysBehind) {
  constexpr GgufChange kOne = GgufChange::OneAdded;
  const Names global = {{"token_embd", "model.embed_tokens"},
                        {"output_norm", "model.norm", kOne},
                        {"output", "lm_head"}};
  const Names ofLayer = {{"attn_norm", "input_layernorm", kOne},
                         {"post_attention_norm", "post_attention_layernorm", kOne},
                         {"attn_q", "self_attn.q_proj"},
                         {"attn_k", "self_attn.k_proj"},
                         {"attn_v", "self_attn.v_proj"},
                         {"attn_output", "self_attn.o_proj"},
                         {"attn_q_norm", "self_attn.q_norm", kOne},
                         {"attn_k_norm", "self_attn.k_norm", kOne},
                         {"ssm_norm", "linear_attn.norm"},
                         // Of layers that predict further tokens, which are left out.
                         {"nextn.eh_proj", "eh_proj"},
                         {"nextn.enorm", "enorm"},
                         {"nextn.hnorm", "hnorm"},
                         {"nextn.embed_tokens", "embed_tokens"},
                         {"nextn.shared_head_head", "shared_head.head"},
                         {"nextn.shared_head_norm", "shared_head.norm"}};
  const Keys config = {{"hidden_size", size("embedding_length")},
                       {"num_hidden_layers", layersOfText},
                       {"mtp_num_hidden_layers", count("nextn_predict_layers", 0)},
                       {"num_attention_heads", size("attention.head_count")},
                       {"num_key_value_heads", size("attention.head_count_kv")},
                       {"head_dim", size("attention.key_length")},
                       {"max_position_embeddings", size("context_length")},
                       {"rms_norm_eps", number("attention.layer_norm_rms_epsilon", 1e-6)},
                       {"hidden_act", text("silu")},
                       {"rope_theta", number("rope.freq_base", 1e7)},
                       {"partial_rotary_factor", rotatedShare},
                       {"layer_types", layerKinds},
                       {"full_attention_interval", size("full_attention_interval", 4)},
                       {"linear_conv_kernel_dim", size("ssm.conv_kernel")},
                       {"linear_key_head_dim", size("ssm.state_size")},
                       {"linear_num_key_heads", size("ssm.group_count")},
                       {"linear_num_value_heads", size("ssm.time_step_rank")},
                       {"linear_value_head_dim", valueHeadSize}};
  return {name, modelType, "model.layers.", global, ofLayer + behind, config + keysBehind};
}

} // namespace

GgufArchitecture gguf::describeQwen35() {
  return describe("qwen35", "qwen3_5_text", listTiledAttention() + listMlp(),
                  {{"intermediate_size", size("feed_forward_length")}});
}

GgufArchitecture gguf::describeQwen35Moe() {
  return describe("qwen35moe", "qwen3_5_moe_text", listTiledAttention() + listExperts(),
                  listExpertKeys());
}

GgufArchitecture gguf::describeQwen3Next() {
  return describe("qwen3next", "qwen3_next", listSplitAttention() + listMlp() + listExperts(),
                  listExpertKeys() + Keys{{"intermediate_size", size("feed_forward_length", 1)},
                                          {"split_qkvz", isTrue}});
}

} // namespace sinter
