// What is wrong with a config.json is said in one line that names the key.

#include "frontends/Spec/ModelSpec.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sinter;

namespace {

std::string messageOf(std::string_view text) {
  Expected<ModelSpec> spec = parseModelSpec(text, "config.json");
  return spec ? "" : spec.error().message();
}

/// A valid llama config, with the keys of `changes` replaced; keys set to "<remove>" are removed.
std::string changed(const char *changes) {
  auto config = nlohmann::json::parse(R"({"model_type": "llama", "vocab_size": 50,
      "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
      "num_attention_heads": 4})");
  auto patch = nlohmann::json::parse(changes);
  for (auto entry = patch.begin(); entry != patch.end(); ++entry)
    if (entry.value() == "<remove>")
      config.erase(entry.key());
    else
      config[entry.key()] = entry.value();
  return config.dump();
}

struct BadConfig {
  const char *changes, *message;
};

void PrintTo(const BadConfig &bad, std::ostream *out) { *out << bad.message; }

class ConfigError : public testing::TestWithParam<BadConfig> {};

TEST_P(ConfigError, NamesTheKey) {
  std::string message = messageOf(changed(GetParam().changes));
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ConfigError,
    testing::Values(
        BadConfig{R"({"vocab_size": "<remove>"})", "'vocab_size': it is missing"},
        BadConfig{R"({"vocab_size": null})", "'vocab_size': it is missing"},
        BadConfig{R"({"vocab_size": "50"})", "'vocab_size': it is \"50\", expected a whole"},
        BadConfig{R"({"vocab_size": 50.5})", "'vocab_size': it is 50.5"},
        BadConfig{R"({"vocab_size": 0})", "'vocab_size': it is 0"},
        BadConfig{R"({"hidden_size": -32})", "'hidden_size': it is -32"},
        BadConfig{R"({"hidden_size": 18446744073709551615})", "'hidden_size': it is"},
        BadConfig{R"({"hidden_size": 1e300})", "'hidden_size': it is 1e+300"},
        BadConfig{R"({"num_hidden_layers": 0})", "'num_hidden_layers': it is 0"},
        BadConfig{R"({"num_hidden_layers": 1000000})", "'num_hidden_layers': 1000000 layers"},
        BadConfig{R"({"num_attention_heads": 5})", "5 heads do not divide the hidden size of 32"},
        BadConfig{R"({"num_key_value_heads": 3})", "3 does not divide the 4 attention heads"},
        BadConfig{R"({"num_key_value_heads": 8})", "8 does not divide the 4 attention heads"},
        BadConfig{R"({"head_dim": 7})", "'head_dim': 8 of 7 components"},
        BadConfig{R"({"vocab_size": 2000000000, "hidden_size": 2000000000})",
                  "thousand million parameters"},
        BadConfig{R"({"intermediate_size": 2147483647, "hidden_size": 2147483640,
                      "num_hidden_layers": 10000})",
                  "thousand million parameters"}));

INSTANTIATE_TEST_SUITE_P(
    Keys, ConfigError,
    testing::Values(
        BadConfig{R"({"model_type": "<remove>"})", "'model_type': it is missing"},
        BadConfig{R"({"model_type": 3})", "'model_type': it is missing or no string"},
        BadConfig{R"({"model_type": "mamba"})", "family 'mamba' is not known; use one of apertus"},
        BadConfig{R"({"attention_sinks": 4})", "'attention_sinks': it is not known"},
        BadConfig{R"({"num_experts": 8})", "'num_experts': it is not known"},
        BadConfig{R"({"sliding_window": 8})", "'sliding_window': it is not known"},
        BadConfig{R"({"hidden_act": "quick_gelu"})", "'quick_gelu' is not supported"},
        BadConfig{R"({"hidden_act": 1})", "'hidden_act': it is 1, expected a string"},
        BadConfig{R"({"rms_norm_eps": "small"})", "'rms_norm_eps': it is \"small\""},
        BadConfig{R"({"rms_norm_eps": 0})", "'rms_norm_eps': it is 0"},
        BadConfig{R"({"attention_bias": 1})", "'attention_bias': it is 1, expected true or false"},
        BadConfig{R"({"eos_token_id": "two"})", "'eos_token_id'"},
        BadConfig{R"({"eos_token_id": [2, -7]})", "'eos_token_id'"},
        BadConfig{R"({"is_encoder_decoder": true})", "'is_encoder_decoder': only false"},
        BadConfig{R"({"pruned_heads": {"0": [1]}})", "'pruned_heads'"}));

