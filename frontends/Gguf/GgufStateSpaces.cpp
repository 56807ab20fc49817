// Models with state spaces: Mamba-2, whose layers have nothing else, Granite 4 and Bamba, most of
// whose layers have them in place of attention, Falcon-H1, whose layers have both, and Nemotron-H,
// whose layers are a state space, attention, an MLP or experts each.

#include "frontends/Gguf/GgufValues.h"
#include <algorithm>

namespace sinter {
using namespace gguf;

namespace {

Json stateHeadSize(GgufKeys &keys) {
  int64_t all = keys.size("ssm.inner_size"), heads = keys.size("ssm.time_step_rank");
  if (all % heads != 0)
    keys.mistake("its " + std::to_string(heads) + " heads of state spaces do not divide " +
                 keys.nameOf("ssm.inner_size"));
  return all / heads;
}

Json widening(GgufKeys &keys) {
  int64_t all = keys.size("ssm.inner_size"), hidden = keys.size("embedding_length");
  if (all % hidden != 0)
    keys.mistake("its " + keys.nameOf("ssm.inner_size") + " is no multiple of " +
                 keys.nameOf("embedding_length"));
  return std::max<int64_t>(1, all / hidden);
}

Value holdsInLayer(const char *tensor) {
  return [tensor](GgufKeys &keys) { return Json(keys.holdsInLayer(tensor)); };
}

Json stateLayers(GgufKeys &keys) { return layersByKeyHeads(keys, "linear_attention"); }

Json attentionLayers(GgufKeys &keys) {
  Json kinds = stateLayers(keys), layers = Json::array();
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == "full_attention")
      layers.push_back(i);
  return layers;
}

/// Of each layer a character: of an MLP or experts where the file gives their size.
Value nemotronLayers(char mlp) {
  return [mlp](GgufKeys &keys) {
    std::string pattern;
    Json kinds = stateLayers(keys);
    const Json *sizes = keys.find("feed_forward_length");
    auto layers = keys.size("block_count") - keys.count("nextn_predict_layers", 0);
    if (!sizes || !sizes->is_array() || sizes->size() != kinds.size() ||
        static_cast<int64_t>(kinds.size()) < layers) {
      keys.mistake("its " + keys.nameOf("feed_forward_length") + " has no entry for each layer");
      return Json(pattern);
    }
    for (size_t i = 0; static_cast<int64_t>(i) < layers; ++i)
      pattern += (*sizes)[i] != 0 ? mlp : kinds[i] == "full_attention" ? '*' : 'M';
    return Json(pattern);
  };
}

Json hasMlpBias(GgufKeys &keys) {
  return keys.holdsInLayer("ffn_up.bias") || keys.holdsInLayer("ffn_up_shexp.bias");
}

Json sizeOfMlps(GgufKeys &keys) { return keys.sizeInLayers("feed_forward_length"); }

/// Tensors of what the model calls "mixer" in its layers, or "mamba".
Names listTensors(const std::string &mixer) {
  return {{"ssm_in", mixer + ".in_proj"},
          {"ssm_conv1d", mixer + ".conv1d", GgufChange::Taps},
          {"ssm_a", mixer + ".A_log", GgufChange::Decays},
          {"ssm_dt.bias", mixer + ".dt_bias", GgufChange::Ending},
          {"ssm_d", mixer + ".D", GgufChange::Vector},
          {"ssm_norm", mixer + ".norm", GgufChange::Vector},
          {"ssm_out", mixer + ".out_proj"}};
}

Names listBackbone() {
  return {{"token_embd", "backbone.embeddings"},
          {"output_norm", "backbone.norm_f"},
          {"output", "lm_head"}};
}

/// What Mamba-2 and Nemotron-H call alike.
Keys listBackboneKeys() {
  return {{"hidden_size", size("embedding_length")},
          {"layer_norm_epsilon", number("attention.layer_norm_rms_epsilon", 1e-5)},
          {"n_groups", size("ssm.group_count")},
          {"conv_kernel", size("ssm.conv_kernel")},
          {"use_bias", holdsInLayer("ssm_in.bias")},
          {"use_conv_bias", holdsInLayer("ssm_conv1d.bias")}};
}

/// What Llama's relatives with state spaces call alike.
Keys listMambaKeys() {
  return {{"mamba_n_heads", size("ssm.time_step_rank")},
          {"mamba_d_head", stateHeadSize},
          {"mamba_n_groups", size("ssm.group_count")},
          {"mamba_d_state", size("ssm.state_size")},
          {"mamba_d_conv", size("ssm.conv_kernel")},
          {"mamba_proj_bias", holdsInLayer("ssm_in.bias")},
          {"mamba_conv_bias", holdsInLayer("ssm_conv1d.bias")}};
}

GgufArchitecture describeNemotron(const char *name, char mlp, const Names &behind,
                                  const Keys &keysBehind) {
  const Names ofLayer = {{"attn_norm", "norm"},
                         {"attn_q", "mixer.q_proj", GgufChange::PairsTogether},
                         {"attn_k", "mixer.k_proj", GgufChange::PairsTogether},
                         {"attn_v", "mixer.v_proj"},
                         {"attn_output", "mixer.o_proj"}};
  const Keys config = {{"hybrid_override_pattern", nemotronLayers(mlp)},
                       {"num_attention_heads", size("attention.head_count")},
                       {"num_key_value_heads", keyHeads},
                       {"head_dim", size("attention.key_length")},
                       {"max_position_embeddings", size("context_length")},
                       {"attention_bias", holdsInLayer("attn_q.bias")},
                       {"mlp_bias", hasMlpBias},
                       {"intermediate_size", sizeOfMlps},
                       {"mamba_num_heads", size("ssm.time_step_rank")},
                       {"mamba_head_dim", stateHeadSize},
                       {"ssm_state_size", size("ssm.state_size")}};
  return {name,
          "nemotron_h",
          "backbone.layers.",
          listBackbone(),
          ofLayer + listTensors("mixer") + behind,
          listBackboneKeys() + config + keysBehind};
}

} // namespace

