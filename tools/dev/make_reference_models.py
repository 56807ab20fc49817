#!/usr/bin/env python3
"""Tiny models with random weights, and the logits that they must give.

    make_reference_models.py OUT [--only NAME,...] [--fixtures | --families | --wide]

Writes OUT/<name>/{config.json, model.safetensors, expected.safetensors} for every family and for
what varies within each: rope types, head counts, odd sizes, windows, tied and untied heads. The
expected file holds `tokens` (I32 [T]) and `logits` (F32 [T, V]) of one forward pass in float32.
Families of Hugging Face's are computed by transformers, `sinter` models by the plain forward pass
below, which reads the same config.json keys. With --fixtures only the models that are kept under
test/e2e/models are written, with --families those of test/e2e/families; with --wide those of
test/e2e/wide, one of each kind of layer, wide enough for tiles, tails and threads. Their weights are
not files: both sides make them from their names (seeded_weight, test/e2e/SeededWeights.h).

Needs Python packages torch, transformers, safetensors and xxhash; nothing in the build or the tests
does.
"""

import argparse
import json
import math
import pathlib

import numpy
import mxfp4
import torch
import torch.nn.functional as F
import xxhash
from safetensors.torch import save_file

TOKENS = 23


# ---- Models of Hugging Face's families -----------------------------------------------------------


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
        "phi": ("PhiConfig", {**grouped}),
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
        "cohere": ("CohereConfig", {**grouped, "pad_token_id": 0, "logit_scale": 0.3}),
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
        "olmoe": ("OlmoeConfig", {**sparse, "intermediate_size": 32, "num_experts": 7,
                                  "pad_token_id": 0}),
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
        "dots1": ("Dots1Config", {**chosen, "n_group": 2, "topk_group": 1, "sliding_window": 5,
                                  "norm_topk_prob": True,
                                  "layer_types": ["sliding_attention", "full_attention",
                                                  "sliding_attention"]}),
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


def mix(x):
    """The finalizer of SplitMix64 on an array of uint64."""
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def seeded_weight(name, tensor):
    """What fillRandomWeight (runtime/Weights/RandomWeights.cpp) makes of a name for the seed 0: of a
    matrix with a deviation of one over the root of its columns, else with 0.2 around the number
    that all of `tensor` begins with."""
    shape, vector = tensor.shape, tensor.dim() < 2
    mean = numpy.float32(tensor.flatten()[0].item() if vector else 0)
    deviation = numpy.float32(0.2 if vector else 1 / math.sqrt(shape[-1]))
    key = mix(numpy.array([xxhash.xxh3_64_intdigest(name.encode())], dtype=numpy.uint64))
    index = numpy.arange(math.prod(shape), dtype=numpy.uint64)
    bits = mix(key + index * numpy.uint64(0x9E3779B97F4A7C15))
    total = sum(((bits >> numpy.uint64(16 * i)) & numpy.uint64(0xFFFF)).astype(numpy.int32)
                for i in range(4))
    scale = deviation * numpy.float32(1.7320508) / numpy.float32(65536)
    numbers = mean + (total - 2 * 65535).astype(numpy.float32) * scale
    return torch.from_numpy(numbers).reshape(shape)


def make_wide_model(config_class, arguments):
    """The configuration's keys, and a function of rows of tokens to logits with its parameters."""
    import transformers

    config = getattr(transformers, config_class)(**arguments)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.float().eval()
    # What norms and biases begin with, whatever the initialization makes of matrices.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if config_class == "GPTNeoXConfig":  # has another name for its head in files
                name = name.replace("lm_head", "embed_out")
            parameter.copy_(seeded_weight(name, parameter))
    keys = {"architectures": [type(model).__name__], **json.loads(config.to_json_string())}
    return keys, lambda rows: model(rows, use_cache=False).logits, list(model.parameters())


def randomize(tensors):
    """Weights at which every part of a model matters."""
    with torch.no_grad():
        for name, tensor in tensors:
            noise = torch.randn(tensor.shape)
            if tensor.dim() >= 2:
                fan_in = tensor.shape[0] if ".c_" in name else tensor.shape[-1]
                tensor.copy_(noise / math.sqrt(fan_in))
            elif name.endswith("bias"):
                tensor.copy_(0.2 * noise)
            else:
                tensor.copy_(tensor + 0.2 * noise)


