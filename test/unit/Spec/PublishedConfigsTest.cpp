// Configs as published models have them are accepted as they are, and ask for as many parameters
// as those models have.

#include "frontends/Spec/ModelSpec.h"
#include <gtest/gtest.h>

using namespace sinter;

namespace {

struct Published {
  const char *name;
  int64_t parameters;
  const char *config;
};

void PrintTo(const Published &model, std::ostream *out) { *out << model.name; }

class PublishedConfig : public testing::TestWithParam<Published> {};

TEST_P(PublishedConfig, HasItsParameters) {
  Expected<ModelSpec> spec = parseModelSpec(GetParam().config, "config.json");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->getParameterCount(), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedConfig,
                         testing::Values(Published{"gpt2", 124'439'808, R"({
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
          "transformers_version": "4.18.0.dev0", "use_cache": true, "vocab_size": 50400})"}),
                         [](const auto &info) { return info.param.name; });

} // namespace
