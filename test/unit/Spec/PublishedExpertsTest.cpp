// Configs of published models with experts.

#include "test/unit/Spec/PublishedConfigs.h"

using namespace sinter::test;

namespace {

class PublishedExperts : public testing::TestWithParam<Published> {};

TEST_P(PublishedExperts, HasItsParameters) { expectParameters(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Models, PublishedExperts,
    testing::Values(
        Published{"mixtral_8x7b", 46'702'792'704, R"({
          "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
          "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
          "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
          "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
          "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": false,
          "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02,
          "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
          "transformers_version": "4.36.0.dev0", "use_cache": true, "vocab_size": 32000})"},
        Published{"qwen1_5_moe_a2_7b", 14'315'784'192, R"({
          "architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0, "bos_token_id":
          151643, "decoder_sparse_step": 1, "eos_token_id": 151643, "hidden_act": "silu",
          "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 5632,
          "max_position_embeddings": 8192, "max_window_layers": 21, "model_type": "qwen2_moe",
          "moe_intermediate_size": 1408, "norm_topk_prob": false, "num_attention_heads": 16,
          "num_experts": 60, "num_experts_per_tok": 4, "num_hidden_layers": 24,
          "num_key_value_heads": 16, "output_router_logits": false, "rms_norm_eps": 1e-06,
          "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001,
          "shared_expert_intermediate_size": 5632, "sliding_window": 32768,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version":
          "4.39.0.dev0", "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})"},
        Published{"qwen3_30b_a3b", 30'532'122'624, R"({
          "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151645,
          "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
          "intermediate_size": 6144, "max_position_embeddings": 40960, "max_window_layers": 48,
          "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
          "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128,
          "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
          "output_router_logits": false, "rms_norm_eps": 1e-06, "rope_scaling": null,
          "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001, "sliding_window": null,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version":
          "4.51.0", "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})"},
        Published{"olmoe_1b_7b", 6'919'161'856, R"({
          "architectures": ["OlmoeForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "clip_qkv": null, "eos_token_id": 50279, "hidden_act": "silu", "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 1024, "max_position_embeddings": 4096,
          "model_type": "olmoe", "norm_topk_prob": false, "num_attention_heads": 16,
          "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 16,
          "num_key_value_heads": 16, "output_router_logits": false, "pad_token_id": 1,
          "rope_scaling": null, "rope_theta": 10000.0, "router_aux_loss_coef": 0.01,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version":
          "4.43.0.dev0", "use_cache": true, "vocab_size": 50304})"},
        Published{"hunyuan_a13b", 80'393'183'232, R"({
          "add_classification_head": false, "architectures": ["HunYuanMoEV1ForCausalLM"],
          "attention_bias": false, "attention_dropout": 0.1, "attention_head_dim": 128,
          "bos_token_id": 127958, "cla_share_factor": 2, "class_num": 0, "dense_list": [4096, 0],
          "eod_token_id": 127967, "eos_token_id": 127960, "group_limited_greedy": false,
          "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "im_end_id": 6,
          "im_newline_id": 12, "im_start_id": 5, "initializer_range": 0.02, "intermediate_size":
          3072, "kv_lora_rank": null, "mask_init_id": 13, "max_position_embeddings": 32768,
          "mlp_bias": false, "model_type": "hunyuan_v1_moe", "moe_drop_tokens": false,
          "moe_intermediate_size": [3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072,
          3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072,
          3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072], "moe_layer_num_skipped": 0,
          "moe_random_routing_dropped_token": false, "moe_topk": [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
          8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8], "n_group": null,
          "norm_topk_prob": true, "norm_type": "rms", "num_attention_heads": 32, "num_experts":
          64, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_media_embeds": 257,
          "num_shared_expert": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
          1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "org_vocab_size": 128167, "pad_id": 127961,
          "pad_token_id": 127961, "pool_type": "last", "position_embedding_xdrope": false,
          "pretraining_tp": 1, "q_lora_rank": null, "qk_nope_head_dim": null, "qk_rope_head_dim":
          null, "rms_norm_eps": 1e-05, "rope_scaling": {"alpha": 1000.0, "beta_fast": 32,
          "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "type": "dynamic"},
          "rope_theta": 10000.0, "routed_scaling_factor": null, "sep_token_id": 127962,
          "skip_cls_token": false, "text_end_id": 8, "text_start_id": 7, "tie_word_embeddings":
          true, "topk_group": null, "transformers_version": "4.41.2", "use_cla": false,
          "use_mixed_mlp_moe": true, "use_mla": false, "use_qk_norm": true, "use_rotary_pos_emb":
          true, "v_head_dim": null, "video_end_id": 10, "video_start_id": 9, "vocab_size": 128167,
          "xdrope_section": null, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"deepseek_v2_lite", 15'706'484'224, R"({
          "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "auto_map": {"AutoConfig":
          "configuration_deepseek.DeepseekV2Config"}, "aux_loss_alpha": 0.001, "bos_token_id":
          100000, "eos_token_id": 100001, "first_k_dense_replace": 1, "hidden_act": "silu",
          "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 10944,
          "kv_lora_rank": 512, "max_position_embeddings": 163840, "model_type": "deepseek_v2",
          "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts":
          64, "n_shared_experts": 2, "norm_topk_prob": false, "num_attention_heads": 16,
          "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
          "pretraining_tp": 1, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim":
          64, "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor":
          40, "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096,
          "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 1.0, "scoring_func":
          "softmax", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 1,
          "topk_method": "greedy", "transformers_version": "4.33.1", "v_head_dim": 128,
          "vocab_size": 102400, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"deepseek_v3", 671'026'419'200, R"({
          "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "auto_map": {"AutoConfig":
          "configuration_deepseek.DeepseekV3Config"}, "bos_token_id": 0, "eos_token_id": 1,
          "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168,
          "initializer_range": 0.02, "intermediate_size": 18432, "kv_lora_rank": 512,
          "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size":
          2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
          "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
          "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
          "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
          "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method":
          "fp8", "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06, "rope_scaling":
          {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
          "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 10000,
          "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
          "topk_group": 4, "topk_method": "noaux_tc", "transformers_version": "4.33.1",
          "v_head_dim": 128, "vocab_size": 129280, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"kimi_k2", 1'026'408'232'448, R"({
          "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "auto_map": {"AutoConfig":
          "configuration_deepseek.DeepseekV3Config"}, "aux_loss_alpha": 0.001, "bos_token_id":
          163584, "eos_token_id": 163585, "ep_size": 1, "first_k_dense_replace": 1, "hidden_act":
          "silu", "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432,
          "kv_lora_rank": 512, "max_position_embeddings": 131072, "model_type": "kimi_k2",
          "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts":
          384, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
          "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64,
          "num_nextn_predict_layers": 0, "pretraining_tp": 1, "q_lora_rank": 1536,
          "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config":
          {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
          "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast":
          1.0, "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0,
          "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 50000.0,
          "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "seq_aux": true,
          "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc",
          "transformers_version": "4.48.3", "v_head_dim": 128, "vocab_size": 163840, "use_cache":
          true, "torch_dtype": "bfloat16"})"},
        Published{"glm_4_5_air", 106'852'251'264, R"({
          "architectures": ["Glm4MoeForCausalLM"], "attention_bias": true, "attention_dropout":
          0.0, "pad_token_id": 151329, "eos_token_id": [151329, 151336, 151338], "head_dim": 128,
          "hidden_act": "silu", "hidden_size": 4096, "partial_rotary_factor": 0.5,
          "initializer_range": 0.02, "intermediate_size": 10944, "max_position_embeddings":
          131072, "model_type": "glm4_moe", "moe_intermediate_size": 1408, "norm_topk_prob": true,
          "num_attention_heads": 96, "n_group": 1, "topk_group": 1, "n_routed_experts": 128,
          "n_shared_experts": 1, "routed_scaling_factor": 1.0, "num_experts_per_tok": 8,
          "first_k_dense_replace": 1, "num_hidden_layers": 46, "num_key_value_heads": 8,
          "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 1000000,
          "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "transformers_version":
          "4.54.0", "use_qk_norm": false, "vocab_size": 151552, "use_cache": true, "torch_dtype":
          "bfloat16"})"},
        Published{"dots_llm1", 142'774'381'696, R"({
          "architectures": ["Dots1ForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": null, "eos_token_id": 151645, "first_k_dense_replace": 1,
          "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
          "intermediate_size": 10944, "max_position_embeddings": 32768, "max_window_layers": 62,
          "model_type": "dots1", "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1,
          "n_routed_experts": 128, "n_shared_experts": 2, "norm_topk_prob": true,
          "num_attention_heads": 32, "num_experts_per_tok": 6, "num_hidden_layers": 62,
          "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling":
          null, "rope_theta": 10000000, "routed_scaling_factor": 2.5, "scoring_func": "noaux_tc",
          "sliding_window": null, "tie_word_embeddings": false, "topk_group": 1, "topk_method":
          "noaux_tc", "transformers_version": "4.46.3", "use_sliding_window": false, "vocab_size":
          152064, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"ernie_4_5_21b_a3b", 21'825'437'888, R"({
          "architectures": ["Ernie4_5_MoeForCausalLM"], "auto_map": {"AutoConfig":
          "configuration_ernie4_5_moe.Ernie4_5_MoeConfig"}, "bos_token_id": 1, "eos_token_id": 2,
          "hidden_act": "silu", "hidden_size": 2560, "intermediate_size": 12288,
          "max_position_embeddings": 131072, "model_type": "ernie4_5_moe", "moe_capacity": [64, 64,
          64], "moe_gate": "topk", "moe_intermediate_size": 1536, "moe_k": 6, "moe_layer_end_index":
          27, "moe_layer_interval": 1, "moe_layer_start_index": 1, "moe_num_experts": 64,
          "moe_num_shared_experts": 2, "moe_use_aux_free": true, "num_attention_heads": 20,
          "num_hidden_layers": 28, "num_key_value_heads": 4, "num_nextn_predict_layers": 1,
          "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000,
          "tie_word_embeddings": true, "use_bias": false, "use_cache": true, "vocab_size": 103424,
          "torch_dtype": "bfloat16"})"},
        Published{"ernie_4_5_300b_a47b", 299'484'163'264, R"({
          "architectures": ["Ernie4_5_MoeForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
          "hidden_act": "silu", "hidden_size": 8192, "intermediate_size": 28672,
          "max_position_embeddings": 131072, "model_type": "ernie4_5_moe", "moe_capacity": [64, 64,
          64], "moe_gate": "topk", "moe_intermediate_size": 3584, "moe_k": 8, "moe_layer_end_index":
          53, "moe_layer_interval": 1, "moe_layer_start_index": 3, "moe_num_experts": 64,
          "moe_num_shared_experts": 0, "moe_use_aux_free": true, "num_attention_heads": 64,
          "num_hidden_layers": 54, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
          "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000,
          "tie_word_embeddings": false, "use_bias": false, "use_cache": true, "vocab_size": 103424,
          "torch_dtype": "bfloat16"})"},
        Published{"minimax_m2", 228'689'764'864, R"({
          "architectures": ["MiniMaxM2ForCausalLM"], "attn_type_list": [1, 1, 1, 1, 1, 1, 1, 1, 1,
          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "auto_map":
          {"AutoConfig": "configuration_minimax_m2.MiniMaxM2Config"}, "bos_token_id": null,
          "eos_token_id": null, "head_dim": 128, "hidden_act": "silu", "hidden_size": 3072,
          "initializer_range": 0.02, "intermediate_size": 1536, "max_position_embeddings": 196608,
          "model_type": "minimax_m2", "mtp_transformer_layers": 1, "num_attention_heads": 48,
          "num_experts_per_tok": 8, "num_hidden_layers": 62, "num_key_value_heads": 8,
          "num_local_experts": 256, "num_mtp_modules": 3, "output_router_logits": false,
          "qk_norm_type": "per_layer", "quantization_config": {"activation_scheme": "dynamic",
          "fmt": "float8_e4m3fn", "quant_method": "fp8", "weight_block_size": [128, 128],
          "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]},
          "rms_norm_eps": 1e-06, "rope_theta": 5000000, "rotary_dim": 64, "router_aux_loss_coef":
          0.001, "router_jitter_noise": 0.0, "scoring_func": "sigmoid",
          "shared_intermediate_size": 0, "sliding_window": null, "tie_word_embeddings": false,
          "transformers_version": "4.57.1", "use_mtp": true, "use_qk_norm": true,
          "use_routing_bias": true, "vocab_size": 200064, "use_cache": true, "torch_dtype":
          "bfloat16"})"},
        Published{"granite_3_1_1b_a400m", 1'334'628'352, R"({
          "architectures": ["GraniteMoeForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "attention_multiplier": 0.015625, "bos_token_id": 0,
          "embedding_multiplier": 12.0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size":
          1024, "initializer_range": 0.02, "intermediate_size": 512, "logits_scaling": 6.0,
          "max_position_embeddings": 131072, "model_type": "granitemoe", "num_attention_heads":
          16, "num_experts_per_tok": 8, "num_hidden_layers": 24, "num_key_value_heads": 8,
          "num_local_experts": 32, "output_router_logits": false, "pad_token_id": 0,
          "residual_multiplier": 0.22, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta":
          1500000.0, "router_aux_loss_coef": 0.0, "tie_word_embeddings": true,
          "transformers_version": "4.47.0.dev0", "vocab_size": 49155, "use_cache": true,
          "torch_dtype": "bfloat16"})"},
        Published{"gpt_oss_20b", 20'914'757'184, R"({
          "architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout":
          0.0, "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act":
          "silu", "hidden_size": 2880, "initial_context_length": 4096, "initializer_range": 0.02,
          "intermediate_size": 2880, "layer_types": ["sliding_attention", "full_attention",
          "sliding_attention", "full_attention", "sliding_attention", "full_attention",
          "sliding_attention", "full_attention", "sliding_attention", "full_attention",
          "sliding_attention", "full_attention", "sliding_attention", "full_attention",
          "sliding_attention", "full_attention", "sliding_attention", "full_attention",
          "sliding_attention", "full_attention", "sliding_attention", "full_attention",
          "sliding_attention", "full_attention"], "max_position_embeddings": 131072, "model_type":
          "gpt_oss", "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24,
          "num_key_value_heads": 8, "num_local_experts": 32, "output_router_logits": false,
          "pad_token_id": 199999, "quantization_config": {"modules_to_not_convert":
          ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
          "lm_head"], "quant_method": "mxfp4"}, "rms_norm_eps": 1e-05, "rope_scaling":
          {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
          "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false},
          "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128,
          "swiglu_limit": 7.0, "tie_word_embeddings": false, "transformers_version":
          "4.55.0.dev0", "use_cache": true, "vocab_size": 201088})"},
        Published{"gemma_4_e2b", 4'628'569'379, gemma4 + R"(
          "attention_k_eq_v": false, "enable_moe_block": false,
          "hidden_size": 1536, "hidden_size_per_layer_input": 256, "intermediate_size": 6144,
          "layer_types": [
          "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
          "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
          "full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "sliding_attention", "full_attention"],
          "num_attention_heads": 8, "num_experts": null, "num_global_key_value_heads": null,
          "num_hidden_layers": 35, "num_key_value_heads": 1, "num_kv_shared_layers": 20,
          "sliding_window": 512, "top_k_experts": null, "use_bidirectional_attention": null,
          "use_double_wide_mlp": true}})"},
        Published{"gemma_4_26b_a4b", 25'233'141'790, gemma4 + R"(
          "attention_k_eq_v": true, "enable_moe_block": true,
          "hidden_size": 2816, "hidden_size_per_layer_input": null, "intermediate_size": 2112,
          "moe_intermediate_size": 704, "num_attention_heads": 16, "num_experts": 128,
          "num_global_key_value_heads": 2, "num_hidden_layers": 30, "num_key_value_heads": 8,
          "num_kv_shared_layers": 0, "sliding_window": 1024, "top_k_experts": 8,
          "use_bidirectional_attention": "vision", "use_double_wide_mlp": false}})"},
        Published{"glm_4_7_flash", 29'943'393'920, R"({
          "architectures": ["Glm4MoeLiteForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "eos_token_id": [154820, 154827, 154829], "first_k_dense_replace":
          1, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 10240,
          "kv_lora_rank": 512, "max_position_embeddings": 202752, "model_type": "glm4_moe_lite",
          "moe_intermediate_size": 1536, "n_group": 1, "n_routed_experts": 64, "n_shared_experts":
          1, "norm_topk_prob": true, "num_attention_heads": 20, "num_experts_per_tok": 4,
          "num_hidden_layers": 47, "num_key_value_heads": 20, "num_nextn_predict_layers": 1,
          "pad_token_id": 154820, "q_lora_rank": 768, "qk_nope_head_dim": 192,
          "qk_rope_head_dim": 64, "rms_norm_eps": 1e-05, "rope_theta": 1000000,
          "routed_scaling_factor": 1.8, "tie_word_embeddings": false, "topk_group": 1,
          "topk_method": "noaux_tc", "v_head_dim": 256, "vocab_size": 154880})"},
        Published{"granite_4_0_h_small", 32'207'337'984,
                  R"({"architectures": ["GraniteMoeHybridForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "attention_multiplier": 0.0078125, "bos_token_id": 100257,
          "embedding_multiplier": 12, "eos_token_id": 100257, "hidden_act": "silu", "hidden_size":
          4096, "init_method": "mup", "initializer_range": 0.1, "intermediate_size": 768,
          "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba",
          "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention",
          "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba",
          "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba",
          "mamba", "attention", "mamba", "mamba", "mamba", "mamba"], "logits_scaling": 16,
          "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": 64,
          "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 128,
          "mamba_proj_bias": false, "max_position_embeddings": 131072, "model_type":
          "granitemoehybrid", "normalization_function": "rmsnorm", "num_attention_heads": 32,
          "num_experts_per_tok": 10, "num_hidden_layers": 40, "num_key_value_heads": 8,
          "num_local_experts": 72, "output_router_logits": false, "pad_token_id": 100256,
          "position_embedding_type": "nope", "residual_multiplier": 0.22, "rms_norm_eps": 1e-05,
          "rope_scaling": null, "rope_theta": 10000, "router_aux_loss_coef": 0.0,
          "shared_intermediate_size": 1536, "tie_word_embeddings": true, "torch_dtype":
          "bfloat16", "transformers_version": "4.56.0", "use_cache": true, "vocab_size": 100352})"},
        Published{"nemotron_3_nano_30b", 31'577'940'288,
                  R"({"model_type": "nemotron_h", "vocab_size": 131072, "hidden_size": 2688,
          "intermediate_size": 1856, "num_hidden_layers": 52, "hybrid_override_pattern":
          "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "num_attention_heads": 32,
          "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 64, "mamba_head_dim": 64,
          "n_groups": 8, "ssm_state_size": 128, "n_routed_experts": 128, "num_experts_per_tok": 6,
          "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "n_group":
          1, "topk_group": 1, "routed_scaling_factor": 2.5, "max_position_embeddings": 262144,
          "tie_word_embeddings": false, "norm_topk_prob": true, "architectures":
          ["NemotronHForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "bos_token_id": 1, "chunk_size": 128, "conv_kernel": 4, "eos_token_id": 2, "expand": 2,
          "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
          "mamba_hidden_act": "silu", "mamba_proj_bias": false, "mamba_ssm_cache_dtype":
          "float32", "mlp_bias": false, "mlp_hidden_act": "relu2", "n_shared_experts": 1,
          "num_logits_to_keep": 1, "partial_rotary_factor": 1.0, "rescale_prenorm_residual": true,
          "residual_in_fp32": false, "rope_theta": 10000, "sliding_window": null,
          "time_step_floor": 0.0001, "time_step_limit": [0.0, Infinity], "time_step_max": 0.1,
          "time_step_min": 0.001, "use_bias": false, "use_conv_bias": true, "use_mamba_kernels":
          true})"},
        Published{"mamba2_130m", 128'989'632,
                  R"({"architectures": ["Mamba2ForCausalLM"], "bos_token_id": 0, "chunk_size": 256,
          "conv_kernel": 4, "eos_token_id": 0, "expand": 2, "head_dim": 64, "hidden_act": "silu",
          "hidden_size": 768, "initializer_range": 0.1, "layer_norm_epsilon": 1e-05, "model_type":
          "mamba2", "n_groups": 1, "num_heads": 24, "num_hidden_layers": 24, "pad_token_id": 0,
          "rescale_prenorm_residual": false, "residual_in_fp32": true, "state_size": 128,
          "tie_word_embeddings": true, "time_step_floor": 0.0001, "time_step_limit": [0.0,
          Infinity], "time_step_max": 0.1, "time_step_min": 0.001, "time_step_rank": 48,
          "use_bias": false, "use_cache": true, "use_conv_bias": true, "vocab_size": 50288})"},
        Published{"falcon_h1_0_5b", 521'411'104,
                  R"({"architectures": ["FalconH1ForCausalLM"], "model_type": "falcon_h1",
          "vocab_size": 32784, "hidden_size": 1024, "intermediate_size": 2048,
          "num_hidden_layers": 36, "num_attention_heads": 8, "num_key_value_heads": 2,
          "head_dim": 64, "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64,
          "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2,
          "mamba_chunk_size": 128, "mamba_rms_norm": false, "mamba_norm_before_gate": false,
          "rope_theta": 100000000000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
          "max_position_embeddings": 16384, "hidden_act": "silu", "embedding_multiplier":
          5.656854249492381, "lm_head_multiplier": 0.0390625, "key_multiplier": 0.39,
          "attention_in_multiplier": 1.0, "attention_out_multiplier": 0.9375,
          "ssm_in_multiplier": 1.25, "ssm_out_multiplier": 0.236, "mlp_multipliers": [0.88,
          0.59], "ssm_multipliers": [0.35, 0.25, 0.18, 0.5, 0.32], "projectors_bias": false,
          "mamba_proj_bias": false, "mamba_conv_bias": true, "attention_bias": false,
          "mlp_bias": false, "bos_token_id": 1, "eos_token_id": 11, "pad_token_id": 0})"},
        Published{"qwen3_next_80b", 79'674'391'296, R"({
          "architectures": ["Qwen3NextForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1,
          "eos_token_id": 151645, "full_attention_interval": 4, "head_dim": 256,
          "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
          "intermediate_size": 5120, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
          "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
          "max_position_embeddings": 262144, "mlp_only_layers": [], "model_type": "qwen3_next",
          "moe_intermediate_size": 512, "norm_topk_prob": true, "num_attention_heads": 16,
          "num_experts": 512, "num_experts_per_tok": 10, "num_hidden_layers": 48,
          "num_key_value_heads": 2, "output_router_logits": false, "partial_rotary_factor": 0.25,
          "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 10000000,
          "router_aux_loss_coef": 0.001, "shared_expert_intermediate_size": 512,
          "tie_word_embeddings": false, "use_cache": true, "vocab_size": 151936})"},
        Published{"lfm2_8b_a1b", 8'339'930'560,
                  R"({"architectures": ["Lfm2MoeForCausalLM"], "bos_token_id": 1, "conv_L_cache": 3,
          "conv_bias": false, "dtype": "bfloat16", "eos_token_id": 7, "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 7168, "layer_types": ["conv", "conv",
          "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
          "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
          "full_attention", "conv", "conv", "full_attention", "conv", "conv"],
          "max_position_embeddings": 128000, "model_type": "lfm2_moe", "moe_intermediate_size":
          1792, "norm_eps": 1e-05, "norm_topk_prob": true, "num_attention_heads": 32,
          "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4, "num_hidden_layers":
          24, "num_key_value_heads": 8, "pad_token_id": 0, "rope_theta": 1000000.0,
          "routed_scaling_factor": 1.0, "transformers_version": "4.56.0", "use_cache": true,
          "use_expert_bias": true, "vocab_size": 65536})"},
        Published{"solar_open_100b", 102'651'799'552,
                  R"({"architectures": ["SolarOpenForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "first_k_dense_replace":
          0, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "initializer_range":
          0.02, "intermediate_size": 10240, "max_position_embeddings": 131072, "model_type":
          "solar_open", "moe_intermediate_size": 1280, "n_group": 1, "n_routed_experts": 128,
          "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
          "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 8,
          "pad_token_id": 2, "partial_rotary_factor": 1.0, "rms_norm_eps": 1e-05, "rope_scaling":
          {"factor": 2.0, "original_max_position_embeddings": 65536, "type": "yarn"},
          "rope_theta": 1000000, "routed_scaling_factor": 1.0, "tie_word_embeddings": false,
          "topk_group": 1, "use_cache": true, "use_qk_norm": false, "vocab_size": 196608})"}),
    [](const auto &info) { return info.param.name; });

} // namespace