INSTANTIATE_TEST_SUITE_P(
    Rope, ConfigError,
    testing::Values(
        BadConfig{R"({"rope_theta": 0})", "'rope_theta': it is 0"},
        BadConfig{R"({"rope_scaling": 2})", "'rope_scaling': it is not an object"},
        BadConfig{R"({"rope_scaling": {"type": "magic"}})", "\"magic\", which is not supported"},
        BadConfig{R"({"rope_scaling": {"type": "linear"}})",
                  "key 'rope_scaling': its 'factor' is missing"},
        BadConfig{R"({"rope_parameters": {"rope_type": "linear"}})",
                  "key 'rope_parameters': its 'factor' is missing"},
        BadConfig{R"({"rope_scaling": {"type": "linear", "factor": -1}})",
                  "key 'factor': it is -1"},
        BadConfig{R"({"rope_scaling": {"rope_type": "default", "factor": 2}})",
                  "key 'factor': it is not known"},
        BadConfig{R"({"rope_scaling": {"rope_type": "yarn", "factor": 2, "mrope_section": [1]}})",
                  "key 'mrope_section': it is not known"},
        BadConfig{R"({"rope_scaling": {"rope_type": "yarn", "rope_theta": 1}})",
                  "rope_theta above 1"},
        BadConfig{R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4}})",
                  "high_freq_factor is not above"},
        BadConfig{R"({"rope_scaling": {"rope_type": "longrope", "short_factor": [1]}})",
                  "short_factor has 1 entries for 4"},
        BadConfig{R"({"rope_scaling": {"rope_type": "longrope", "short_factor": ["a"]}})",
                  "short_factor"},
        BadConfig{R"({"head_dim": 2, "rope_scaling": {"rope_type": "dynamic", "factor": 2}})",
                  "4 rotated components"},
        BadConfig{R"({"model_type": "gpt_neox", "rope_theta": 777})",
                  "'rope_theta': models of this type have rotary_emb_base"},
        BadConfig{R"({"model_type": "gpt_neox", "partial_rotary_factor": 0.5})",
                  "'partial_rotary_factor': models of this type have rotary_pct"},
        BadConfig{R"({"partial_rotary_factor": 0.5})", "'partial_rotary_factor': models of this"}));