Names gguf::listMambaTensors() { return listTensors("mamba"); }

Keys gguf::listGraniteHybridKeys() {
  return listMambaKeys() + Keys{{"mamba_expand", widening}, {"layer_types", stateLayers}};
}

Keys gguf::listBambaKeys() {
  return listMambaKeys() +
         Keys{{"mamba_expand", widening}, {"attn_layer_indices", attentionLayers}};
}

Keys gguf::listFalconH1Keys() {
  // llama.cpp has no other place for the norm.
  return listMambaKeys() + Keys{{"mamba_d_ssm", size("ssm.inner_size")},
                                {"mamba_rms_norm", holds("blk.0.ssm_norm.weight")},
                                {"mamba_norm_before_gate", [](GgufKeys &) { return false; }}};
}

GgufArchitecture gguf::describeMamba2() {
  const Keys config = {{"num_hidden_layers", size("block_count")},
                       {"expand", widening},
                       {"num_heads", size("ssm.time_step_rank")},
                       {"head_dim", stateHeadSize},
                       {"state_size", size("ssm.state_size")}};
  return {"mamba2",
          "mamba2",
          "backbone.layers.",
          listBackbone(),
          Names{{"attn_norm", "norm"}} + listTensors("mixer"),
          listBackboneKeys() + config};
}

GgufArchitecture gguf::describeNemotronH() {
  return describeNemotron("nemotron_h", '-',
                          {{"ffn_up", "mixer.up_proj"}, {"ffn_down", "mixer.down_proj"}}, {});
}

GgufArchitecture gguf::describeNemotronHMoe() {
  return describeNemotron(
      "nemotron_h_moe", 'E',
      {{"ffn_gate_inp", "mixer.gate"},
       {"exp_probs_b", "mixer.gate.e_score_correction_bias", GgufChange::Ending},
       {"ffn_up_exps", "mixer.experts.up_proj"},
       {"ffn_down_exps", "mixer.experts.down_proj"},
       {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
       {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
       {"ffn_latent_down", "mixer.fc1_latent_proj"},
       {"ffn_latent_up", "mixer.fc2_latent_proj"},
       // Of layers that predict further tokens, which are left out.
       {"nextn.eh_proj", "eh_proj"},
       {"nextn.enorm", "enorm"},
       {"nextn.hnorm", "hnorm"},
       {"nextn.shared_head_norm", "shared_head.norm"},
       {"post_attention_norm", "post_attention_layernorm"}},
      {{"n_routed_experts", size("expert_count")},
       {"n_shared_experts", count("expert_shared_count", 1)},
       {"num_experts_per_tok", size("expert_used_count")},
       {"moe_intermediate_size", size("expert_feed_forward_length")},
       {"moe_shared_expert_intermediate_size", size("expert_shared_feed_forward_length")},
       {"n_group", size("expert_group_count", 1)},
       {"topk_group", size("expert_group_used_count", 1)},
       {"norm_topk_prob", flag("expert_weights_norm", true)},
       {"routed_scaling_factor", expertScale},
       {"moe_latent_size",
        [](GgufKeys &keys) {
          return keys.find("moe_latent_size") ? Json(keys.size("moe_latent_size")) : Json();
        }},
       {"stacked_experts", isTrue}});
}

} // namespace sinter
