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
from reference_configs import FAMILIES, FIXTURES, hugging_face_models, wide_models
from safetensors.torch import save_file

TOKENS = 23


# ---- Models of Hugging Face's families -----------------------------------------------------------


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
    of_images = hasattr(config, "vision_config")
    auto = transformers.AutoModelForImageTextToText if of_images else transformers.AutoModelForCausalLM
    model = auto.from_config(config, attn_implementation=attention)
    model = model.float().eval()
    # What a router adds to its scores is a buffer, and so is the factor of a layer.
    buffers = [(n, b) for n, b in model.named_buffers()
               if n.endswith(("e_score_correction_bias", "layer_scalar"))]
    randomize([*model.named_parameters(), *buffers])
    with torch.no_grad():
        for parameter in [*model.parameters(), *(buffer for _, buffer in buffers)]:
            parameter.copy_(through(parameter, dtype))
    packed = mxfp4.pack_experts(model) if out.name.endswith("-mxfp4") else {}
    tokens = torch.randint(0, config.get_text_config().vocab_size, (TOKENS,))
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
        "sinter-grown": {**small, "num_key_value_heads": 2, "query_growth": 0.4,
                         "query_growth_length": 5, "num_experts": 4, "num_experts_per_tok": 2,
                         "moe_intermediate_size": 16, "expert_scale_place": "input",
                         "router_score": "sigmoid", "shared_expert_intermediate_size": 20},
        "sinter-layered": {**small, "num_hidden_layers": 5, "head_dim": 6, "num_key_value_heads": 2,
                           "layer_types": ["sliding_attention", "full_attention",
                                           "sliding_attention", "sliding_attention",
                                           "full_attention"],
                           "sliding_window": 5, "global_head_dim": 10,
                           "num_global_key_value_heads": 1, "attention_k_eq_v": True,
                           "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
                           "use_qk_norm": True, "value_norm": True, "layer_scales": True,
                           "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 61,
                           "rope_parameters": {
                               "full_attention": {"rope_type": "proportional", "rope_theta": 300.0,
                                                  "partial_rotary_factor": 0.5},
                               "sliding_attention": {"rope_theta": 50.0}},
                           "num_experts": 5, "num_experts_per_tok": 2,
                           "moe_intermediate_size": 16, "norm_topk_prob": True,
                           "shared_expert_intermediate_size": 20, "mlp_only_layers": [1, 3, 4],
                           "expert_norms": True, "router_norm": True, "expert_scales": True,
                           "mlp_type": "geglu_tanh", "norm_placement": "pre_post"},
        "sinter-weightless": {**small, "embedding_norm": True, "norm_weights": False,
                              "use_qk_norm": True, "qk_norm_over": "own_heads",
                              "norm_placement": "pre_post"},
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
        index = layer_groups(c).index(group)
        head_dim, kv_heads, source = layer_heads(c, index)
        keys = kv_heads * head_dim
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
            if source is None:
                linear(stem + "attn.k_proj", keys, hidden, bias)
                if not keys_are_values(c, index):
                    linear(stem + "attn.v_proj", keys, hidden, bias)
            linear(stem + "attn.o_proj", hidden, heads * head_dim, output_bias)
        if c.get("use_qk_norm"):
            whole = c.get("qk_norm_over") == "all_heads"
            norm(stem + "attn.q_norm", heads * head_dim if whole else head_dim, False)
            if source is None:
                norm(stem + "attn.k_norm", keys if whole else head_dim, False)
        if c.get("layer_scales"):
            tensors[stem + "scale"] = torch.ones(1)
        if "hidden_size_per_layer_input" in c:
            linear(stem + "input.gate", c["hidden_size_per_layer_input"], hidden, False)
            linear(stem + "input.proj", hidden, c["hidden_size_per_layer_input"], False)
            norm(stem + "input.norm")

        def add_mlp(name, size, bias=c.get("mlp_bias", False)):
            if c.get("mlp_type", "swiglu") in ("swiglu", "geglu", "geglu_tanh", "reglu"):
                linear(stem + name + ".gate_proj", size, hidden, bias)
            linear(stem + name + ".up_proj", size, hidden, bias)
            linear(stem + name + ".down_proj", hidden, size, bias)

        if "num_experts" not in c or group in c.get("mlp_only_layers", []):
            wide = c.get("use_double_wide_mlp") and source is not None
            add_mlp("mlp", 2 * mlp if wide else mlp)
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
        if c.get("expert_norms"):
            for name in ("norm", "post_norm", "shared_post_norm"):
                norm(stem + "moe." + name)
        if c.get("router_norm"):
            norm(stem + "moe.router_norm", hidden, False)
        if c.get("expert_scales"):
            tensors[stem + "moe.expert_scales"] = torch.ones(c["num_experts"])
    if "hidden_size_per_layer_input" in c:
        size = c["hidden_size_per_layer_input"]
        rows = c.get("vocab_size_per_layer_input", c["vocab_size"])
        tensors["embed_layers.weight"] = torch.zeros(rows, c["num_hidden_layers"] * size)
        linear("embed_layers_proj", c["num_hidden_layers"] * size, hidden, False)
        norm("embed_layers_norm", size)
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