INSTANTIATE_TEST_SUITE_P(
    Own, ConfigError,
    testing::Values(
        BadConfig{R"({"model_type": "qwen3_5_text", "layer_types": ["full_attention"]})",
                  "'layer_types': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "qwen3_5_text",
                      "layer_types": ["full_attention", "sliding_attention"]})",
                  "'sliding_attention' is not supported; use 'linear_attention'"},
        BadConfig{R"({"model_type": "qwen3_5_text", "linear_num_value_heads": 24})",
                  "'linear_num_value_heads': the 16 key heads do not divide its 24"},
        BadConfig{R"({"model_type": "qwen3_5_text", "attn_output_gate": false})",
                  "'attn_output_gate': only true"},
        BadConfig{R"({"model_type": "qwen3_5_text", "mlp_only_layers": [1]})",
                  "'mlp_only_layers': models of this type have no experts"},
        BadConfig{R"({"model_type": "qwen3_5_moe_text", "mlp_only_layers": [1]})",
                  "'mlp_only_layers': it is not known"},
        BadConfig{R"({"model_type": "sinter", "linear_num_key_heads": 2})",
                  "'linear_num_key_heads': it is not known"},
        BadConfig{R"({"model_type": "sinter", "share_layers": 2,
                      "layer_types": ["linear_attention", "full_attention"]})",
                  "'share_layers': layers 0 and 1 are of different types"},
        BadConfig{R"({"model_type": "sinter", "num_kv_shared_layers": 1,
                      "layer_types": ["linear_attention", "full_attention"]})",
                  "'num_kv_shared_layers': layers with linear attention or a convolution have"},
        BadConfig{R"({"model_type": "sinter", "kv_lora_rank": 8,
                      "layer_types": ["linear_attention", "full_attention"]})",
                  "'linear_attention' is not supported beside latent attention"},
        BadConfig{R"({"model_type": "sinter", "hidden_activation": "gelu"})",
                  "'hidden_activation': it is not known"},
        BadConfig{R"({"model_type": "sinter", "mlp_type": "moe"})", "'mlp_type': it is \"moe\""},
        BadConfig{R"({"model_type": "sinter", "norm_placement": "pre_post",
                      "use_parallel_residual": true})",
                  "needs norm_placement 'pre'"},
        BadConfig{R"({"model_type": "sinter", "parallel_residual_shared_norm": true})",
                  "needs use_parallel_residual"},
        BadConfig{R"({"model_type": "sinter", "share_layers": 0})", "'share_layers': it is 0"},
        BadConfig{R"({"model_type": "sinter", "share_layers": [0]})", "1 entries for 2 layers"},
        BadConfig{R"({"model_type": "sinter", "share_layers": [0, 2]})",
                  "'share_layers': its entry 1"},
        BadConfig{R"({"model_type": "sinter", "layer_types": ["full_attention"]})",
                  "1 entries for 2 layers"},
        BadConfig{R"({"model_type": "sinter",
                      "layer_types": ["full_attention", "chunked_attention"]})",
                  "'chunked_attention' is not supported"},
        BadConfig{R"({"model_type": "sinter",
                      "layer_types": ["full_attention", "sliding_attention"]})",
                  "'sliding_window': layer 1 needs it"},
        BadConfig{R"({"model_type": "sinter", "rope_theta": 100,
                      "position_embedding_type": "alibi"})",
                  "'rope_theta': it is not known"},
        BadConfig{R"({"model_type": "sinter", "no_rope_layers": [1]})",
                  "'no_rope_layers': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "sinter", "use_qk_norm": true, "qk_norm_over": "row"})",
                  "'qk_norm_over': it is \"row\""},
        BadConfig{R"({"model_type": "sinter", "residual_multiplier": -1})",
                  "'residual_multiplier': it is -1"},
        BadConfig{R"({"model_type": "sinter", "partial_rotary_factor": 3})",
                  "'partial_rotary_factor': 16 of 8"},
        BadConfig{R"({"model_type": "phi3", "rope_scaling": {"type": "linear", "factor": 2}})",
                  "rope_type default or longrope"},
        BadConfig{R"({"model_type": "gemma3_text", "rope_parameters": {"rope_type": "default"}})",
                  "key 'rope_parameters': rope_parameters: key 'rope_type': it is not known"},
        BadConfig{R"({"model_type": "gemma3_text", "attn_logit_softcapping": 50.0})",
                  "key 'attn_logit_softcapping': Gemma 3 caps no scores"},
        BadConfig{R"({"model_type": "gemma3_text", "head_dim": 8,
                      "rope_parameters": {"full_attention": 3}})",
                  "'full_attention': it is not an object"},
        BadConfig{R"({"model_type": "gemma3_text", "use_bidirectional_attention": true})",
                  "'use_bidirectional_attention': only false"},
        BadConfig{R"({"model_type": "granite", "residual_multiplier": 0})",
                  "'residual_multiplier': it is 0"},
        BadConfig{R"({"model_type": "mixtral", "num_key_value_heads": 4,
                      "num_local_experts": 2, "num_experts_per_tok": 3})",
                  "'num_experts_per_tok': 3 of 2 experts cannot be chosen"},
        BadConfig{R"({"model_type": "mixtral", "num_key_value_heads": 4, "num_local_experts": 0})",
                  "'num_local_experts': it is 0"},
        BadConfig{R"({"model_type": "mixtral", "num_key_value_heads": 4,
                      "num_local_experts": 60000})",
                  "'num_local_experts': 60000 experts in each of 2 layers are more than 100000"},
        BadConfig{R"({"model_type": "mixtral", "num_key_value_heads": 4,
                      "router_jitter_noise": 0.1})",
                  "'router_jitter_noise': noise before the router is not supported"},
        BadConfig{R"({"model_type": "qwen3_moe", "num_key_value_heads": 4, "num_experts": 8,
                      "num_local_experts": 9})",
                  "'num_local_experts': it is not what num_experts is"},
        BadConfig{R"({"model_type": "qwen2_moe", "num_key_value_heads": 4,
                      "mlp_only_layers": [2]})",
                  "'mlp_only_layers': its entries are not layers from 0 to 1"},
        BadConfig{R"({"model_type": "qwen2_moe", "num_key_value_heads": 4,
                      "decoder_sparse_step": 0})",
                  "'decoder_sparse_step': it is 0"},
        BadConfig{R"({"model_type": "olmoe", "clip_qkv": 0})", "'clip_qkv': it is 0"},
        BadConfig{R"({"model_type": "sinter", "norm_weights": false, "norm_unit_offset": true})",
                  "'norm_unit_offset': norms have no weights"},
        BadConfig{R"({"model_type": "exaone4", "num_key_value_heads": 4,
                      "sliding_window_pattern": "LGLG"})",
                  "'sliding_window_pattern': 'LGLG' is no run of L that ends in G"},
        BadConfig{R"({"model_type": "deepseek_v3", "n_routed_experts": 12, "n_group": 5})",
                  "'n_group': 5 does not divide the 12 experts"},
        BadConfig{R"({"model_type": "deepseek_v3", "n_routed_experts": 16, "n_group": 8,
                      "topk_group": 3})",
                  "'topk_group': 3 of 8 groups do not hold the 8 experts of a token"},
        BadConfig{R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": [1, 2]})",
                  "'moe_topk': layers that differ in it are not supported"},
        BadConfig{R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": [0, 0]})",
                  "'moe_topk': it is 0, expected a whole number from 1"},
        BadConfig{R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": []})",
                  "'moe_topk': layers that differ in it are not supported"},
        BadConfig{R"({"model_type": "hunyuan_v1_dense", "use_cla": true})",
                  "'use_cla': only false is supported"},
        BadConfig{
            R"({"model_type": "minimax_m2", "num_key_value_heads": 4, "attn_type_list": [0, 0]})",
            "'attn_type_list': it is 0, expected a whole number from 1"},
        BadConfig{
            R"({"model_type": "minimax_m2", "num_key_value_heads": 4, "attn_type_list": [1, 2]})",
            "'attn_type_list': layers that differ in it are not supported"},
        BadConfig{R"({"model_type": "granitemoeshared", "shared_intermediate_size": -1})",
                  "'shared_intermediate_size': it is -1, expected a whole number from 0"},
        BadConfig{R"({"model_type": "ernie4_5_moe", "moe_use_aux_free": false})",
                  "'moe_use_aux_free': only true is supported"},
        BadConfig{R"({"model_type": "ernie4_5_moe", "use_bias": true})",
                  "'use_bias': biases of models with experts are not supported"},
        BadConfig{R"({"model_type": "ernie4_5_moe", "moe_norm_min": 0.5})",
                  "'moe_norm_min': more than 1e-9 is not supported"},
        BadConfig{R"({"model_type": "ernie4_5_moe", "moe_num_shared_experts": 1001})",
                  "'moe_num_shared_experts': it is no number of experts up to 1000"},
        BadConfig{R"({"model_type": "ernie4_5_moe", "moe_layer_start_index": 0.5})",
                  "'moe_layer_start_index': it is 0.5, expected a whole number from 0"},
        BadConfig{R"({"model_type": "exaone_moe", "num_key_value_heads": 4, "sliding_window": 8,
                      "mlp_layer_types": ["dense"]})",
                  "'mlp_layer_types': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "exaone_moe", "num_key_value_heads": 4, "sliding_window": 8,
                      "mlp_layer_types": ["dense", "thick"]})",
                  "'mlp_layer_types': 'thick' is not supported; use 'dense' or 'sparse'"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4, "num_kv_shared_layers":
                      2})",
                  "'num_kv_shared_layers': no layer of the type of layer 0 has keys and values"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4, "layer_types":
                      ["sliding_attention", "full_attention"], "num_kv_shared_layers": 1})",
                  "'num_kv_shared_layers': no layer of the type of layer 1 has keys and values"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "vocab_size_per_layer_input": 49})",
                  "'vocab_size_per_layer_input': it is less than the vocabulary of 50"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "attention_k_eq_v": true, "num_global_key_value_heads": 3})",
                  "'num_global_key_value_heads': 3 heads of keys do not divide the 4 attention"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4, "layer_types":
                      ["full_attention", "full_attention"], "per_layer_config":
                      {"0": {"head_dim": 8}, "1": {"head_dim": 16}}})",
                  "'per_layer_config': layers of one type have heads of several sizes"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "per_layer_config": {"2": {"head_dim": 8}}})",
                  "'per_layer_config': '2' is no layer with an object"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "per_layer_config": {"1": {"hidden_act": "relu"}}})",
                  "'hidden_act': it is not known"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "use_bidirectional_attention": "all"})",
                  "'use_bidirectional_attention': only attention to what is before is supported"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "rope_parameters": {"sliding_attention": {"rope_theta": 10000.0}}})",
                  "'rope_parameters': its 'full_attention' is missing"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4, "rope_parameters": {
                      "sliding_attention": {}, "full_attention":
                      {"rope_type": "proportional", "partial_rotary_factor": 1.5}}})",
                  "its 'partial_rotary_factor' is above 1"},
        BadConfig{R"({"model_type": "gemma4_text", "num_key_value_heads": 4,
                      "enable_moe_block": true, "num_experts": 4})",
                  "'top_k_experts': it is missing"},
        BadConfig{R"({"model_type": "gemma4_unified_text", "num_key_value_heads": 4,
                      "enable_moe_block": true})",
                  "'enable_moe_block': it is not known"},
        BadConfig{R"({"model_type": "sinter", "global_head_dim": 16})",
                  "'global_head_dim': heads of two sizes need rope_parameters by layer type"},
        BadConfig{R"({"model_type": "sinter", "num_global_key_value_heads": 2, "share_layers": 2,
                      "sliding_window": 4, "layer_types": ["sliding_attention",
                      "full_attention"]})",
                  "'share_layers': layers 0 and 1 are of different sizes"},
        BadConfig{R"({"model_type": "sinter", "kv_lora_rank": 8, "num_kv_shared_layers": 1})",
                  "'num_kv_shared_layers': it is not known"},
        BadConfig{R"({"model_type": "gemma3"})", "key 'text_config': it is missing or no object"},
        BadConfig{R"({"model_type": "llava", "text_config": []})",
                  "it describes the decoder of a 'llava'"},
        BadConfig{R"({"model_type": "mistral3", "text_config": {"hidden_size": "wide"}})",
                  "'hidden_size': it is \"wide\", expected a whole"},
        BadConfig{R"({"model_type": "phi", "rope_parameters": {"rope_type": "yarn", "factor": 2.0,
                      "partial_rotary_factor": 0.5, "llama_4_scaling_beta": 0.1}})",
                  "its 'llama_4_scaling_beta' needs heads that are rotated whole"},
        BadConfig{R"({"model_type": "deepseek_v3", "scoring_func": "softmax"})",
                  "'scoring_func': it is \"softmax\", which is not supported"},
        BadConfig{R"({"model_type": "deepseek_v2", "num_key_value_heads": 2})",
                  "'num_key_value_heads': it is not num_attention_heads"},
        BadConfig{R"({"model_type": "deepseek_v2", "qk_rope_head_dim": 7})",
                  "'qk_rope_head_dim': it is odd"},
        BadConfig{R"({"model_type": "deepseek_v2", "norm_topk_prob": true})",
                  "'norm_topk_prob': only false"},
        BadConfig{R"({"model_type": "deepseek_v2", "moe_layer_freq": 2})",
                  "'moe_layer_freq': layers without experts between others"},
        BadConfig{R"({"model_type": "sinter", "kv_lora_rank": 8, "use_qk_norm": true})",
                  "'use_qk_norm': only false"},
        BadConfig{R"({"model_type": "sinter", "num_experts": 4, "mlp_type": "gelu"})",
                  "'mlp_type': experts have a gate"},
        BadConfig{R"({"model_type": "sinter", "num_experts": 4, "shared_expert_gate": true})",
                  "'shared_expert_gate': it needs shared_expert_intermediate_size"},
        BadConfig{R"({"model_type": "sinter", "partial_rotary_factor": 0.5, "query_growth": 0.1})",
                  "'query_growth': it needs heads that are rotated whole"},
        BadConfig{R"({"model_type": "llama4_text", "num_key_value_heads": 4,
                      "no_rope_layers": [1]})",
                  "'no_rope_layers': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "llama4_text", "num_key_value_heads": 4, "moe_layers": [2]})",
                  "'moe_layers': its entries are not layers from 0 to 1"},
        BadConfig{R"({"model_type": "llama4_text", "num_key_value_heads": 4, "layer_types":
                      ["full_attention", "chunked_attention"]})",
                  "'layer_types': layer 0 is not as no_rope_layers has it"},
        BadConfig{R"({"model_type": "sinter", "num_experts_per_tok": 2})",
                  "'num_experts_per_tok': it is not known"},
        BadConfig{R"({"model_type": "smollm3", "num_key_value_heads": 4,
                      "no_rope_layers": [1, 0, 1]})",
                  "'no_rope_layers': it has 3 entries for 2 layers"},
        BadConfig{R"({"model_type": "stablelm", "num_key_value_heads": 4, "qk_layernorm": 1})",
                  "'qk_layernorm': it is 1, expected true or false"},
        BadConfig{R"({"model_type": "cohere2", "use_qk_norm": true})", "'use_qk_norm': only false"},
        BadConfig{R"({"model_type": "internlm3", "num_key_value_heads": 4, "qkv_bias": true})",
                  "'qkv_bias': models of this type have biases in all products or in none"},
        BadConfig{R"({"model_type": "apertus", "hidden_act": "mish"})",
                  "'hidden_act': activation 'mish' is not supported"},
        BadConfig{R"({"model_type": "apertus", "qk_norm": false})", "'qk_norm': only true"},
        BadConfig{R"({"model_type": "apertus", "post_norm": true})", "'post_norm': only false"},
        BadConfig{R"({"model_type": "lfm2", "num_key_value_heads": 4,
                      "layer_types": ["conv", "linear_attention"]})",
                  "'layer_types': 'linear_attention' is not supported; use 'conv' or"},
        BadConfig{R"({"model_type": "lfm2", "num_key_value_heads": 4, "layer_types": ["conv"]})",
                  "'layer_types': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "lfm2", "num_key_value_heads": 4, "conv_L_cache": 0})",
                  "'conv_L_cache': it is 0"},
        BadConfig{R"({"model_type": "bamba", "num_key_value_heads": 4, "mamba_n_heads": 5})",
                  "'mamba_n_heads': 5 heads do not divide the 64 values"},
        BadConfig{R"({"model_type": "bamba", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "mamba_n_groups": 3})",
                  "'mamba_n_groups': 3 groups do not divide the 4 heads of mamba_n_heads"},
        BadConfig{R"({"model_type": "bamba", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "mamba_d_head": "large"})",
                  "'mamba_d_head': it is neither a whole number nor 'auto'"},
        BadConfig{R"({"model_type": "bamba", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "time_step_limit": ["Infinity", 1]})",
                  "'time_step_limit': it is not two numbers, the smaller one first"},
        BadConfig{R"({"model_type": "granitemoehybrid", "num_key_value_heads": 4,
                      "num_local_experts": 0, "layer_types": ["mamba", "rwkv"]})",
                  "'layer_types': 'rwkv' is not supported; use 'linear_attention' or"},
        BadConfig{R"({"model_type": "granitemoehybrid", "num_key_value_heads": 4,
                      "num_local_experts": 0, "layer_types": ["mamba"]})",
                  "'layer_types': it has 1 entries for 2 layers"},
        BadConfig{R"({"model_type": "falcon_h1", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "mamba_d_ssm": 24, "mamba_d_head": 5})",
                  "'mamba_d_head': 4 heads of 5 are not the 24 values"},
        BadConfig{R"({"model_type": "falcon_h1", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "ssm_multipliers": [1, 2]})",
                  "'ssm_multipliers': it has 2 entries, not 5"},
        BadConfig{R"({"model_type": "falcon_h1", "num_key_value_heads": 4, "mamba_n_heads": 4,
                      "attention_bias": true})",
                  "'attention_bias': biases beside factors of products are not supported"},
        BadConfig{R"({"model_type": "mamba2", "num_heads": 8, "head_dim": 4})",
                  "'num_heads': its heads have 32 values, and hidden_size times expand is 64"},
        BadConfig{R"({"model_type": "nemotron_h", "hybrid_override_pattern": "Mx"})",
                  "'layers_block_type': block 'x' is not supported"},
        BadConfig{R"({"model_type": "nemotron_h", "hybrid_override_pattern": "-M"})",
                  "'layers_block_type': a block 'mlp' that no attention or state space is before"},
        BadConfig{R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*-"})",
                  "'num_hidden_layers': it is 2, and there are 3 blocks"},
        BadConfig{R"({"model_type": "nemotron_h", "num_key_value_heads": 4,
                      "layers_block_type": ["mamba", "moe"], "moe_latent_size": 0})",
                  "'moe_latent_size'"},
        BadConfig{R"({"model_type": "solar_open", "num_key_value_heads": 4, "use_qk_norm": true})",
                  "'use_qk_norm': only false"},
        BadConfig{R"({"model_type": "sinter", "mlp_type": "xielu",
                      "layer_types": ["linear_attention", "full_attention"]})",
                  "'mlp_type': xielu is not supported in linear attention"},
        BadConfig{R"({"model_type": "sinter", "kv_lora_rank": 8, "qk_nope_head_dim": 8,
                      "qk_rope_head_dim": 8, "v_head_dim": 8,
                      "layer_types": ["convolution", "full_attention"]})",
                  "'convolution' is not supported beside latent attention"},
        BadConfig{R"({"model_type": "gptj", "n_embd": 32, "n_head": 4, "n_layer": 2,
                      "rotary_dim": 64})",
                  "'rotary_dim': 64 of 8 components"},
        BadConfig{R"({"model_type": "gptj", "n_embd": 32, "n_head": 4, "n_layer": 2,
                      "rotary_dim": 4, "rotary": false})",
                  "'rotary': only true"},
        BadConfig{R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 4,
                      "attention_types": [[["global"], 1]]})",
                  "'attention_types': it does not say 'global' or 'local' of 2 layers"},
        BadConfig{R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 4,
                      "attention_types": [[["global", "sparse"], 1]]})",
                  "'attention_types': it does not say 'global' or 'local' of 2 layers"},
        BadConfig{R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 4,
                      "attention_types": [[[], 9000000000000000000]]})",
                  "'attention_types': it does not say 'global' or 'local' of 2 layers"},
        BadConfig{R"({"model_type": "gpt_neo", "num_layers": 2, "num_heads": 4,
                      "attention_types": [["global", 2]]})",
                  "'attention_types': it is no list of [[TYPE, ...], TIMES]"},
        BadConfig{R"({"model_type": "opt", "ffn_dim": 48, "word_embed_proj_dim": 0})",
                  "'word_embed_proj_dim': it is 0"}));