def through(tensor, dtype):
    return tensor.to(dtype).float()


def make_hugging_face(out, config_class, arguments, dtype):
    import transformers

    config = getattr(transformers, config_class)(**arguments)
    # Falcon's eager attention adds its biases twice.
    attention = "sdpa" if arguments.get("alibi") else "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    model = model.float().eval()
    # What a router adds to its scores is a buffer.
    biases = [(n, b) for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")]
    randomize([*model.named_parameters(), *biases])
    with torch.no_grad():
        for parameter in [*model.parameters(), *(bias for _, bias in biases)]:
            parameter.copy_(through(parameter, dtype))
    packed = mxfp4.pack_experts(model) if out.name.endswith("-mxfp4") else {}
    tokens = torch.randint(0, config.vocab_size, (TOKENS,))
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    model.to(dtype).save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    if packed:
        mxfp4.write_packed(out, packed)
    return tokens, logits


# ---- Models of our own ---------------------------------------------------------------------------


def sinter_models():
    small = dict(model_type="sinter", vocab_size=59, hidden_size=24, intermediate_size=36,
                 num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=48)
    return {
        "sinter": {**small},
        "sinter-alibi-mqa": {**small, "num_attention_heads": 6, "head_dim": 7,
                             "num_key_value_heads": 1, "position_embedding_type": "alibi",
                             "mlp_type": "relu2", "norm_type": "layer_norm", "attention_bias": True,
                             "mlp_bias": True, "lm_head_bias": True, "tie_word_embeddings": False},
        "sinter-mixed": {**small, "num_hidden_layers": 4, "num_key_value_heads": 2,
                         "layer_types": ["sliding_attention", "full_attention"] * 2,
                         "sliding_window": 4, "use_qk_norm": True, "mlp_type": "geglu",
                         "norm_placement": "pre_post", "norm_unit_offset": True,
                         "attn_logit_softcapping": 2.0, "final_logit_softcapping": 4.0,
                         "embedding_multiplier": 1.5, "share_layers": 2,
                         "query_pre_attn_scalar": 9},
        "sinter-parallel": {**small, "use_parallel_residual": True,
                            "parallel_residual_shared_norm": True, "mlp_type": "gelu_tanh",
                            "norm_type": "layer_norm", "rope_interleave": True, "head_dim": 10,
                            "partial_rotary_factor": 0.6, "attention_output_bias": True},
        "sinter-learned-post": {**small, "position_embedding_type": "learned", "position_offset": 2,
                                "norm_placement": "post", "norm_type": "layer_norm",
                                "mlp_type": "gelu", "mlp_bias": True, "attention_bias": True,
                                "share_layers": [0, 0]},
        "sinter-output-none": {**small, "position_embedding_type": "none",
                               "norm_placement": "output", "mlp_type": "geglu_tanh",
                               "num_key_value_heads": 2},
        "sinter-scaled": {**small, "num_hidden_layers": 3, "num_key_value_heads": 2,
                          "layer_types": ["sliding_attention", "full_attention", "full_attention"],
                          "sliding_window": 5, "use_qk_norm": True,
                          "qk_norm_over": "all_heads", "no_rope_layers": [1, 1, 0],
                          "rope_parameters": {"full_attention": {"rope_theta": 300.0},
                                              "sliding_attention": {"rope_theta": 50.0}},
                          "residual_multiplier": 0.7, "logit_scale": 1.3},
        "sinter-clipped": {**small, "num_key_value_heads": 2, "embedding_norm": True,
                           "attention_sinks": True, "layer_types": ["sliding_attention",
                                                                    "full_attention"],
                           "sliding_window": 5, "norm_type": "layer_norm", "use_qk_norm": True,
                           "qk_norm_place": "behind_rotary", "clip_qkv": 1.2},
        "sinter-weightless": {**small, "embedding_norm": True, "norm_weights": False,
                              "use_qk_norm": True, "norm_placement": "pre_post"},
        "sinter-latent": {**small, "num_hidden_layers": 3, "kv_lora_rank": 14, "q_lora_rank": 18,
                          "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 20,
                          "layer_types": ["full_attention", "sliding_attention",
                                          "full_attention"], "sliding_window": 5,
                          "num_experts": 8, "num_experts_per_tok": 3, "n_group": 4,
                          "topk_group": 2, "group_score": "two_largest", "router_score": "sigmoid",
                          "router_bias": True, "moe_intermediate_size": 16, "norm_topk_prob": True,
                          "routed_scaling_factor": 1.5, "mlp_only_layers": [0]},
        "sinter-experts": {**small, "num_hidden_layers": 3, "num_experts": 5,
                           "num_experts_per_tok": 3, "moe_intermediate_size": 16,
                           "norm_topk_prob": True, "shared_expert_intermediate_size": 20,
                           "shared_expert_gate": True, "mlp_only_layers": [1],
                           "mlp_type": "geglu", "norm_placement": "pre_post"},
    }


def sinter_tensors(c):
    """The tensors that a config asks for, by name; norms begin at their neutral weight."""
    hidden, mlp = c["hidden_size"], c["intermediate_size"]
    heads = c["num_attention_heads"]
    head_dim = c.get("head_dim", hidden // heads)
    keys = c.get("num_key_value_heads", heads) * head_dim
    place = c.get("norm_placement", "pre")
    layer_norm = c.get("norm_type") == "layer_norm"
    neutral = 0.0 if c.get("norm_unit_offset") else 1.0
    tensors = {"embed_tokens.weight": torch.zeros(c["vocab_size"], hidden)}

    def linear(name, out, inputs, bias):
        tensors[name + ".weight"] = torch.zeros(out, inputs)
        if bias:
            tensors[name + ".bias"] = torch.zeros(out)

    def norm(name, size=hidden, bias=layer_norm):
        if not c.get("norm_weights", True):
            return
        tensors[name + ".weight"] = torch.full((size,), neutral)
        if bias:
            tensors[name + ".bias"] = torch.zeros(size)

    if c.get("position_embedding_type") == "learned":
        rows = c["max_position_embeddings"] + c.get("position_offset", 0)
        tensors["embed_positions.weight"] = torch.zeros(rows, hidden)
    bias = c.get("attention_bias", False)
    for group in sorted(set(layer_groups(c))):
        stem = f"layers.{group}."
        if place in ("pre", "pre_post"):
            norm(stem + "attn_norm")
            if not c.get("parallel_residual_shared_norm"):
                norm(stem + "mlp_norm")
        if place != "pre":
            norm(stem + "attn_post_norm")
            norm(stem + "mlp_post_norm")
        output_bias = c.get("attention_output_bias", bias)
        if c.get("attention_sinks"):
            tensors[stem + "attn.sinks"] = torch.zeros(heads)
        if "kv_lora_rank" in c:
            rank, plain, turned, value = (c[k] for k in ("kv_lora_rank", "qk_nope_head_dim",
                                                         "qk_rope_head_dim", "v_head_dim"))
            if "q_lora_rank" in c:
                linear(stem + "attn.q_down", c["q_lora_rank"], hidden, bias)
                norm(stem + "attn.q_down_norm", c["q_lora_rank"], False)
            linear(stem + ("attn.q_up" if "q_lora_rank" in c else "attn.q_proj"),
                   heads * (plain + turned), c.get("q_lora_rank", hidden), False)
            linear(stem + "attn.kv_down", rank + turned, hidden, bias)
            norm(stem + "attn.kv_norm", rank, False)
            linear(stem + "attn.kv_up", heads * (plain + value), rank, False)
            linear(stem + "attn.o_proj", hidden, heads * value, output_bias)
        else:
            linear(stem + "attn.q_proj", heads * head_dim, hidden, bias)
            linear(stem + "attn.k_proj", keys, hidden, bias)
            linear(stem + "attn.v_proj", keys, hidden, bias)
            linear(stem + "attn.o_proj", hidden, heads * head_dim, output_bias)
        if c.get("use_qk_norm"):
            whole = c.get("qk_norm_over") == "all_heads"
            norm(stem + "attn.q_norm", heads * head_dim if whole else head_dim, False)
            norm(stem + "attn.k_norm", keys if whole else head_dim, False)
        def add_mlp(name, size, bias=c.get("mlp_bias", False)):
            if c.get("mlp_type", "swiglu") in ("swiglu", "geglu", "geglu_tanh", "reglu"):
                linear(stem + name + ".gate_proj", size, hidden, bias)
            linear(stem + name + ".up_proj", size, hidden, bias)
            linear(stem + name + ".down_proj", hidden, size, bias)

        if "num_experts" not in c or group in c.get("mlp_only_layers", []):
            add_mlp("mlp", mlp)
            continue
        linear(stem + "moe.router", c["num_experts"], hidden, False)
        if c.get("router_bias"):
            tensors[stem + "moe.router_bias"] = torch.zeros(c["num_experts"])
        for expert in range(c["num_experts"]):
            add_mlp(f"moe.experts.{expert}", c.get("moe_intermediate_size", mlp), False)
        if "shared_expert_intermediate_size" in c:
            add_mlp("moe.shared", c["shared_expert_intermediate_size"])
        if c.get("shared_expert_gate"):
            linear(stem + "moe.shared_gate", 1, hidden, False)
    if c.get("embedding_norm"):
        norm("embed_norm")
    if place != "post":
        norm("norm")
    if not c.get("tie_word_embeddings", True):
        tensors["lm_head.weight"] = torch.zeros(c["vocab_size"], hidden)
    if c.get("lm_head_bias"):
        tensors["lm_head.bias"] = torch.zeros(c["vocab_size"])
    return tensors


def layer_groups(c):
    share = c.get("share_layers", 1)
    count = c["num_hidden_layers"]
    return share if isinstance(share, list) else [i // share for i in range(count)]


def alibi_slopes(heads):
    power = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    return slopes + [2 ** (-4 * i / power) for i in range(1, 2 * (heads - power), 2)]


def rotate(x, c, head_dim):
    """x: [heads, T, head_dim]"""
    width = int(head_dim * c.get("partial_rotary_factor", 1.0))
    inverse = c.get("rope_theta", 10000.0) ** -(torch.arange(0, width, 2).double() / width)
    angle = torch.arange(x.shape[1])[:, None].double() * inverse
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    turned, rest = x[..., :width], x[..., width:]
    if c.get("rope_interleave"):
        a, b = turned[..., 0::2], turned[..., 1::2]
        turned = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        turned = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    return torch.cat((turned, rest), -1)


def sinter_forward(c, w, tokens):
    hidden, heads = c["hidden_size"], c["num_attention_heads"]
    head_dim = c.get("head_dim", hidden // heads)
    kv_heads = c.get("num_key_value_heads", heads)
    place = c.get("norm_placement", "pre")
    position = c.get("position_embedding_type", "rotary")
    mlp_type = c.get("mlp_type", "swiglu")
    count = len(tokens)
    activation = {"swiglu": F.silu, "geglu": F.gelu, "gelu": F.gelu, "relu": F.relu,
                  "reglu": F.relu, "silu": F.silu, "relu2": lambda x: F.relu(x) ** 2,
                  "geglu_tanh": lambda x: F.gelu(x, approximate="tanh"),
                  "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}[mlp_type]

    def linear(name, x):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def rms(name, x, eps=c.get("rms_norm_eps", 1e-5)):
        weight = w.get(name + ".weight", 1.0) + (1 if c.get("norm_unit_offset") else 0)
        square = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(square + eps) * weight

    def norm(name, x):
        if c.get("norm_type") != "layer_norm":
            return rms(name, x)
        return F.layer_norm(x, x.shape[-1:], w.get(name + ".weight"), w.get(name + ".bias"),
                            c.get("layer_norm_eps", 1e-5))

    def capped(x, cap):
        return cap * torch.tanh(x / cap) if cap else x

    def latent_heads(stem, x):
        plain, turned, rank = (c[k] for k in ("qk_nope_head_dim", "qk_rope_head_dim",
                                              "kv_lora_rank"))
        q = (linear(stem + "attn.q_up", rms(stem + "attn.q_down_norm",
                                            linear(stem + "attn.q_down", x), 1e-6))
             if "q_lora_rank" in c else linear(stem + "attn.q_proj", x))
        q = q.view(count, heads, plain + turned).transpose(0, 1)
        both = linear(stem + "attn.kv_down", x)
        made = linear(stem + "attn.kv_up", rms(stem + "attn.kv_norm", both[:, :rank], 1e-6))
        made = made.view(count, heads, -1).transpose(0, 1)
        r = rotate(both[:, rank:][None], c, turned).expand(heads, -1, -1)
        q = torch.cat((q[..., :plain], rotate(q[..., plain:], c, turned)), -1)
        return q, torch.cat((made[..., :plain], r), -1), made[..., plain:]

    def attention(stem, x, window, rotates):
        if "kv_lora_rank" in c:
            return attend(stem, *latent_heads(stem, x), window)
        clip = c.get("clip_qkv", math.inf)
        split = lambda y, n: y.clamp(-clip, clip).view(count, n, head_dim).transpose(0, 1)
        q = split(linear(stem + "attn.q_proj", x), heads)
        k = split(linear(stem + "attn.k_proj", x), kv_heads)
        v = split(linear(stem + "attn.v_proj", x), kv_heads)
        whole = c.get("qk_norm_over") == "all_heads"
        unite = lambda y: y.transpose(0, 1).reshape(count, -1)
        divide = lambda y, n: y.view(count, n, head_dim).transpose(0, 1)
        over = lambda name, y: divide(rms(name, unite(y)), len(y)) if whole else rms(name, y)
        norms = lambda q, k: (over(stem + "attn.q_norm", q), over(stem + "attn.k_norm", k))
        behind = c.get("qk_norm_place") == "behind_rotary"
        if c.get("use_qk_norm") and not behind:
            q, k = norms(q, k)
        if position == "rotary" and rotates:
            kind = c.get("rope_parameters", {}).get(
                "sliding_attention" if window else "full_attention", {})
            q, k = (rotate(y, {**c, **kind}, head_dim) for y in (q, k))
        if c.get("use_qk_norm") and behind:
            q, k = norms(q, k)
        k, v = (y.repeat_interleave(heads // kv_heads, 0) for y in (k, v))
        return attend(stem, q, k, v, window)

    def attend(stem, q, k, v, window):
        scores = q @ k.transpose(1, 2) / math.sqrt(c.get("query_pre_attn_scalar", q.shape[-1]))
        scores = capped(scores, c.get("attn_logit_softcapping"))
        distance = torch.arange(count)[None, :] - torch.arange(count)[:, None]
        if position == "alibi":
            scores = scores + torch.tensor(alibi_slopes(heads))[:, None, None] * distance
        hiding = distance > 0
        if window:
            hiding = hiding | (distance <= -window)
        scores = scores.masked_fill(hiding, float("-inf"))
        if stem + "attn.sinks" in w:
            sinks = w[stem + "attn.sinks"][:, None, None].expand(-1, count, 1)
            weights = torch.cat((scores, sinks), -1).softmax(-1)[..., :-1]
        else:
            weights = scores.softmax(-1)
        return linear(stem + "attn.o_proj", (weights @ v).transpose(0, 1).reshape(count, -1))

    def mlp(stem, x):
        if stem + "moe.router.weight" in w:
            return experts(stem + "moe.", x)
        return plain_mlp(stem + "mlp", x)

    def plain_mlp(name, x):
        up = linear(name + ".up_proj", x)
        gated = name + ".gate_proj.weight" in w
        inner = activation(linear(name + ".gate_proj", x)) * up if gated else activation(up)
        return linear(name + ".down_proj", inner)

    def experts(stem, x):
        scores = linear(stem + "router", x)
        scores = scores.sigmoid() if c.get("router_score") == "sigmoid" else scores.softmax(-1)
        choice = scores + w.get(stem + "router_bias", 0)
        groups = c.get("n_group", 1)
        by_group = choice.view(count, groups, -1)
        two = c.get("group_score") == "two_largest"
        best = by_group.topk(2 if two else 1, -1)[0].sum(-1).topk(c.get("topk_group", 1), -1)[1]
        is_open = torch.zeros(count, groups, dtype=torch.bool).scatter(1, best, True)
        choice = by_group.masked_fill(~is_open[..., None], -math.inf).view(count, -1)
        ids = choice.topk(c["num_experts_per_tok"], -1)[1]
        chosen = scores.gather(-1, ids)
        if c.get("norm_topk_prob"):
            chosen = chosen / chosen.sum(-1, keepdim=True)
        chosen = chosen * c.get("routed_scaling_factor", 1.0)
        y = torch.stack([
            sum(p * plain_mlp(f"{stem}experts.{e}", row) for p, e in zip(weights, row_ids.tolist()))
            for row, weights, row_ids in zip(x, chosen, ids)])
        if stem + "shared.up_proj.weight" in w:
            shared = plain_mlp(stem + "shared", x)
            if c.get("shared_expert_gate"):
                shared = linear(stem + "shared_gate", x).sigmoid() * shared
            y = y + shared
        return y

    h = w["embed_tokens.weight"][tokens] * c.get("embedding_multiplier", 1.0)
    if position == "learned":
        h = h + w["embed_positions.weight"][torch.arange(count) + c.get("position_offset", 0)]
    if c.get("embedding_norm"):
        h = norm("embed_norm", h)
    for index, group in enumerate(layer_groups(c)):
        stem = f"layers.{group}."
        kind = c.get("layer_types", ["full_attention"] * c["num_hidden_layers"])[index]
        window = c["sliding_window"] if kind == "sliding_attention" else None
        rotates = c.get("no_rope_layers", [1] * c["num_hidden_layers"])[index]
        scale = c.get("residual_multiplier", 1.0)
        if c.get("use_parallel_residual"):
            shared = c.get("parallel_residual_shared_norm")
            h = (h + scale * attention(stem, norm(stem + "attn_norm", h), window, rotates)
                 + scale * mlp(stem, norm(stem + ("attn_norm" if shared else "mlp_norm"), h)))
            continue
        for block, name in ((lambda x: attention(stem, x, window, rotates), "attn"),
                            (lambda x: mlp(stem, x), "mlp")):
            if place == "post":
                h = norm(f"{stem}{name}_post_norm", h + scale * block(h))
                continue
            y = block(norm(f"{stem}{name}_norm", h) if place != "output" else h)
            h = h + scale * (norm(f"{stem}{name}_post_norm", y) if place != "pre" else y)
    if place != "post":
        h = norm("norm", h)
    head = w.get("lm_head.weight", w["embed_tokens.weight"])
    logits = F.linear(h * c.get("logit_scale", 1.0), head, w.get("lm_head.bias"))
    return capped(logits, c.get("final_logit_softcapping"))


def make_sinter(out, config, dtype):
    tensors = sinter_tensors(config)
    randomize(tensors.items())
    tensors = {name: through(tensor, dtype) for name, tensor in tensors.items()}
    tokens = torch.randint(0, config["vocab_size"], (TOKENS,))
    logits = sinter_forward(config, tensors, tokens)
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({name: tensor.to(dtype) for name, tensor in tensors.items()},
              out / "model.safetensors")
    return tokens, logits


# ---- Everything ----------------------------------------------------------------------------------

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
    "qwen2_moe": torch.bfloat16, "qwen2_moe-one": torch.bfloat16, "qwen3_moe": torch.bfloat16,
    "olmoe": torch.bfloat16, "granitemoe": torch.bfloat16,
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
}


def make_wide(folder, only):
    for name, (config_class, arguments) in wide_models().items():
        if only and name not in only.split(","):
            continue
        torch.manual_seed(sum(name.encode()))
        tokens = torch.randint(0, arguments["vocab_size"], (TOKENS,))
        keys, forward, _ = make_wide_model(config_class, arguments)
        with torch.no_grad():
            logits = forward(tokens[None])[0]
        out = folder / name
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text(json.dumps(keys, indent=2) + "\n")
        save_file({"tokens": tokens.to(torch.int32), "logits": logits.contiguous()},
                  out / "expected.safetensors")
        print(f"{name}: logits {logits.min():.2f} to {logits.max():.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--fixtures", action="store_true")
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    if options.wide:
        return make_wide(options.out, options.only)
    hugging_face, own = hugging_face_models(), sinter_models()
    names = list(hugging_face) + list(own)
    if options.only:
        names = options.only.split(",")
    if options.fixtures:
        names = [name for name in names if name in FIXTURES]
    if options.families:
        names = [name for name in names if name in FAMILIES]
    for name in names:
        torch.manual_seed(sum(name.encode()))
        out = options.out / name
        dtype = (FIXTURES | FAMILIES).get(name, torch.float32)
        if name in own:
            tokens, logits = make_sinter(out, own[name], dtype)
        else:
            tokens, logits = make_hugging_face(out, *hugging_face[name], dtype)
        save_file({"tokens": tokens.to(torch.int32), "logits": logits.contiguous()},
                  out / "expected.safetensors")
        print(f"{name}: {sum(f.stat().st_size for f in out.iterdir()) // 1024} KiB, "
              f"logits {logits.min():.2f} to {logits.max():.2f}")


if __name__ == "__main__":
    main()
