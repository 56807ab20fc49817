// Configs of published models without experts.

#include "test/unit/Spec/PublishedConfigs.h"

using namespace sinter::test;

namespace {

class PublishedConfig : public testing::TestWithParam<Published> {};

TEST_P(PublishedConfig, HasItsParameters) { expectParameters(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Models, PublishedConfig,
    testing::Values(
        Published{"gpt2", 124'439'808, R"({
          "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
          "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256,
          "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
          "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
          "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
          "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
          "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
          "vocab_size": 50257})"},
        Published{"llama_3_1_8b", 8'030'261'248, R"({
          "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu",
          "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
          "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "pretraining_tp": 1, "rms_norm_eps": 1e-05,
          "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                           "original_max_position_embeddings": 8192, "rope_type": "llama3"},
          "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
          "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 128256})"},
        Published{"llama_2_7b", 6'738'415'616, R"({
          "_name_or_path": "meta-llama/Llama-2-7b-hf", "architectures": ["LlamaForCausalLM"],
          "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
          "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 4096,
          "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
          "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
          "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16",
          "transformers_version": "4.31.0.dev0", "use_cache": true, "vocab_size": 32000})"},
        Published{"mistral_7b", 7'241'732'096, R"({
          "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
          "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
          "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16",
          "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000})"},
        Published{"qwen2_5_0_5b", 494'032'768, R"({
          "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
          "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896,
          "initializer_range": 0.02, "intermediate_size": 4864, "max_position_embeddings": 32768,
          "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
          "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
          "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true,
          "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true,
          "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})"},
        Published{"qwen3_0_6b", 596'049'920, R"({
          "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
          "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
          "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
          "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
          "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000,
          "sliding_window": null, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
          "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
          "vocab_size": 151936})"},
        Published{"gemma_2_2b", 2'614'341'888, R"({
          "architectures": ["Gemma2ForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "attn_logit_softcapping": 50.0, "bos_token_id": 2,
          "cache_implementation": "hybrid", "eos_token_id": 1, "final_logit_softcapping": 30.0,
          "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
          "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304,
          "initializer_range": 0.02, "intermediate_size": 9216, "max_position_embeddings": 8192,
          "model_type": "gemma2", "num_attention_heads": 8, "num_hidden_layers": 26,
          "num_key_value_heads": 4, "pad_token_id": 0, "query_pre_attn_scalar": 256,
          "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "sliding_window": 4096,
          "torch_dtype": "float32", "transformers_version": "4.42.4", "use_cache": true,
          "vocab_size": 256000})"},
        Published{"pythia_70m", 70'426'624, R"({
          "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0,
          "hidden_act": "gelu", "hidden_size": 512, "initializer_range": 0.02,
          "intermediate_size": 2048, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
          "model_type": "gpt_neox", "num_attention_heads": 8, "num_hidden_layers": 6,
          "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false,
          "torch_dtype": "float16", "transformers_version": "4.24.0", "use_cache": true,
          "use_parallel_residual": true, "vocab_size": 50304})"},
        Published{"phi_3_mini", 3'821'079'552, R"({
          "_name_or_path": "Phi-3-mini-4k-instruct", "architectures": ["Phi3ForCausalLM"],
          "attention_dropout": 0.0,
          "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "bos_token_id": 1,
          "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072,
          "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096,
          "model_type": "phi3", "num_attention_heads": 32, "num_hidden_layers": 32,
          "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
          "pad_token_id": 32000, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null,
          "rope_theta": 10000.0, "sliding_window": 2047, "tie_word_embeddings": false,
          "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": true,
          "attention_bias": false, "vocab_size": 32064})"},
        Published{"gemma_3_270m", 268'098'176, R"({
          "_sliding_window_pattern": 6, "architectures": ["Gemma3ForCausalLM"], "attention_bias":
          false, "attention_dropout": 0.0, "attn_logit_softcapping": null, "bos_token_id": 2,
          "eos_token_id": 1, "final_logit_softcapping": null, "head_dim": 256,
          "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 640, "initializer_range": 0.02,
          "intermediate_size": 2048, "layer_types": ["sliding_attention", "sliding_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
          "max_position_embeddings": 32768, "model_type": "gemma3_text", "num_attention_heads": 4,
          "num_hidden_layers": 18, "num_key_value_heads": 1, "pad_token_id": 0,
          "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0,
          "rope_scaling": null, "rope_theta": 1000000.0, "sliding_window": 512, "torch_dtype":
          "bfloat16", "transformers_version": "4.55.0.dev0", "use_bidirectional_attention": false,
          "use_cache": true, "vocab_size": 262144})"},
        Published{"smollm3_3b", 3'075'098'624, R"({
          "architectures": ["SmolLM3ForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "eos_token_id": 128012, "hidden_act": "silu", "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 11008, "layer_types": ["full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention"], "max_position_embeddings": 65536,
          "max_window_layers": 28, "mlp_bias": false, "model_type": "smollm3",
          "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1,
          1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0],
          "num_attention_heads": 16, "num_hidden_layers": 36, "num_key_value_heads": 4,
          "pad_token_id": 128004, "pretraining_tp": 2, "rms_norm_eps": 1e-06, "rope_scaling":
          null, "rope_theta": 5000000.0, "sliding_window": null, "torch_dtype": "bfloat16",
          "transformers_version": "4.54.0.dev0", "use_cache": false, "use_sliding_window": false,
          "vocab_size": 128256})"},
        Published{"olmo_2_1b", 1'484'916'736, R"({
          "architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 4096,
          "model_type": "olmo2", "num_attention_heads": 16, "num_hidden_layers": 16,
          "num_key_value_heads": 16, "pad_token_id": 100277, "rms_norm_eps": 1e-06,
          "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false, "torch_dtype":
          "float32", "transformers_version": "4.48.0", "use_cache": false, "vocab_size": 100352})"},
        Published{"granite_3_1_2b", 2'533'531'648, R"({
          "architectures": ["GraniteForCausalLM"], "attention_bias": false, "attention_dropout":
          0.1, "attention_multiplier": 0.015625, "bos_token_id": 0, "embedding_multiplier": 12.0,
          "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
          "intermediate_size": 8192, "logits_scaling": 8.0, "max_position_embeddings": 131072,
          "mlp_bias": false, "model_type": "granite", "num_attention_heads": 32,
          "num_hidden_layers": 40, "num_key_value_heads": 8, "pad_token_id": 0,
          "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta":
          5000000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
          "transformers_version": "4.47.0.dev0", "use_cache": true, "vocab_size": 49155})"},
        Published{"phi_2", 2'779'683'840, R"({
          "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256,
          "embd_pdrop": 0.0, "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560,
          "initializer_range": 0.02, "intermediate_size": 10240, "layer_norm_eps": 1e-05,
          "max_position_embeddings": 2048, "model_type": "phi", "num_attention_heads": 32,
          "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
          "qk_layernorm": false, "resid_pdrop": 0.1, "rope_scaling": null, "rope_theta": 10000.0,
          "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version":
          "4.37.0", "use_cache": true, "vocab_size": 51200})"},
        Published{"starcoder2_3b", 3'030'371'328, R"({
          "activation_function": "gelu", "architectures": ["Starcoder2ForCausalLM"],
          "attention_dropout": 0.1, "attention_softmax_in_fp32": true, "bos_token_id": 0,
          "embedding_dropout": 0.1, "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh",
          "hidden_size": 3072, "initializer_range": 0.018042, "intermediate_size": 12288,
          "layer_norm_epsilon": 1e-05, "max_position_embeddings": 16384, "mlp_type": "default",
          "model_type": "starcoder2", "norm_epsilon": 1e-05, "norm_type": "layer_norm",
          "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2,
          "residual_dropout": 0.1, "rope_theta": 999999.4420358813,
          "scale_attention_softmax_in_fp32": true, "scale_attn_weights": true, "sliding_window":
          4096, "transformers_version": "4.37.0.dev0", "use_bias": true, "use_cache": true,
          "vocab_size": 49152})"},
        Published{"gpt_neo_125m", 125'198'592, R"({
          "activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"],
          "attention_dropout": 0, "attention_layers": ["global", "local", "global", "local",
          "global", "local", "global", "local", "global", "local", "global", "local"],
          "attention_types": [[["global", "local"], 6]], "bos_token_id": 50256, "embed_dropout":
          0, "eos_token_id": 50256, "gradient_checkpointing": false, "hidden_size": 768,
          "initializer_range": 0.02, "intermediate_size": null, "layer_norm_epsilon": 1e-05,
          "max_position_embeddings": 2048, "model_type": "gpt_neo", "num_heads": 12, "num_layers":
          12, "resid_dropout": 0, "summary_activation": null, "summary_first_dropout": 0.1,
          "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
          "torch_dtype": "float32", "transformers_version": "4.9.0.dev0", "use_cache": true,
          "vocab_size": 50257, "window_size": 256})"},
        Published{"opt_125m", 125'239'296, R"({
          "_name_or_path": "facebook/opt-125m", "_remove_final_layer_norm": false,
          "activation_dropout": 0.0, "activation_function": "relu", "architectures":
          ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before":
          true, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768,
          "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type":
          "opt", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1, "prefix":
          "</s>", "torch_dtype": "float16", "transformers_version": "4.21.0.dev0", "use_cache":
          true, "vocab_size": 50272, "word_embed_proj_dim": 768})"},
        Published{"gpt_j_6b", 6'050'882'784, R"({
          "activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop":
          0.0, "bos_token_id": 50256, "embd_pdrop": 0.0, "eos_token_id": 50256,
          "gradient_checkpointing": false, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
          "model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_inner": null, "n_layer": 28,
          "n_positions": 2048, "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64,
          "scale_attn_weights": true, "summary_activation": null, "summary_first_dropout": 0.1,
          "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
          "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50,
          "temperature": 1.0}}, "tie_word_embeddings": false, "tokenizer_class": "GPT2Tokenizer",
          "transformers_version": "4.18.0.dev0", "use_cache": true, "vocab_size": 50400})"},
        Published{"falcon_7b", 6'921'720'704, R"({
          "alibi": false, "apply_residual_connection_post_layernorm": false, "architectures":
          ["FalconForCausalLM"], "attention_dropout": 0.0, "auto_map": {"AutoConfig":
          "configuration_falcon.FalconConfig"}, "bias": false, "bos_token_id": 11, "eos_token_id":
          11, "hidden_dropout": 0.0, "hidden_size": 4544, "initializer_range": 0.02,
          "layer_norm_epsilon": 1e-05, "model_type": "falcon", "multi_query": true,
          "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32,
          "parallel_attn": true, "transformers_version": "4.27.4", "vocab_size": 65024,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"falcon_rw_1b", 1'311'625'216, R"({
          "alibi": true, "apply_residual_connection_post_layernorm": false, "architectures":
          ["FalconForCausalLM"], "attention_dropout": 0.0, "bias": true, "bos_token_id": 1,
          "eos_token_id": 2, "hidden_dropout": 0.0, "hidden_size": 2048, "initializer_range":
          0.02, "layer_norm_epsilon": 1e-05, "model_type": "falcon", "multi_query": false,
          "new_decoder_architecture": false, "num_attention_heads": 32, "num_hidden_layers": 24,
          "parallel_attn": false, "transformers_version": "4.27.4", "vocab_size": 50304,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"falcon_40b", 41'303'293'952, R"({
          "alibi": false, "apply_residual_connection_post_layernorm": false, "architectures":
          ["FalconForCausalLM"], "attention_dropout": 0.0, "bias": false, "bos_token_id": 11,
          "eos_token_id": 11, "hidden_dropout": 0.0, "hidden_size": 8192, "initializer_range":
          0.02, "layer_norm_epsilon": 1e-05, "model_type": "falcon", "new_decoder_architecture":
          true, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8,
          "parallel_attn": true, "transformers_version": "4.27.4", "vocab_size": 65024,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"bloom_560m", 559'214'592, R"({
          "apply_residual_connection_post_layernorm": false, "attention_dropout": 0.0,
          "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1,
          "eos_token_id": 2, "pad_token_id": 3, "unk_token_id": 0, "hidden_dropout": 0.0,
          "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": true,
          "model_type": "bloom", "n_embed": 1024, "n_inner": null, "n_layer": 24,
          "num_attention_heads": 16, "offset_alibi": 100, "pretraining_tp": 1, "seq_length": 2048,
          "skip_bias_add": true, "skip_bias_add_qkv": false, "transformers_version": "4.20.0",
          "use_cache": true, "vocab_size": 250880})"},
        Published{"mpt_7b", 6'649'286'656, R"({
          "architectures": ["MPTForCausalLM"], "attn_config": {"alibi": true, "alibi_bias_max": 8,
          "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention",
          "attn_uses_sequence_id": false, "clip_qkv": null, "prefix_lm": false, "qk_ln": false,
          "softmax_scale": null}, "auto_map": {"AutoConfig": "configuration_mpt.MPTConfig"},
          "d_model": 4096, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4,
          "init_config": {"emb_init_std": null, "emb_init_uniform_lim": null, "fan_mode":
          "fan_in", "init_div_is_residual": true, "init_gain": 0, "init_nonlinearity": "relu",
          "init_std": 0.02, "name": "kaiming_normal_", "verbose": 0}, "init_device": "cpu",
          "learned_pos_emb": true, "logit_scale": null, "max_seq_len": 2048, "model_type": "mpt",
          "n_heads": 32, "n_layers": 32, "no_bias": true, "norm_type": "low_precision_layernorm",
          "resid_pdrop": 0, "tokenizer_name": "EleutherAI/gpt-neox-20b", "torch_dtype":
          "bfloat16", "transformers_version": "4.28.1", "use_cache": false, "verbose": 0,
          "vocab_size": 50432})"},
        Published{"starcoder", 15'517'456'384, R"({
          "activation_function": "gelu", "architectures": ["GPTBigCodeForCausalLM"],
          "attention_softmax_in_fp32": true, "attn_pdrop": 0.1, "bos_token_id": 0, "embd_pdrop":
          0.1, "eos_token_id": 0, "inference_runner": 0, "initializer_range": 0.02,
          "layer_norm_epsilon": 1e-05, "max_batch_size": null, "max_sequence_length": null,
          "model_type": "gpt_bigcode", "multi_query": true, "n_embd": 6144, "n_head": 48,
          "n_inner": 24576, "n_layer": 40, "n_positions": 8192, "pad_key_length": true,
          "pre_allocate_kv_cache": false, "resid_pdrop": 0.1, "scale_attention_softmax_in_fp32":
          true, "scale_attn_weights": true, "summary_activation": null, "summary_first_dropout":
          0.1, "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj":
          true, "torch_dtype": "float32", "transformers_version": "4.28.1", "use_cache": true,
          "validate_runner_input": true, "vocab_size": 49152})"},
        Published{"command_r", 34'980'831'232, R"({
          "architectures": ["CohereForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 5, "eos_token_id": 255001, "hidden_act": "silu", "hidden_size":
          8192, "initializer_range": 0.02, "intermediate_size": 22528, "layer_norm_eps": 1e-05,
          "logit_scale": 0.0625, "max_position_embeddings": 8192, "model_max_length": 131072,
          "model_type": "cohere", "num_attention_heads": 64, "num_hidden_layers": 40,
          "num_key_value_heads": 64, "pad_token_id": 0, "pretraining_tp": 1, "rope_theta":
          8000000.0, "tie_word_embeddings": true, "torch_dtype": "float16",
          "transformers_version": "4.38.2", "use_cache": true, "vocab_size": 256000})"},
        Published{"command_r7b", 8'028'033'024, R"({
          "architectures": ["Cohere2ForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 5, "cache_implementation": "hybrid", "eos_token_id": 255001,
          "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
          "intermediate_size": 14336, "layer_norm_eps": 1e-05, "layer_switch": 4, "logit_scale":
          0.25, "max_position_embeddings": 8192, "model_type": "cohere2", "num_attention_heads":
          32, "num_hidden_layers": 32, "num_key_value_heads": 8, "order_of_interleaved_layers":
          "local_attn_first", "pad_token_id": 0, "position_embedding_type": "rope_gptj",
          "rope_scaling": null, "rope_theta": 50000, "rotary_pct": 1.0, "sliding_window": 4096,
          "sliding_window_pattern": 4, "transformers_version": "4.48.0.dev0",
          "use_embedding_sharing": true, "use_gated_activation": true, "use_parallel_block": true,
          "use_parallel_embedding": true, "vocab_size": 256000, "use_cache": true, "torch_dtype":
          "bfloat16"})"},
        Published{"exaone_4_1_2b", 1'279'391'488, R"({
          "architectures": ["Exaone4ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
          "eos_token_id": 361, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 4096, "layer_types": ["full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention", "full_attention", "full_attention", "full_attention",
          "full_attention"], "max_position_embeddings": 65536, "model_type": "exaone4",
          "num_attention_heads": 32, "num_hidden_layers": 30, "num_key_value_heads": 8,
          "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 16.0,
          "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings":
          8192, "rope_type": "llama3"}, "rope_theta": 1000000, "sliding_window": null,
          "sliding_window_pattern": null, "tie_word_embeddings": true, "transformers_version":
          "4.54.0", "vocab_size": 102400, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"exaone_4_32b", 32'003'216'384, R"({
          "architectures": ["Exaone4ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
          "eos_token_id": 361, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
          "initializer_range": 0.02, "intermediate_size": 27392, "layer_types":
          ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
          "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
          "max_position_embeddings": 131072, "model_type": "exaone4", "num_attention_heads": 40,
          "num_hidden_layers": 64, "num_key_value_heads": 8, "pad_token_id": 0, "rms_norm_eps":
          1e-05, "rope_scaling": {"factor": 16.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
          "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 1000000,
          "sliding_window": 4096, "sliding_window_pattern": "LLLG", "tie_word_embeddings": false,
          "transformers_version": "4.54.0", "vocab_size": 102400, "use_cache": true,
          "torch_dtype": "bfloat16"})"},
        Published{"ernie_4_5_0_3b", 360'748'032, R"({
          "architectures": ["Ernie4_5ForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
          "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3072,
          "max_position_embeddings": 131072, "model_type": "ernie4_5", "num_attention_heads": 16,
          "num_key_value_heads": 2, "head_dim": 128, "num_hidden_layers": 18, "pad_token_id": 0,
          "rms_norm_eps": 1e-05, "use_cache": false, "vocab_size": 103424, "rope_scaling": null,
          "rope_theta": 500000, "use_bias": false, "tie_word_embeddings": true, "torch_dtype":
          "bfloat16", "transformers_version": "4.54.0.dev0"})"},
        Published{"seed_oss_36b", 36'151'104'512, R"({
          "architectures": ["SeedOssForCausalLM"], "attention_bias": true, "attention_dropout":
          0.1, "attention_out_bias": false, "bos_token_id": 0, "pad_token_id": 1, "eos_token_id":
          2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "initializer_range":
          0.02, "intermediate_size": 27648, "max_position_embeddings": 524288, "mlp_bias": false,
          "model_type": "seed_oss", "num_attention_heads": 80, "num_hidden_layers": 64,
          "num_key_value_heads": 8, "residual_dropout": 0.1, "rms_norm_eps": 1e-06,
          "rope_scaling": {"rope_type": "default"}, "rope_theta": 10000000.0,
          "tie_word_embeddings": false, "transformers_version": "4.55.0", "vocab_size": 155136,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"hunyuan_7b", 7'504'568'320, R"({
          "add_classification_head": false, "architectures": ["HunYuanDenseV1ForCausalLM"],
          "attention_bias": false, "attention_dropout": 0.1, "attention_head_dim": 128,
          "bos_token_id": 127958, "cla_share_factor": 2, "class_num": 0, "dense_list": [4096, 0],
          "eos_token_id": 127960, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
          "im_end_id": 5, "im_newline_id": 11, "im_start_id": 4, "initializer_range": 0.02,
          "intermediate_size": 14336, "mask_init_id": 12, "max_position_embeddings": 262144,
          "mlp_bias": false, "model_type": "hunyuan_v1_dense", "norm_type": "rms",
          "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "org_vocab_size": 128167, "pad_id": 127961, "pad_token_id": 127961, "pool_type": "last",
          "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"alpha": 1000.0,
          "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
          "type": "dynamic"}, "rope_theta": 10000.0, "sep_token_id": 127962, "text_end_id": 7,
          "text_start_id": 6, "tie_word_embeddings": true, "transformers_version": "4.57.6",
          "use_cla": false, "use_qk_norm": true, "use_rotary_pos_emb": true, "vocab_size": 128167,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"afm_4_5b", 4'619'184'640, R"({
          "architectures": ["ArceeForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 128, "hidden_act":
          "relu2", "hidden_size": 2560, "initializer_range": 0.02, "intermediate_size": 18432,
          "max_position_embeddings": 65536, "mlp_bias": false, "model_type": "arcee",
          "num_attention_heads": 20, "num_hidden_layers": 36, "num_key_value_heads": 4,
          "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor":
          20.0, "mscale": 1.0, "original_max_position_embeddings": 4096, "rope_type": "yarn",
          "type": "yarn"}, "rope_theta": 10000.0, "tie_word_embeddings": false,
          "transformers_version": "4.53.0", "vocab_size": 128004, "use_cache": true,
          "torch_dtype": "bfloat16"})"},
        Published{"olmo_1b", 1'176'764'416, R"({
          "architectures": ["OlmoForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "clip_qkv": null, "eos_token_id": 50279, "hidden_act": "silu", "hidden_size": 2048,
          "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 2048,
          "model_type": "olmo", "num_attention_heads": 16, "num_hidden_layers": 16,
          "num_key_value_heads": 16, "pad_token_id": 1, "pretraining_tp": 1, "rope_scaling": null,
          "rope_theta": 10000.0, "tie_word_embeddings": true, "torch_dtype": "float32",
          "transformers_version": "4.40.0.dev0", "use_cache": true, "vocab_size": 50304})"},
        Published{"glm_4_9b", 9'399'951'360, R"({
          "architectures": ["GlmForCausalLM"], "attention_bias": true, "attention_dropout": 0.0,
          "eos_token_id": [151329, 151336, 151338], "head_dim": 128, "hidden_act": "silu",
          "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 13696,
          "max_position_embeddings": 131072, "model_type": "glm", "num_attention_heads": 32,
          "num_hidden_layers": 40, "num_key_value_heads": 2, "pad_token_id": 151329,
          "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "rope_theta": 10000.0,
          "tie_word_embeddings": false, "transformers_version": "4.46.0.dev0", "vocab_size":
          151552, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"glm_4_9b_0414", 9'400'094'720, R"({
          "architectures": ["Glm4ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
          "eos_token_id": [151329, 151336, 151338], "head_dim": 128, "hidden_act": "silu",
          "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 13696,
          "max_position_embeddings": 32768, "model_type": "glm4", "num_attention_heads": 32,
          "num_hidden_layers": 40, "num_key_value_heads": 2, "pad_token_id": 151329,
          "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
          "tie_word_embeddings": false, "transformers_version": "4.52.0.dev0", "vocab_size":
          151552, "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"helium_1_2b", 2'172'643'840, R"({
          "architectures": ["HeliumForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 1, "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu",
          "hidden_size": 2560, "initializer_range": 0.02, "intermediate_size": 7040,
          "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "helium",
          "num_attention_heads": 20, "num_hidden_layers": 24, "num_key_value_heads": 20,
          "pad_token_id": 3, "rms_norm_eps": 1e-08, "rope_theta": 100000.0, "tie_word_embeddings":
          false, "transformers_version": "4.48.0.dev0", "vocab_size": 48000, "use_cache": true,
          "torch_dtype": "bfloat16"})"},
        Published{"stablelm_2_1_6b", 1'644'515'328, R"({
          "architectures": ["StableLmForCausalLM"], "bos_token_id": 100257, "eos_token_id":
          100257, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
          "intermediate_size": 5632, "layer_norm_eps": 1e-05, "max_position_embeddings": 4096,
          "model_type": "stablelm", "num_attention_heads": 32, "num_hidden_layers": 24,
          "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_theta": 10000,
          "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version":
          "4.38.0", "use_cache": true, "use_qkv_bias": true, "vocab_size": 100352})"},
        Published{"minitron_4b", 4'190'509'056, R"({
          "architectures": ["NemotronForCausalLM"], "attention_bias": false, "attention_dropout":
          0.0, "bos_token_id": 2, "eos_token_id": 3, "head_dim": 128, "hidden_act": "relu2",
          "hidden_size": 3072, "initializer_range": 0.0134, "intermediate_size": 9216,
          "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "nemotron",
          "norm_eps": 1e-05, "num_attention_heads": 24, "num_hidden_layers": 32,
          "num_key_value_heads": 8, "partial_rotary_factor": 0.5, "rope_theta": 10000,
          "tie_word_embeddings": false, "transformers_version": "4.44.0", "vocab_size": 256000,
          "use_cache": true, "torch_dtype": "bfloat16"})"},
        Published{"gemma_3_4b", 3'880'263'168, R"({
          "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
          "eoi_token_index": 256000, "eos_token_id": [1, 106], "image_token_index": 262144,
          "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3",
          "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type":
          "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type":
          "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16", "transformers_version":
          "4.50.0.dev0", "vision_config": {"hidden_size": 1152, "image_size": 896,
          "intermediate_size": 4304, "model_type": "siglip_vision_model", "num_attention_heads":
          16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": false}})"},
        Published{"gemma_3_27b", 27'009'346'304, R"({
          "architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106],
          "mm_tokens_per_image": 256, "model_type": "gemma3", "text_config": {"head_dim": 128,
          "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
          "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
          "query_pre_attn_scalar": 168, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
          "sliding_window": 1024}, "vision_config": {"hidden_size": 1152}})"},
        Published{"gemma_4_e4b", 7'463'013'418, gemma4 + R"(
          "attention_k_eq_v": false, "enable_moe_block": false,
          "hidden_size": 2560, "hidden_size_per_layer_input": 256, "intermediate_size": 10240,
          "num_attention_heads": 8, "num_global_key_value_heads": null, "num_hidden_layers": 42,
          "num_key_value_heads": 2, "num_kv_shared_layers": 18, "sliding_window": 512,
          "use_double_wide_mlp": false}})"},
        Published{"gemma_4_31b", 30'697'345'340, gemma4 + R"(
          "attention_k_eq_v": true, "enable_moe_block": false,
          "hidden_size": 5376, "hidden_size_per_layer_input": 0, "intermediate_size": 21504,
          "num_attention_heads": 32, "num_global_key_value_heads": 4, "num_hidden_layers": 60,
          "num_key_value_heads": 16, "num_kv_shared_layers": 0, "sliding_window": 1024,
          "use_bidirectional_attention": "vision", "use_double_wide_mlp": false}})"},
        Published{"mistral_small_3_1_24b", 23'572'403'200, R"({
          "architectures": ["Mistral3ForConditionalGeneration"], "image_token_index": 10,
          "model_type": "mistral3", "multimodal_projector_bias": false, "projector_hidden_act":
          "gelu", "spatial_merge_size": 2, "text_config": {"attention_dropout": 0.0, "head_dim":
          128, "hidden_act": "silu", "hidden_size": 5120, "initializer_range": 0.02,
          "intermediate_size": 32768, "max_position_embeddings": 131072, "model_type": "mistral",
          "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
          "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0, "sliding_window": null, "use_cache":
          true, "vocab_size": 131072}, "torch_dtype": "bfloat16", "vision_config": {"head_dim":
          64}, "vision_feature_layer": -1})"},
        Published{"llava_1_5_7b", 6'738'939'904, R"({
          "architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100,
          "image_token_index": 32000, "model_type": "llava", "pad_token_id": 32001,
          "projector_hidden_act": "gelu", "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5",
          "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 4096, "model_type":
          "llama", "rms_norm_eps": 1e-05, "torch_dtype": "float16", "vocab_size": 32064},
          "tie_word_embeddings": false, "vision_config": {"hidden_size": 1024}})"},
        Published{"opt_350m", 331'196'416,
                  R"({"activation_dropout": 0.0, "activation_function": "relu", "architectures":
          ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before":
          false, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 4096, "hidden_size": 1024,
          "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type":
          "opt", "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 1, "prefix":
          "</s>", "torch_dtype": "float16", "transformers_version": "4.20.0.dev0", "use_cache":
          true, "vocab_size": 50272, "word_embed_proj_dim": 512})"},
        Published{
            "lfm2_1_2b", 1'170'340'608,
            R"({"architectures": ["Lfm2ForCausalLM"], "block_auto_adjust_ff_dim": true, "block_dim":
          2048, "block_ff_dim": 12288, "block_ffn_dim_multiplier": 1.0, "block_mlp_init_scale":
          1.0, "block_multiple_of": 256, "block_norm_eps": 1e-05, "block_out_init_scale": 1.0,
          "block_use_swiglu": true, "block_use_xavier_init": true, "bos_token_id": 1,
          "conv_L_cache": 3, "conv_bias": false, "conv_dim": 2048, "conv_dim_out": 2048,
          "conv_use_xavier_init": true, "eos_token_id": 7, "full_attn_idxs": [2, 5, 8, 10, 12,
          14], "hidden_size": 2048, "initializer_range": 0.02, "max_position_embeddings": 128000,
          "model_type": "lfm2", "norm_eps": 1e-05, "num_attention_heads": 32, "num_heads": 32,
          "num_hidden_layers": 16, "num_key_value_heads": 8, "pad_token_id": 0, "rope_theta":
          1000000.0, "torch_dtype": "bfloat16", "transformers_version": "4.54.0.dev0",
          "use_cache": true, "use_pos_enc": true, "vocab_size": 65536})"},
        Published{
            "apertus_8b", 8'053'338'176,
            R"({"architectures": ["ApertusForCausalLM"], "attention_bias": false,
          "attention_dropout":
          0.0, "bos_token_id": 1, "eos_token_id": [68, 72, 67], "hidden_act": "xielu",
          "hidden_dropout": 0.0, "hidden_size": 4096, "initializer_range": 0.02,
          "intermediate_size": 21504, "max_position_embeddings": 65536, "mlp_bias": false,
          "model_type": "apertus", "num_attention_heads": 32, "num_hidden_layers": 32,
          "num_key_value_heads": 8, "pad_token_id": 3, "post_norm": false, "qk_norm": true,
          "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0,
          "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3",
          "type": "llama3"}, "rope_theta": 12000000, "tie_word_embeddings": false, "torch_dtype":
          "bfloat16", "use_cache": true, "vocab_size": 131072})"},
        Published{
            "command_r_plus", 103'810'674'688,
            R"({"architectures": ["CohereForCausalLM"], "attention_bias": false,
          "attention_dropout":
          0.0, "bos_token_id": 5, "eos_token_id": 255001, "hidden_act": "silu", "hidden_size":
          12288, "initializer_range": 0.02, "intermediate_size": 33792, "layer_norm_eps": 1e-05,
          "logit_scale": 0.8333333333333334, "max_position_embeddings": 131072,
          "model_max_length": 131072, "model_type": "cohere", "num_attention_heads": 96,
          "num_hidden_layers": 64, "num_key_value_heads": 8, "pad_token_id": 0, "rope_theta":
          75000000.0, "torch_dtype": "float16", "use_cache": true, "use_qk_norm": true,
          "vocab_size": 256000})"},
        Published{
            "stablelm_2_12b", 12'143'185'920,
            R"({"architectures": ["StableLmForCausalLM"], "bos_token_id": 100257, "eos_token_id":
          100257, "attention_dropout": 0.0, "hidden_act": "silu", "hidden_dropout": 0.0,
          "hidden_size": 5120, "initializer_range": 0.02, "intermediate_size": 13824,
          "layer_norm_eps": 1e-05, "max_position_embeddings": 4096, "model_type": "stablelm",
          "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
          "partial_rotary_factor": 0.25, "qk_layernorm": true, "rope_scaling": null, "rope_theta":
          10000, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true,
          "use_parallel_residual": true, "use_qkv_bias": false, "vocab_size": 100352})"},
        Published{"exaone_3_5_7_8b", 7'818'448'896,
                  R"({"activation_function": "silu", "architectures": ["ExaoneForCausalLM"],
          "attention_dropout": 0.0, "bos_token_id": 1, "embed_dropout": 0.0, "eos_token_id": 361,
          "head_dim": 128, "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size":
          14336, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 32768, "model_type":
          "exaone", "num_attention_heads": 32, "num_key_value_heads": 8, "num_layers": 32,
          "pad_token_id": 0, "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0,
          "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type":
          "llama3"}, "rope_theta": 1000000, "tie_word_embeddings": false, "torch_dtype":
          "bfloat16", "use_cache": true, "vocab_size": 102400})"},
        Published{
            "persimmon_8b", 9'397'175'296,
            R"({"architectures": ["PersimmonForCausalLM"], "attention_dropout": 0.0,
          "bos_token_id": 1,
          "eos_token_id": 2, "hidden_act": "relu2", "hidden_dropout": 0.0, "hidden_size": 4096,
          "initializer_range": 0.02, "intermediate_size": 16384, "layer_norm_eps": 1e-05,
          "max_position_embeddings": 16384, "model_type": "persimmon", "num_attention_heads": 64,
          "num_hidden_layers": 36, "qk_layernorm": true, "rope_scaling": null, "rope_theta":
          25000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true,
          "vocab_size": 262144})"},
        Published{
            "jais_2_8b", 8'090'401'280,
            R"({"architectures": ["Jais2ForCausalLM"], "attention_bias": true, "attention_dropout":
          0.0, "bos_token_id": 0, "eos_token_id": 150024, "head_dim": 128, "hidden_act": "relu2",
          "hidden_size": 3328, "initializer_range": 0.02, "intermediate_size": 26624,
          "layer_norm_eps": 1e-05, "max_position_embeddings": 8192, "mlp_bias": true,
          "model_type": "jais2", "num_attention_heads": 26, "num_hidden_layers": 32,
          "num_key_value_heads": 26, "rope_theta": 500000, "tie_word_embeddings": false,
          "vocab_size": 150272})"},
        Published{"internlm3_8b", 8'804'241'408,
                  R"({"architectures": ["InternLM3ForCausalLM"], "bias": false, "bos_token_id": 1,
          "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
          "initializer_range": 0.02, "intermediate_size": 10240, "max_position_embeddings": 32768,
          "model_type": "internlm3", "num_attention_heads": 32, "num_hidden_layers": 48,
          "num_key_value_heads": 2, "pad_token_id": 2, "qkv_bias": false, "rms_norm_eps": 1e-05,
          "rope_scaling": {"factor": 6.0, "rope_type": "dynamic"}, "rope_theta": 50000000,
          "tie_word_embeddings": false, "use_cache": true, "vocab_size": 128512})"}),
    [](const auto &info) { return info.param.name; });

} // namespace