TEST(ConfigErrors, TextThatIsNoObject) {
  EXPECT_NE(messageOf("").find("it is empty"), std::string::npos);
  EXPECT_NE(messageOf("[]").find("not a JSON object"), std::string::npos);
  std::string text = changed("{}");
  for (size_t size = 1; size < text.size(); ++size)
    EXPECT_NE(messageOf(text.substr(0, size)), "") << size;
}

TEST(ConfigErrors, PathsThatCannotBe) {
  Expected<ModelSpec> spec = loadModelSpec("/nowhere/model");
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message().find("/nowhere/model: no such file"), std::string::npos);
  std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "sinter-no-config";
  std::filesystem::create_directories(directory);
  spec = loadModelSpec(directory);
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message().find("config.json: no such file"), std::string::npos);
  std::filesystem::remove_all(directory);
}

TEST(ConfigErrors, GenerationConfigMayHoldMoreButMustBeSound) {
  std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "sinter-generation";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json") << changed("{}");
  std::ofstream(directory / "generation_config.json")
      << R"({"eos_token_id": [7, 8], "temperature": 0.6, "min_length": 0, "repetition_penalty": 1.5,
             "num_beams": 4})";
  Expected<ModelSpec> spec = loadModelSpec(directory);
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->eosIds, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(spec->unusedSampling, "repetition_penalty, num_beams");
  std::ofstream(directory / "generation_config.json") << R"({"eos_token_id": 7.5})";
  spec = loadModelSpec(directory);
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message().find("generation_config.json: key 'eos_token_id'"),
            std::string::npos);
  std::filesystem::remove_all(directory);
}

} // namespace
