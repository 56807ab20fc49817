"""The configurations of the tiny models that make_reference_models.py makes of Hugging Face's families,
and which models are kept."""

import torch


def hugging_face_models():
    """name -> (config class name, arguments, tokens, stored dtype)"""
    small = dict(vocab_size=67, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                 num_attention_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    tiny = {**small, "hidden_size": 24, "intermediate_size": 36, "vocab_size": 53}
    rope = lambda **keys: {**small, "num_key_value_heads": 2, "rope_parameters": keys}
    models = {
        "gpt2": ("GPT2Config", dict(vocab_size=67, n_embd=24, n_layer=2, n_head=3, n_positions=40,
                                    bos_token_id=1, eos_token_id=2)),
        "gpt2-variant": ("GPT2Config", dict(vocab_size=61, n_embd=40, n_layer=3, n_head=2,
                                            n_inner=52, n_positions=32, activation_function="relu",
                                            scale_attn_by_inverse_layer_idx=True,
                                            tie_word_embeddings=False, bos_token_id=1,
                                            eos_token_id=2)),
        "llama": ("LlamaConfig", {**small, "num_key_value_heads": 2}),
        "llama-mqa-bias": ("LlamaConfig", {**small, "hidden_size": 40, "num_attention_heads": 2,
                                           "num_key_value_heads": 1, "attention_bias": True,
                                           "mlp_bias": True, "tie_word_embeddings": True,
                                           "hidden_act": "gelu"}),
        "llama-head-48": ("LlamaConfig", {**tiny, "num_attention_heads": 3, "head_dim": 48,
                                          "num_key_value_heads": 3}),
        "llama-head-64": ("LlamaConfig", {**tiny, "num_attention_heads": 2, "head_dim": 64,
                                          "num_key_value_heads": 1}),
        "llama-head-80": ("LlamaConfig", {**tiny, "num_attention_heads": 2, "head_dim": 80,
                                          "num_key_value_heads": 1}),
        "llama-linear": ("LlamaConfig", rope(rope_type="linear", rope_theta=500.0, factor=2.5)),
        "llama-dynamic": ("LlamaConfig", {**rope(rope_type="dynamic", rope_theta=1000.0,
                                                 factor=3.0),
                                          "max_position_embeddings": 16}),
        "llama-dynamic-short": ("LlamaConfig", rope(rope_type="dynamic", rope_theta=1000.0,
                                                    factor=3.0)),
        "llama-llama3": ("LlamaConfig", rope(rope_type="llama3", rope_theta=300.0, factor=8.0,
                                             low_freq_factor=1.0, high_freq_factor=4.0,
                                             original_max_position_embeddings=32)),
        "llama-yarn": ("LlamaConfig", rope(rope_type="yarn", rope_theta=100.0, factor=4.0,
                                           original_max_position_embeddings=16)),
        "llama-yarn-mscale": ("LlamaConfig", rope(rope_type="yarn", rope_theta=100.0, factor=4.0,
                                                  original_max_position_embeddings=16, mscale=0.7,
                                                  mscale_all_dim=1.3, beta_fast=16.0, beta_slow=2.0,
                                                  truncate=False)),
        "llama-longrope": ("LlamaConfig", rope(rope_type="longrope", rope_theta=100.0,
                                               original_max_position_embeddings=16,
                                               short_factor=[1.0, 1.1, 1.2, 1.3],
                                               long_factor=[2.0, 3.0, 4.0, 5.0])),
        "mistral": ("MistralConfig", {**small, "num_key_value_heads": 1, "sliding_window": 7}),
        "mistral-full": ("MistralConfig", {**tiny, "num_key_value_heads": 2, "head_dim": 10,
                                           "sliding_window": None}),
        "qwen2": ("Qwen2Config", {**small, "num_key_value_heads": 2}),
        "qwen2-window": ("Qwen2Config", {**tiny, "num_key_value_heads": 4, "num_hidden_layers": 3,
                                         "use_sliding_window": True, "sliding_window": 5,
                                         "max_window_layers": 1, "tie_word_embeddings": True}),
        "qwen3": ("Qwen3Config", {**small, "num_key_value_heads": 2, "head_dim": 20}),
        "qwen3-bias": ("Qwen3Config", {**tiny, "num_key_value_heads": 1, "head_dim": 14,
                                       "attention_bias": True, "tie_word_embeddings": True}),
        "gemma2": ("Gemma2Config", {**small, "num_key_value_heads": 2, "head_dim": 12,
                                    "query_pre_attn_scalar": 10, "sliding_window": 6,
                                    "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
        "gemma2-uncapped": ("Gemma2Config", {**tiny, "num_key_value_heads": 1, "head_dim": 16,
                                             "num_hidden_layers": 3, "query_pre_attn_scalar": 16,
                                             "sliding_window": 9, "attn_logit_softcapping": None,
                                             "final_logit_softcapping": None,
                                             "tie_word_embeddings": False}),
        "gpt_neox": ("GPTNeoXConfig", {**small, "rope_parameters": {
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}),
        "gpt_neox-sequential": ("GPTNeoXConfig", {**small, "hidden_size": 40,
                                                  "num_attention_heads": 2,
                                                  "use_parallel_residual": False,
                                                  "rope_parameters": {
                                                      "rope_type": "default", "rope_theta": 500.0,
                                                      "partial_rotary_factor": 0.25}}),
        "phi3": ("Phi3Config", {**small, "num_key_value_heads": 2, "pad_token_id": 0,
                                "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0,
                                                    "partial_rotary_factor": 0.75}}),
    }
    grouped = {**small, "num_key_value_heads": 2}
    neo = dict(vocab_size=67, max_position_embeddings=40, hidden_size=24, num_heads=3,
               window_size=5, bos_token_id=1, eos_token_id=2)
    models |= {
        "gemma": ("GemmaConfig", {**grouped, "head_dim": 12}),
        "gemma3": ("Gemma3TextConfig", {
            **grouped, "head_dim": 12, "num_hidden_layers": 6, "query_pre_attn_scalar": 10,
            "sliding_window": 6, "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}),
        "granite": ("GraniteConfig", {**grouped, "embedding_multiplier": 3.0,
                                      "attention_multiplier": 0.2, "residual_multiplier": 0.6,
                                      "logits_scaling": 3.0}),
        "smollm3": ("SmolLM3Config", {**grouped, "num_hidden_layers": 4, "pad_token_id": 0}),
        "starcoder2": ("Starcoder2Config", {**grouped, "sliding_window": 7}),
        "stablelm": ("StableLmConfig", {**grouped, "use_qkv_bias": True}),
        "stablelm-parallel": ("StableLmConfig", {**small, "num_key_value_heads": 4,
                                                 "use_parallel_residual": True}),
        "stablelm-heads": ("StableLmConfig", {**grouped, "qk_layernorm": True}),
        "phi": ("PhiConfig", {**grouped}),
        "phi-heads": ("PhiConfig", {**grouped, "qk_layernorm": True}),
        "persimmon": ("PersimmonConfig", small),
        "internlm3": ("InternLM3Config", {**grouped, "head_dim": 12, "attention_bias": True,
                                          "mlp_bias": True}),
        "jais2": ("Jais2Config", grouped),
        "exaone": ("ExaoneConfig", grouped),
        "apertus": ("ApertusConfig", grouped),
        "lfm2": ("Lfm2Config", {**grouped, "num_hidden_layers": 4, "block_multiple_of": 10,
                                "layer_types": ["conv", "full_attention", "conv", "conv"]}),
        "lfm2-bias": ("Lfm2Config", {**grouped, "num_hidden_layers": 2, "conv_bias": True,
                                     "conv_L_cache": 2, "block_auto_adjust_ff_dim": False,
                                     "layer_types": ["full_attention", "conv"]}),
        "bamba": ("BambaConfig", {
            **grouped, "num_hidden_layers": 3, "attn_layer_indices": [1], "mamba_n_heads": 4,
            "mamba_n_groups": 2, "mamba_d_state": 12, "mamba_conv_bias": True}),
        "falcon_h1": ("FalconH1Config", {
            **grouped, "mamba_d_ssm": 24, "mamba_n_heads": 4, "mamba_n_groups": 2,
            "mamba_d_state": 12, "embedding_multiplier": 2.5, "lm_head_multiplier": 0.4,
            "key_multiplier": 0.7, "attention_in_multiplier": 1.3, "attention_out_multiplier": 0.9,
            "ssm_in_multiplier": 1.2, "ssm_out_multiplier": 0.6, "mlp_multipliers": [0.8, 0.5],
            "ssm_multipliers": [0.9, 1.4, 0.6, 1.1, 0.7]}),
        "falcon_h1-norm": ("FalconH1Config", {
            **grouped, "mamba_d_ssm": None, "mamba_n_heads": 4, "mamba_n_groups": 2,
            "mamba_d_state": 9, "mamba_rms_norm": True}),
        "mamba2": ("Mamba2Config", {
            "vocab_size": small["vocab_size"], "hidden_size": small["hidden_size"],
            "num_hidden_layers": 2, "num_heads": 4, "head_dim": 16,
            "n_groups": 1, "state_size": 10, "conv_kernel": 3, "use_bias": True,
            "tie_word_embeddings": True, "time_step_limit": [0.3, 1.4]}),
        "nemotron_h": ("NemotronHConfig", {
            **grouped, "head_dim": 10, "mamba_num_heads": 4, "mamba_head_dim": 6, "n_groups": 2,
            "ssm_state_size": 9, "time_step_min": 0.9,
            "layers_block_type": ["mamba", "mlp", "mamba", "attention", "mlp"]}),
        "olmo2": ("Olmo2Config", {**grouped, "pad_token_id": 0}),
        "olmo3": ("Olmo3Config", {
            **grouped, "num_hidden_layers": 4, "pad_token_id": 0, "sliding_window": 5,
            "rope_parameters": {
                "full_attention": {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0,
                                   "original_max_position_embeddings": 16},
                "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}}}),
        "nemotron": ("NemotronConfig", {**grouped}),
        "gpt_neo": ("GPTNeoConfig", {**neo, "num_layers": 2,
                                     "attention_types": [[["global", "local"], 1]]}),
        "gptj": ("GPTJConfig", dict(vocab_size=67, n_embd=32, n_layer=2, n_head=4, n_positions=40,
                                    rotary_dim=4, bos_token_id=1, eos_token_id=2)),
        "opt": ("OPTConfig", dict(vocab_size=67, hidden_size=24, ffn_dim=36, num_hidden_layers=2,
                                  num_attention_heads=3, max_position_embeddings=40,
                                  pad_token_id=0)),
        "opt-post": ("OPTConfig", dict(vocab_size=67, hidden_size=24, ffn_dim=36,
                                       num_hidden_layers=2, num_attention_heads=3,
                                       max_position_embeddings=40, pad_token_id=0,
                                       do_layer_norm_before=False)),
        "opt-narrow": ("OPTConfig", dict(vocab_size=67, hidden_size=24, ffn_dim=36,
                                         num_hidden_layers=2, num_attention_heads=3,
                                         max_position_embeddings=40, pad_token_id=0,
                                         do_layer_norm_before=False, word_embed_proj_dim=14)),
        "cohere": ("CohereConfig", {**grouped, "pad_token_id": 0, "logit_scale": 0.3}),
        "cohere-heads": ("CohereConfig", {**grouped, "pad_token_id": 0, "logit_scale": 0.3,
                                          "use_qk_norm": True}),
        "glm4": ("Glm4Config", {**grouped, "head_dim": 12, "pad_token_id": 0}),
    }
    falcon = dict(vocab_size=67, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    models |= {
        "falcon": ("FalconConfig", falcon),
        "falcon-new": ("FalconConfig", {**falcon, "new_decoder_architecture": True,
                                        "num_kv_heads": 2, "ffn_hidden_size": 44,
                                        "tie_word_embeddings": False}),
        # Its slopes are rounded to bf16 in transformers, which powers of two do not feel.
        "falcon-alibi": ("FalconConfig", {**falcon, "alibi": True, "multi_query": False,
                                          "parallel_attn": False, "bias": True}),
        "bloom": ("BloomConfig", dict(vocab_size=67, hidden_size=24, n_layer=2, n_head=6,
                                      bos_token_id=1, eos_token_id=2)),
        "mpt": ("MptConfig", dict(vocab_size=67, d_model=24, n_layers=2, n_heads=6, max_seq_len=40,
                                  attn_config={"clip_qkv": 1.1, "softmax_scale": 0.4})),
        "gpt_bigcode": ("GPTBigCodeConfig", dict(vocab_size=67, n_embd=24, n_layer=2, n_head=3,
                                                 n_positions=40, bos_token_id=1, eos_token_id=2)),
        "gpt_bigcode-heads": ("GPTBigCodeConfig", dict(
            vocab_size=67, n_embd=24, n_layer=2, n_head=3, n_positions=40, multi_query=False,
            bos_token_id=1, eos_token_id=2)),
        "cohere2": ("Cohere2Config", {**grouped, "num_hidden_layers": 4, "pad_token_id": 0,
                                      "sliding_window": 5, "logit_scale": 0.3}),
        "exaone4": ("Exaone4Config", {**grouped, "num_hidden_layers": 4, "sliding_window": 5}),
        "ernie4_5": ("Ernie4_5Config", {**grouped, "head_dim": 12, "use_bias": True}),
        "seed_oss": ("SeedOssConfig", {**grouped, "head_dim": 12, "pad_token_id": 0}),
        "hunyuan_v1_dense": ("HunYuanDenseV1Config", {
            **grouped, "head_dim": 12, "rope_parameters": {"rope_type": "dynamic", "factor": 1.0,
                                                           "rope_theta": 100.0, "alpha": 50.0}}),
        "arcee": ("ArceeConfig", grouped),
        "olmo": ("OlmoConfig", {**grouped, "pad_token_id": 0, "clip_qkv": 1.3}),
        "glm": ("GlmConfig", {**grouped, "head_dim": 12, "pad_token_id": 0}),
        "helium": ("HeliumConfig", {**grouped, "head_dim": 8}),
        "ministral": ("MinistralConfig", {
            **grouped, "sliding_window": 5,
            "head_dim": 12, "layer_types": ["sliding_attention", "full_attention"]}),
        "nanochat": ("NanoChatConfig", grouped),
    }
    sparse = {**grouped, "num_experts_per_tok": 2}
    linear = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 12,
              "linear_value_head_dim": 10}
    models["qwen3_5"] = ("Qwen3_5TextConfig", {
        **grouped, **linear, "num_hidden_layers": 3, "head_dim": 16, "tie_word_embeddings": True,
        "layer_types": ["linear_attention", "linear_attention", "full_attention"]})
    models |= {
        "mixtral": ("MixtralConfig", {**sparse, "intermediate_size": 28, "num_local_experts": 5,
                                      "sliding_window": 9}),
        "qwen2_moe": ("Qwen2MoeConfig", {**sparse, "num_hidden_layers": 3, "num_experts": 6,
                                         "num_experts_per_tok": 3, "moe_intermediate_size": 24,
                                         "shared_expert_intermediate_size": 40,
                                         "mlp_only_layers": [1]}),
        "qwen2_moe-one": ("Qwen2MoeConfig", {
            **sparse, "num_hidden_layers": 4, "num_experts": 4, "num_experts_per_tok": 1,
            "moe_intermediate_size": 64, "shared_expert_intermediate_size": 8,
            "decoder_sparse_step": 2, "norm_topk_prob": True, "qkv_bias": False,
            "use_sliding_window": True, "sliding_window": 6, "max_window_layers": 3}),
        "qwen3_moe": ("Qwen3MoeConfig", {**sparse, "num_experts": 8, "head_dim": 12,
                                         "num_experts_per_tok": 4, "moe_intermediate_size": 20,
                                         "norm_topk_prob": True, "mlp_only_layers": [0]}),
        "qwen3_next": ("Qwen3NextConfig", {
            **grouped, **linear, "num_hidden_layers": 3, "head_dim": 16,
            "layer_types": ["linear_attention", "full_attention", "linear_attention"],
            "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 8,
            "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
            "shared_expert_intermediate_size": 24, "mlp_only_layers": [2]}),
        "qwen3_next-sparse": ("Qwen3NextConfig", {
            **grouped, **linear, "num_hidden_layers": 2, "head_dim": 16,
            "layer_types": ["linear_attention", "full_attention"], "num_experts": 4,
            "num_experts_per_tok": 2, "moe_intermediate_size": 20,
            "shared_expert_intermediate_size": 24}),
        "qwen3_5_moe": ("Qwen3_5MoeTextConfig", {
            **{key: value for key, value in grouped.items() if key != "intermediate_size"},
            **linear, "num_hidden_layers": 3, "head_dim": 16,
            "layer_types": ["linear_attention", "full_attention", "linear_attention"],
            "rms_norm_eps": 1e-3, "num_experts": 6, "num_experts_per_tok": 3,
            "moe_intermediate_size": 20, "shared_expert_intermediate_size": 24}),
        "lfm2_moe": ("Lfm2MoeConfig", {
            **sparse, "num_hidden_layers": 3, "num_experts": 6, "moe_intermediate_size": 20,
            "num_dense_layers": 1, "layer_types": ["conv", "full_attention", "conv"],
            "num_experts_per_tok": 3}),
        "olmoe": ("OlmoeConfig", {**sparse, "intermediate_size": 32, "num_experts": 7,
                                  "pad_token_id": 0}),
        "olmoe-clipped": ("OlmoeConfig", {**sparse, "intermediate_size": 32, "num_experts": 7,
                                          "pad_token_id": 0, "clip_qkv": 0.7}),
        "granitemoe": ("GraniteMoeConfig", {**sparse, "intermediate_size": 20,
                                            "num_local_experts": 4, "embedding_multiplier": 3.0,
                                            "attention_multiplier": 0.2,
                                            "residual_multiplier": 0.6, "logits_scaling": 3.0}),
    }
    models["gpt_oss"] = ("GptOssConfig", {
        **sparse, "head_dim": 12, "sliding_window": 5, "num_local_experts": 5,
        "intermediate_size": 20, "swiglu_limit": 0.8, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "truncate": False,
            "original_max_position_embeddings": 16}})
    models["gpt_oss-mxfp4"] = ("GptOssConfig", {
        **models["gpt_oss"][1], "intermediate_size": 64, "num_local_experts": 4})
    models["granitemoeshared"] = ("GraniteMoeSharedConfig", {
        **sparse, "intermediate_size": 20, "num_local_experts": 4, "shared_intermediate_size": 28,
        "residual_multiplier": 0.6, "logits_scaling": 3.0})
    hybrid = {**sparse, "num_hidden_layers": 3, "shared_intermediate_size": 28,
              "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 8,
              "mamba_d_state": 12, "mamba_conv_bias": False, "mamba_proj_bias": True,
              "residual_multiplier": 0.6, "logits_scaling": 3.0}
    models["granitemoehybrid"] = ("GraniteMoeHybridConfig", {
        **hybrid, "intermediate_size": 20, "num_local_experts": 4})
    models["granitemoehybrid-dense"] = ("GraniteMoeHybridConfig", {
        **hybrid, "num_local_experts": 0, "position_embedding_type": "rope"})
    models["nemotron_h-experts"] = ("NemotronHConfig", {
        **models["nemotron_h"][1], "layers_block_type": ["mamba", "moe", "attention", "mamba", "moe"],
        "n_routed_experts": 6, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1,
        "moe_intermediate_size": 20, "moe_shared_expert_intermediate_size": 24,
        "routed_scaling_factor": 1.5})
    models["nemotron_h-latent"] = ("NemotronHConfig", {
        **models["nemotron_h-experts"][1], "moe_latent_size": 12, "mlp_bias": True})
    models["hunyuan_v1_moe"] = ("HunYuanMoEV1Config", {
        **grouped, "intermediate_size": 24, "num_experts": 5, "moe_topk": 2, "head_dim": 12})
    models["ernie4_5_moe"] = ("Ernie4_5_MoeConfig", {
        **grouped, "num_hidden_layers": 4, "moe_num_experts": 6, "moe_k": 3,
        "moe_intermediate_size": 20, "moe_num_shared_experts": 2, "moe_layer_start_index": 1,
        "moe_layer_end_index": 2})
    models["minimax_m2"] = ("MiniMaxM2Config", {
        **sparse, "intermediate_size": 20, "num_local_experts": 6, "head_dim": 12,
        "rope_parameters": {"rope_type": "default", "rope_theta": 100.0,
                            "partial_rotary_factor": 0.5}})
    latent = {**small, "num_hidden_layers": 3, "n_routed_experts": 8, "num_experts_per_tok": 3,
              "moe_intermediate_size": 20, "first_k_dense_replace": 1, "qk_nope_head_dim": 10,
              "qk_rope_head_dim": 6, "kv_lora_rank": 14, "v_head_dim": 12}
    chosen = {**grouped, "num_hidden_layers": 3, "n_routed_experts": 8, "num_experts_per_tok": 3,
              "moe_intermediate_size": 20, "first_k_dense_replace": 1, "n_shared_experts": 1,
              "routed_scaling_factor": 1.7}
    models |= {
        "deepseek_v2": ("DeepseekV2Config", {
            **latent, "q_lora_rank": None, "topk_method": "greedy", "n_shared_experts": 2}),
        "deepseek_v2-groups": ("DeepseekV2Config", {
            **latent, "q_lora_rank": 18, "topk_method": "group_limited_greedy", "n_group": 4,
            "topk_group": 2, "routed_scaling_factor": 2.0, "v_head_dim": 20,
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0,
                                "original_max_position_embeddings": 16, "mscale": 0.7,
                                "mscale_all_dim": 0.9}}),
        "deepseek_v3": ("DeepseekV3Config", {
            **latent, "num_key_value_heads": 4, "q_lora_rank": 18, "n_group": 4, "topk_group": 2,
            "attention_bias": True}),
        "glm4_moe": ("Glm4MoeConfig", {**chosen, "head_dim": 12, "use_qk_norm": True,
                                       "attention_bias": True}),
        "solar_open": ("SolarOpenConfig", {
            **{key: value for key, value in chosen.items()
               if key not in ("intermediate_size", "first_k_dense_replace")}, "head_dim": 12}),
        "dots1": ("Dots1Config", {**chosen, "n_group": 2, "topk_group": 1, "sliding_window": 5,
                                  "norm_topk_prob": True,
                                  "layer_types": ["sliding_attention", "full_attention",
                                                  "sliding_attention"]}),
    }
    # Heads of 12 and 20 elements, of the latter 5 pairs of 10 turned; queries see 6 keys or all.
    wide = {**grouped, "num_hidden_layers": 4, "head_dim": 12, "global_head_dim": 20,
            "num_global_key_value_heads": 1, "attention_k_eq_v": True, "pad_token_id": 0,
            "hidden_size_per_layer_input": 0, "sliding_window": 6, "final_logit_softcapping": 3.0,
            "layer_types": ["sliding_attention", "full_attention"] * 2, "rope_parameters": {
                "full_attention": {"rope_type": "proportional", "rope_theta": 5000.0,
                                   "partial_rotary_factor": 0.5},
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}
    small_gemma4 = {**wide, "num_kv_shared_layers": 2,
                    "attention_k_eq_v": False, "num_global_key_value_heads": None,
                    "hidden_size_per_layer_input": 10, "vocab_size_per_layer_input": 69,
                    "use_double_wide_mlp": True}
    vision = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2,
                  image_size=16, patch_size=8)
    models |= {
        "cwm": ("CwmConfig", {**grouped, "num_hidden_layers": 4, "head_dim": 12, "pad_token_id": 0,
                              "sliding_window": 5}),
        # Within one chunk; queries of layers without positions grow from the fourth token on.
        "llama4": ("Llama4TextConfig", {
            **grouped, "num_hidden_layers": 5, "head_dim": 12, "intermediate_size": 20,
            "intermediate_size_mlp": 28, "num_local_experts": 4, "moe_layers": [1, 3, 4],
            "floor_scale": 5, "attn_scale": 0.4, "pad_token_id": 0,
            "rope_parameters": {"rope_type": "llama3", "rope_theta": 300.0, "factor": 8.0,
                                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 32}}),
        "llama4-dense": ("Llama4TextConfig", {
            **grouped, "head_dim": 8, "intermediate_size": 20, "intermediate_size_mlp": 28,
            "num_local_experts": 4, "num_experts_per_tok": 2, "interleave_moe_layer_step": 2,
            "use_qk_norm": False, "attn_temperature_tuning": False, "no_rope_layers": [0, 1],
            "pad_token_id": 0}),
        # Positions beyond 8, from where on queries grow.
        "ministral3": ("Ministral3Config", {**grouped, "head_dim": 12, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "mscale": 1.0,
            "mscale_all_dim": 1.0, "original_max_position_embeddings": 8,
            "llama_4_scaling_beta": 0.4}}),
        "iquestcoder": ("IQuestCoderConfig", {**grouped, "head_dim": 12}),
        "vaultgemma": ("VaultGemmaConfig", {**grouped, "head_dim": 12, "query_pre_attn_scalar": 10,
                                            "sliding_window": 6}),
        "hyperclovax": ("HyperCLOVAXConfig", {**grouped, "embedding_multiplier": 3.0,
                                              "residual_multiplier": 0.6, "logits_scaling": 0.4}),
        "youtu": ("YoutuConfig", {**small, "q_lora_rank": 18, "qk_nope_head_dim": 10,
                                  "qk_rope_head_dim": 6, "kv_lora_rank": 14, "v_head_dim": 12,
                                  "num_key_value_heads": 4}),
        "glm4_moe_lite": ("Glm4MoeLiteConfig", {
            **{key: value for key, value in latent.items() if key != "first_k_dense_replace"},
            "q_lora_rank": 18, "num_key_value_heads": 4,
            "n_routed_experts": 6,
            "mlp_layer_types": ["sparse", "dense", "sparse"]}),
        "exaone_moe": ("ExaoneMoeConfig", {
            **sparse, "num_hidden_layers": 4, "sliding_window": 5, "num_experts": 6,
            "moe_intermediate_size": 20, "num_shared_experts": 2}),
        "flex_olmo": ("FlexOlmoConfig", {**sparse, "intermediate_size": 20, "num_experts": 4,
                                         "pad_token_id": 0}),
        "gemma4": ("Gemma4TextConfig", wide),
        # Keys and values of the first two layers alone, inputs of layers.
        "gemma4-small": ("Gemma4TextConfig", small_gemma4),
        "gemma4-experts": ("Gemma4TextConfig", {
            **wide, "enable_moe_block": True, "num_experts": 6, "top_k_experts": 3,
            "moe_intermediate_size": 20}),
        "gemma4_unified": ("Gemma4UnifiedTextConfig", {
            **{key: value for key, value in wide.items() if key != "hidden_size_per_layer_input"},
            "num_kv_shared_layers": 1, "attention_bias": True}),
        # Models that look at images, too.
        "gemma4-images": ("Gemma4Config", dict(
            text_config=small_gemma4, audio_config=None,
            vision_config={**vision, "head_dim": 8, "position_embedding_size": 16})),
        "gemma3-images": ("Gemma3Config", dict(
            text_config={**models["gemma3"][1], "pad_token_id": 0}, mm_tokens_per_image=1,
            vision_config=vision)),
        "mistral3-images": ("Mistral3Config", dict(
            text_config={**models["mistral"][1], "model_type": "mistral", "head_dim": 12},
            vision_config={**vision, "model_type": "pixtral", "head_dim": 8},
            tie_word_embeddings=False)),
        "llava-images": ("LlavaConfig", dict(
            text_config={**grouped, "model_type": "llama"}, tie_word_embeddings=False,
            vision_config={**vision, "model_type": "clip_vision_model", "projection_dim": 8})),
    }
    for name, original in (("phi3-longrope-short", 32), ("phi3-longrope-long", 16)):
        models[name] = ("Phi3Config", {
            **small, "num_key_value_heads": 4, "pad_token_id": 0, "sliding_window": 11,
            "original_max_position_embeddings": original,
            "rope_parameters": {"rope_type": "longrope", "rope_theta": 100.0,
                                "short_factor": [1.0, 1.1, 1.2, 1.3],
                                "long_factor": [2.0, 3.0, 4.0, 5.0]}})
    return models


def wide_models():
    """name -> (config class name, arguments)

    Widths are no multiples of a vector's or a panel's, heads and the vocabulary neither."""
    sizes = dict(vocab_size=389, hidden_size=264, intermediate_size=300, num_hidden_layers=2,
                 num_attention_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    grouped = {**sizes, "num_key_value_heads": 2}
    return {
        "wide-gpt2": ("GPT2Config", dict(vocab_size=389, n_embd=264, n_layer=2, n_head=4,
                                         n_positions=64, bos_token_id=1, eos_token_id=2)),
        "wide-llama": ("LlamaConfig", grouped),
        "wide-qwen3": ("Qwen3Config", {**grouped, "head_dim": 66}),
        "wide-gemma2": ("Gemma2Config", {**grouped, "head_dim": 66, "query_pre_attn_scalar": 66,
                                         "sliding_window": 6, "attn_logit_softcapping": 20.0,
                                         "final_logit_softcapping": 10.0}),
        "wide-gpt_neox": ("GPTNeoXConfig", {**sizes, "rope_parameters": {
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}}),
    }


FIXTURES = {
    "gpt2": torch.float32, "llama": torch.float32, "llama-llama3": torch.bfloat16,
    "llama-yarn": torch.float16, "llama-dynamic": torch.bfloat16, "llama-linear": torch.bfloat16,
    "llama-mqa-bias": torch.bfloat16, "llama-head-64": torch.bfloat16,
    "llama-head-80": torch.bfloat16, "mistral": torch.bfloat16,
    "qwen2": torch.bfloat16, "qwen2-window": torch.bfloat16, "qwen3": torch.float32,
    "gemma2": torch.float32, "gpt_neox": torch.float32, "gpt_neox-sequential": torch.float16,
    "phi3": torch.float32, "phi3-longrope-long": torch.bfloat16, "sinter": torch.bfloat16,
    "sinter-alibi-mqa": torch.float32, "sinter-mixed": torch.bfloat16,
    "sinter-parallel": torch.bfloat16, "sinter-learned-post": torch.bfloat16,
    "sinter-output-none": torch.bfloat16, "gemma3": torch.bfloat16, "granite": torch.float32,
    "smollm3": torch.bfloat16, "olmo3": torch.bfloat16, "cohere": torch.bfloat16,
    "phi": torch.float32, "mixtral": torch.float32, "sinter-experts": torch.float32,
}
# Of the other families, whose logits alone are compared: test/e2e/families.
FAMILIES = {
    "gemma": torch.bfloat16, "starcoder2": torch.bfloat16, "stablelm": torch.bfloat16,
    "stablelm-parallel": torch.bfloat16, "olmo2": torch.bfloat16, "nemotron": torch.float32,
    "gpt_neo": torch.bfloat16, "gptj": torch.bfloat16, "opt": torch.bfloat16,
    "opt-post": torch.bfloat16, "glm4": torch.bfloat16, "sinter-scaled": torch.bfloat16,
    "sinter-latent": torch.bfloat16, "sinter-clipped": torch.bfloat16, "sinter-weightless": torch.bfloat16,
    "sinter-grown": torch.bfloat16,
    "qwen2_moe": torch.bfloat16, "qwen2_moe-one": torch.bfloat16, "qwen3_moe": torch.bfloat16,
    "qwen3_5": torch.bfloat16, "qwen3_5_moe": torch.bfloat16,
    "qwen3_next": torch.bfloat16, "qwen3_next-sparse": torch.bfloat16,
    "olmoe": torch.bfloat16, "olmoe-clipped": torch.bfloat16, "granitemoe": torch.bfloat16,
    "falcon": torch.bfloat16, "falcon-new": torch.bfloat16, "falcon-alibi": torch.bfloat16,
    "bloom": torch.bfloat16, "mpt": torch.bfloat16, "gpt_bigcode": torch.bfloat16,
    "gpt_bigcode-heads": torch.bfloat16, "cohere2": torch.bfloat16, "exaone4": torch.bfloat16,
    "ernie4_5": torch.bfloat16, "seed_oss": torch.bfloat16, "hunyuan_v1_dense": torch.bfloat16,
    "arcee": torch.bfloat16, "olmo": torch.bfloat16, "glm": torch.bfloat16,
    "deepseek_v2": torch.bfloat16, "deepseek_v2-groups": torch.bfloat16,
    "deepseek_v3": torch.bfloat16, "glm4_moe": torch.bfloat16, "dots1": torch.bfloat16,
    "gpt_oss": torch.bfloat16, "gpt_oss-mxfp4": torch.bfloat16, "helium": torch.bfloat16,
    "granitemoeshared": torch.bfloat16, "hunyuan_v1_moe": torch.bfloat16, "ernie4_5_moe": torch.bfloat16,
    "minimax_m2": torch.bfloat16, "ministral": torch.bfloat16, "nanochat": torch.bfloat16,
    "llama4": torch.bfloat16, "llama4-dense": torch.bfloat16,
    "cwm": torch.bfloat16, "ministral3": torch.bfloat16,
    "iquestcoder": torch.bfloat16, "vaultgemma": torch.bfloat16,
    "hyperclovax": torch.bfloat16, "youtu": torch.bfloat16, "glm4_moe_lite": torch.bfloat16,
    "exaone_moe": torch.bfloat16, "flex_olmo": torch.bfloat16, "gemma3-images": torch.bfloat16,
    "mistral3-images": torch.bfloat16, "llava-images": torch.bfloat16,
    "gemma4": torch.bfloat16, "gemma4-small": torch.bfloat16, "gemma4-experts": torch.bfloat16,
    "gemma4_unified": torch.bfloat16, "gemma4-images": torch.bfloat16, "sinter-layered": torch.bfloat16,
    "stablelm-heads": torch.bfloat16, "phi-heads": torch.bfloat16, "persimmon": torch.bfloat16,
    "internlm3": torch.bfloat16, "jais2": torch.bfloat16, "exaone": torch.bfloat16,
    "apertus": torch.bfloat16, "lfm2": torch.bfloat16, "lfm2-bias": torch.bfloat16,
    "lfm2_moe": torch.bfloat16, "opt-narrow": torch.bfloat16, "cohere-heads": torch.bfloat16,
    "solar_open": torch.bfloat16,
    "bamba": torch.bfloat16, "mamba2": torch.bfloat16, "nemotron_h": torch.bfloat16,
    "nemotron_h-experts": torch.bfloat16, "nemotron_h-latent": torch.bfloat16,
    "granitemoehybrid": torch.bfloat16,
    "granitemoehybrid-dense": torch.bfloat16, "falcon_h1": torch.bfloat16,
    "falcon_h1-norm": torch.bfloat16,
}