def is_full(c, index):
    return c.get("layer_types", ["full_attention"] * (index + 1))[index] == "full_attention"


def layer_heads(c, index):
    """The width of a layer's heads, the number of those of keys, and whose they are if not its own."""
    head_dim = c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])
    kv_heads = c.get("num_key_value_heads", c["num_attention_heads"])
    if is_full(c, index):
        head_dim = c.get("global_head_dim", head_dim)
        kv_heads = c.get("num_global_key_value_heads", kv_heads)
    own = c["num_hidden_layers"] - c.get("num_kv_shared_layers", 0)
    sources = [i for i in range(own) if is_full(c, i) == is_full(c, index)]
    return head_dim, kv_heads, sources[-1] if index >= own else None


def keys_are_values(c, index):
    return c.get("attention_k_eq_v", False) and is_full(c, index)


def alibi_slopes(heads):
    power = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    return slopes + [2 ** (-4 * i / power) for i in range(1, 2 * (heads - power), 2)]


def rotate(x, c, head_dim):
    """x: [heads, T, head_dim]"""
    partial, proportional = c.get("partial_rotary_factor", 1.0), c.get("rope_type") == "proportional"
    width = head_dim if proportional else int(head_dim * partial)
    inverse = c.get("rope_theta", 10000.0) ** -(torch.arange(0, width, 2).double() / width)
    if proportional:
        inverse[int(partial * head_dim // 2):] = 0
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

    made = {}  # keys and values of the layers so far

    def attention(stem, x, window, rotates, index):
        if "kv_lora_rank" in c:
            return attend(stem, *latent_heads(stem, x), window)
        head_dim, kv_heads, source = layer_heads(c, index)
        clip = c.get("clip_qkv", math.inf)
        split = lambda y, n: y.clamp(-clip, clip).view(count, n, head_dim).transpose(0, 1)
        q = split(linear(stem + "attn.q_proj", x), heads)
        if source is None:
            k = v = split(linear(stem + "attn.k_proj", x), kv_heads)
            if not keys_are_values(c, index):
                v = split(linear(stem + "attn.v_proj", x), kv_heads)
            if c.get("value_norm"):
                v = v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + c.get("rms_norm_eps", 1e-5))
        else:  # turned in place of keys, which are there already
            k, v = torch.zeros(kv_heads, count, head_dim), made[source][1]
        whole = c.get("qk_norm_over") == "all_heads"
        unite = lambda y: y.transpose(0, 1).reshape(count, -1)
        divide = lambda y, n: y.view(count, n, head_dim).transpose(0, 1)
        over = lambda name, y: divide(rms(name, unite(y)), len(y)) if whole else rms(name, y)
        norms = lambda q, k: (over(stem + "attn.q_norm", q),
                              over(stem + "attn.k_norm", k) if source is None else k)
        behind = c.get("qk_norm_place") == "behind_rotary"
        if c.get("use_qk_norm") and not behind:
            q, k = norms(q, k)
        if position == "rotary" and rotates:
            kind = c.get("rope_parameters", {}).get(
                "sliding_attention" if window else "full_attention", {})
            q, k = (rotate(y, {**c, **kind}, head_dim) for y in (q, k))
            length = c.get("query_growth_length", c["max_position_embeddings"])
            grown = torch.log1p(torch.floor(torch.arange(count) / length))
            q = q * (1 + c.get("query_growth", 0) * grown)[:, None]
        if c.get("use_qk_norm") and behind:
            q, k = norms(q, k)
        made[index] = k, v = made[source] if source is not None else (k, v)
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

    def mlp(stem, x, begin):
        if stem + "moe.router.weight" in w:
            return experts(stem + "moe.", x, begin)
        return plain_mlp(stem + "mlp", x)

    def plain_mlp(name, x):
        up = linear(name + ".up_proj", x)
        gated = name + ".gate_proj.weight" in w
        inner = activation(linear(name + ".gate_proj", x)) * up if gated else activation(up)
        return linear(name + ".down_proj", inner)

    def experts(stem, x, begin):
        shared_x, x = x, norm(stem + "norm", begin) if c.get("expert_norms") else x
        routed = (rms(stem + "router_norm", begin) / math.sqrt(hidden) if c.get("router_norm")
                  else x)
        scores = linear(stem + "router", routed)
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
        if c.get("expert_scales"):
            chosen = chosen * w[stem + "expert_scales"][ids]
        at_input = c.get("expert_scale_place") == "input"
        expert = lambda p, e, row: (plain_mlp(f"{stem}experts.{e}", p * row) if at_input
                                    else p * plain_mlp(f"{stem}experts.{e}", row))
        y = torch.stack([sum(expert(p, e, row) for p, e in zip(weights, row_ids.tolist()))
                         for row, weights, row_ids in zip(x, chosen, ids)])
        if c.get("expert_norms"):
            y = norm(stem + "post_norm", y)
        if stem + "shared.up_proj.weight" in w:
            shared = plain_mlp(stem + "shared", shared_x)
            if c.get("shared_expert_gate"):
                shared = linear(stem + "shared_gate", shared_x).sigmoid() * shared
            y = y + (norm(stem + "shared_post_norm", shared) if c.get("expert_norms") else shared)
        return y

    h = w["embed_tokens.weight"][tokens] * c.get("embedding_multiplier", 1.0)
    if position == "learned":
        h = h + w["embed_positions.weight"][torch.arange(count) + c.get("position_offset", 0)]
    size = c.get("hidden_size_per_layer_input")
    if size:
        by_layer = lambda x: x.view(count, -1, size)
        made_inputs = norm("embed_layers_norm",
                           by_layer(linear("embed_layers_proj", h) / math.sqrt(hidden)))
        found = by_layer(w["embed_layers.weight"][tokens] * math.sqrt(size))
        inputs = (made_inputs + found) / math.sqrt(2)
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
            h = (h + scale * attention(stem, norm(stem + "attn_norm", h), window, rotates, index)
                 + scale * mlp(stem, norm(stem + ("attn_norm" if shared else "mlp_norm"), h), h))
        else:
            for block, name in ((lambda x, _: attention(stem, x, window, rotates, index), "attn"),
                                (lambda x, begin: mlp(stem, x, begin), "mlp")):
                if place == "post":
                    h = norm(f"{stem}{name}_post_norm", h + scale * block(h, h))
                    continue
                y = block(norm(f"{stem}{name}_norm", h) if place != "output" else h, h)
                h = h + scale * (norm(f"{stem}{name}_post_norm", y) if place != "pre" else y)
        if size:
            inner = activation(linear(stem + "input.gate", h)) * inputs[:, index]
            h = h + norm(stem + "input.norm", linear(stem + "input.proj", inner))
        if c.get("layer_scales"):
            h = h * w[stem + "scale"]
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
