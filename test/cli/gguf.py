"""GGUF files against the Hugging Face directories that they stand for: gguf.py SINTER MODELS FOLDER

Writes kept models as llama.cpp's converter would (names, order of rows, transposed matrices, norms of
Gemma) and compares logits bit for bit: of f32 files with the directory's, of quantized ones, read as
floats, with those of a directory that holds the dequantized numbers; and within rounding, where products
multiply by the file's integers. Of models with experts, too, whose matrices the converter stacks. Then a
tokenizer of each kind, and files that are
damaged: each must end with one line and status 1.
"""

import json
import math
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys

sinter, models, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
F32, F16, Q4_0, Q4_1, Q8_0, MXFP4 = 0, 1, 2, 3, 8, 39
TOKENS = "3,1,4,1,5,9,2,6,5,3,5,8"


# --- safetensors ------------------------------------------------------------------------------------

class Tensor:
    """Rows of floats, row-major."""

    def __init__(self, shape, values):
        self.shape, self.values = list(shape), list(values)

    def rows(self):
        width = self.shape[-1]
        return [self.values[i:i + width] for i in range(0, len(self.values), width)]


class Blocks:
    """Rows of MXFP4, in the file's bytes."""

    def __init__(self, shape, data):
        self.shape, self.data, self.values = list(shape), data, ()


def read_tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        bytes_ = data[begin:end]
        if entry["dtype"] == "U8":
            found[name] = Tensor(entry["shape"], bytes_)
            continue
        if entry["dtype"] == "BF16":
            bytes_ = b"".join(b"\0\0" + bytes_[i:i + 2] for i in range(0, len(bytes_), 2))
        letter, size_ = ("e", 2) if entry["dtype"] == "F16" else ("f", 4)
        found[name] = Tensor(entry["shape"], struct.unpack(f"<{len(bytes_) // size_}{letter}", bytes_))
    return found


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        bytes_ = struct.pack(f"<{len(tensor.values)}f", *tensor.values)
        header[name] = {"dtype": "F32", "shape": tensor.shape,
                        "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


# --- GGUF -------------------------------------------------------------------------------------------

def to_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_f16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def quantize(kind, values):
    """The bytes of the blocks, and the numbers that they stand for."""
    if kind == F32:
        return struct.pack(f"<{len(values)}f", *values), values
    if kind == F16:
        return struct.pack(f"<{len(values)}e", *values), [to_f16(value) for value in values]
    data, numbers = b"", []
    for i in range(0, len(values), 32):
        block = values[i:i + 32]
        if kind == Q4_1:
            scale, least = to_f16((max(block) - min(block)) / 15), to_f16(min(block))
            q = [max(0, min(15, round((x - least) / scale))) if scale else 0 for x in block]
            numbers += [to_f32(scale * x + least) for x in q]
            data += struct.pack("<2e", scale, least) + bytes(q[j] | q[j + 16] << 4 for j in range(16))
            continue
        most = 127 if kind == Q8_0 else 7
        scale = to_f16(max(map(abs, block)) / most)
        q = [max(-most - 1, min(most, round(x / scale))) if scale else 0 for x in block]
        numbers += [to_f32(scale * x) for x in q]
        data += struct.pack("<e", scale)
        if kind == Q8_0:
            data += struct.pack("<32b", *q)
        else:
            data += bytes((q[j] + 8) | (q[j + 16] + 8) << 4 for j in range(16))
    return data, numbers


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value_of(value):
    """Type and bytes of an entry."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    items = [value_of(item) for item in value]
    return struct.pack("<I", 9) + items[0][:4] + struct.pack("<Q", len(items)) + \
        b"".join(item[4:] for item in items)


def make_gguf(metadata, tensors, kind_of):
    """The file's bytes, and {name: the numbers that it holds}."""
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        header += text(key) + value_of(value)
    data, held = b"", {}
    for name, tensor in tensors.items():
        kind = MXFP4 if isinstance(tensor, Blocks) else kind_of(name, tensor)
        content, held[name] = (tensor.data, ()) if kind == MXFP4 else quantize(kind, tensor.values)
        header += text(name) + struct.pack("<I", len(tensor.shape))
        header += struct.pack(f"<{len(tensor.shape)}Q", *reversed(tensor.shape))
        header += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % 32)
    return header + bytes(-len(header) % 32) + data, held


# --- llama.cpp's converter --------------------------------------------------------------------------

def pair(tensor, heads):
    """Component i of a head beside i + half of it."""
    rows = tensor.rows() if len(tensor.shape) > 1 else [[x] for x in tensor.values]
    size = len(rows) // heads
    moved = [rows[h * size + half * (size // 2) + i]
             for h in range(heads) for i in range(size // 2) for half in (0, 1)]
    return Tensor(tensor.shape, [x for row in moved for x in row])


def part(tensor, heads, groups=None):
    """All queries, then all keys, then all values, of groups of heads that have one key and value each."""
    groups = groups or heads
    rows = tensor.rows() if len(tensor.shape) > 1 else [[x] for x in tensor.values]
    queries, size = heads // groups, len(rows) // (heads + 2 * groups)
    moved = [rows[(g * (queries + 2) + at) * size + i]
             for which in (range(queries), [queries], [queries + 1])
             for g in range(groups) for at in which for i in range(size)]
    return Tensor(tensor.shape, [x for row in moved for x in row])


def transpose(tensor):
    if len(tensor.shape) == 1:
        return tensor
    rows = tensor.rows()
    return Tensor(reversed(tensor.shape), [row[j] for j in range(tensor.shape[1]) for row in rows])


def add_one(tensor):
    return Tensor(tensor.shape, [to_f32(1 + x) for x in tensor.values])


LLAMA = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
         "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
GEMMA = LLAMA | {"post_attention_layernorm": "post_attention_norm",
                 "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
GPT2 = {"transformer.wte": "token_embd", "transformer.wpe": "position_embd",
        "transformer.ln_f": "output_norm", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down"}
NEOX = {"gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm",
        "embed_out": "output", "input_layernorm": "attn_norm",
        "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
        "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up",
        "mlp.dense_4h_to_h": "ffn_down"}
OLMO = LLAMA | {"post_attention_layernorm": "post_attention_norm",
                "post_feedforward_layernorm": "post_ffw_norm"}
PHI = LLAMA | {"model.final_layernorm": "output_norm", "self_attn.dense": "attn_output",
               "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}
STARCODER = LLAMA | {"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
MIXTRAL = LLAMA | {"block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.experts.w1": "ffn_gate_exps",
                   "block_sparse_moe.experts.w3": "ffn_up_exps",
                   "block_sparse_moe.experts.w2": "ffn_down_exps"}
GRANITE = LLAMA | {"block_sparse_moe.router.layer": "ffn_gate_inp",
                   "block_sparse_moe.experts.gate": "ffn_gate_exps",
                   "block_sparse_moe.experts.up": "ffn_up_exps",
                   "block_sparse_moe.output_linear": "ffn_down_exps"}
QWEN = LLAMA | {"mlp.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps",
                "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
                "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
                "mlp.shared_expert.down_proj": "ffn_down_shexp",
                "mlp.shared_expert_gate": "ffn_gate_inp_shexp"}
GPT_OSS = LLAMA | {"post_attention_layernorm": "post_attention_norm", "self_attn.sinks": "attn_sinks",
                   "mlp.router": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps",
                   "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps"}
BLOOM = {"transformer.word_embeddings": "token_embd", "transformer.ln_f": "output_norm", "lm_head": "output",
         "transformer.word_embeddings_layernorm": "token_embd_norm", "input_layernorm": "attn_norm",
         "self_attention.query_key_value": "attn_qkv", "self_attention.dense": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"}
MPT = {"transformer.wte": "token_embd", "transformer.norm_f": "output_norm", "norm_1": "attn_norm",
       "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm_2": "ffn_norm",
       "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"}
SEED = LLAMA | {"post_attention_layernorm": "post_attention_norm"}
GLM = LLAMA | {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}
HUNYUAN = QWEN | {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm",
                  "mlp.gate.wg": "ffn_gate_inp", "mlp.shared_mlp.gate_proj": "ffn_gate_shexp",
                  "mlp.shared_mlp.up_proj": "ffn_up_shexp", "mlp.shared_mlp.down_proj": "ffn_down_shexp"}
DEEPSEEK = QWEN | {"mlp.shared_experts." + name: QWEN["mlp.shared_expert." + name]
                   for name in ("gate_proj", "up_proj", "down_proj")} | {
                       "mlp.gate.e_score_correction_bias": "exp_probs_b"}
LATENT = DEEPSEEK | {f"self_attn.{name}": f"attn_{to}" for name, to in (
    ("q_a_proj", "q_a"), ("q_a_layernorm", "q_a_norm"), ("q_b_proj", "q_b"), ("kv_a_proj_with_mqa", "kv_a_mqa"),
    ("kv_a_layernorm", "kv_a_norm"), ("kv_b_proj", "kv_b"))}
MINIMAX = MIXTRAL | {"block_sparse_moe.e_score_correction_bias": "exp_probs_b"}
EXPERTS = {"mixtral": MIXTRAL, "granitemoe": GRANITE, "qwen2_moe": QWEN, "qwen3_moe": QWEN, "olmoe": QWEN}
NAMES = {"gpt2": GPT2, "gptneox": NEOX, "gemma2": GEMMA, "gemma3": GEMMA, "olmo2": OLMO, "phi2": PHI,
         "starcoder2": STARCODER, "starcoder": GPT2, "bloom": BLOOM, "falcon": BLOOM, "mpt": MPT, "seed_oss": SEED,
         "glm4": GLM, "exaone4": OLMO, "hunyuan-dense": HUNYUAN, "hunyuan-moe": HUNYUAN, "glm4moe": SEED | {
             name: to for name, to in DEEPSEEK.items() if name != "post_attention_layernorm"},
         "dots1": DEEPSEEK, "deepseek2": LATENT, "minimax-m2": MINIMAX}
# Norms with factor 1 + weight, which is what the file holds.
OF_ONE = ("gemma", "gemma2", "gemma3", "nemotron")


def split(name):
    """"model.layers.3.mlp.up_proj.weight" -> ("blk.3.", "mlp.up_proj", ".weight")"""
    stem, ending = name.rsplit(".", 1)
    words = stem.split(".")
    for i, word in enumerate(words):
        if word.isdigit():
            return f"blk.{word}.", ".".join(words[i + 1:]), "." + ending
    return "", stem, "." + ending


def change(architecture, config, stem, tensor, is_bias=False):
    heads = config.get("num_attention_heads") or config.get("n_head")
    if architecture in ("llama", "granite", "granitemoe", "smollm3", "arcee", "olmo") and \
            stem in ("self_attn.q_proj", "self_attn.k_proj"):
        return pair(tensor, heads if "q_proj" in stem else config["num_key_value_heads"])
    if stem.endswith("attention.query_key_value"):
        return part(tensor, heads, describe(architecture, config).get(f"{architecture}.attention.head_count_kv"))
    if architecture == "gpt2" and stem.split(".")[-1] in ("c_attn", "c_proj", "c_fc"):
        return transpose(tensor)
    return add_one(tensor) if architecture in OF_ONE and "norm" in stem and not is_bias else tensor



def stretched_base(rope, head):
    return rope["rope_theta"] * rope["alpha"] ** (head / (head - 2))


def falcon_groups(config):
    if config.get("new_decoder_architecture"):
        return config["num_kv_heads"]
    return 1 if config.get("multi_query") else config.get("num_attention_heads")


def describe(architecture, config):
    """The metadata that the converter writes."""
    get = lambda *keys: next((config[key] for key in keys if config.get(key) is not None), None)
    rope = config.get("rope_parameters") or {}
    sliding, rope = rope.get("sliding_attention", {}), rope.get("full_attention", rope)
    theta = rope.get("rope_theta") or config.get("rope_theta") or config.get("rotary_emb_base")
    heads, hidden = get("num_attention_heads", "n_head", "n_heads"), get("hidden_size", "n_embd", "d_model")
    head = get("head_dim") or hidden // heads
    partial = rope.get("partial_rotary_factor") or get("rotary_pct", "partial_rotary_factor") or 1
    values = {"context_length": get("max_position_embeddings", "n_positions", "max_seq_len") or 2048,
              "embedding_length": hidden, "block_count": get("num_hidden_layers", "n_layer", "n_layers"),
              "feed_forward_length": get("intermediate_size", "n_inner", "ffn_hidden_size") or 4 * hidden,
              "attention.head_count": heads,
              "attention.head_count_kv": get("num_key_value_heads") or
              {"bloom": heads, "falcon": falcon_groups(config)}.get(architecture),
              "attention.layer_norm_rms_epsilon": get("rms_norm_eps"),
              "attention.layer_norm_epsilon": get("layer_norm_epsilon", "layer_norm_eps", "norm_eps",
                                                       "norm_epsilon"),
              "attention.key_length": get("head_dim"), "attention.value_length": get("head_dim"),
              "rope.freq_base": float(theta) if theta else None,
              "rope.dimension_count": int(head * partial) if theta else None,
              "use_parallel_residual": get("use_parallel_residual"),
              "expert_count": get("num_experts", "num_local_experts", "n_routed_experts"),
              "expert_used_count": get("num_experts_per_tok", "moe_topk"),
              "expert_feed_forward_length": get("moe_intermediate_size"),
              "expert_shared_feed_forward_length": get("shared_expert_intermediate_size")}
    if architecture == "deepseek2":
        values |= {"attention.kv_lora_rank": get("kv_lora_rank"), "attention.q_lora_rank": get("q_lora_rank"),
                   "attention.head_count_kv": 1, "rope.dimension_count": get("qk_rope_head_dim"),
                   "attention.key_length": get("kv_lora_rank") + get("qk_rope_head_dim"),
                   "attention.value_length": get("kv_lora_rank"),
                   "attention.key_length_mla": get("qk_nope_head_dim") + get("qk_rope_head_dim"),
                   "attention.value_length_mla": get("v_head_dim")}
        if rope.get("mscale_all_dim"):
            values["rope.scaling.yarn_log_multiplier"] = 0.1 * rope["mscale_all_dim"]
    if architecture in ("glm4moe", "dots1", "deepseek2"):
        values |= {"expert_shared_count": get("n_shared_experts"),
                   "expert_gating_func": 1 if config["model_type"] == "deepseek_v2" else 2,
                   "leading_dense_block_count": get("first_k_dense_replace"),
                   "expert_weights_scale": get("routed_scaling_factor"),
                   "expert_weights_norm": get("norm_topk_prob"), "expert_group_count": get("n_group"),
                   "expert_group_used_count": get("topk_group")}
    if config["model_type"] == "deepseek_v2":
        values |= {"expert_weights_norm": False, "expert_group_count": None, "expert_group_used_count": None}
    if architecture == "glm4moe":  # one more layer, which predicts a further token
        values |= {"nextn_predict_layers": 1, "block_count": get("num_hidden_layers") + 1}
    if architecture in ("minimax-m2", "hunyuan-moe"):
        values["expert_feed_forward_length"] = get("intermediate_size")
    if architecture == "minimax-m2":
        values["expert_gating_func"] = 2
    if architecture == "mpt":
        values |= {"attention.clamp_kqv": config["attn_config"]["clip_qkv"],
                   "attention.max_alibi_bias": float(config["attn_config"]["alibi_bias_max"])}
    if "alpha" in rope:
        values["rope.freq_base"] = stretched_base(rope, head)
    if architecture == "olmo":
        values["attention.clamp_kqv"] = get("clip_qkv")
    if architecture == "gemma3":
        values["rope.freq_base_swa"] = sliding["rope_theta"]
    if rope.get("rope_type") in ("linear", "yarn"):
        values |= {"rope.scaling.type": rope["rope_type"], "rope.scaling.factor": rope["factor"],
                   "rope.scaling.original_context_length":
                   rope.get("original_max_position_embeddings")}
    for key, ours in (("attention.scale", "attention_multiplier"),
                      ("embedding_scale", "embedding_multiplier"),
                      ("residual_scale", "residual_multiplier"),
                      ("logit_scale", "logits_scaling" if "granite" in architecture else "logit_scale")):
        values[key] = get(ours)
    if architecture in ("gemma2", "gemma3", "olmo2", "phi3", "gpt-oss", "cohere2", "exaone4") or \
            config["model_type"] == "mistral":
        values["attention.sliding_window"] = get("sliding_window")
    if architecture == "gemma2":
        values |= {key: float(get(key)) for key in ("attn_logit_softcapping", "final_logit_softcapping")}
    metadata = {"general.architecture": architecture}
    metadata |= {f"{architecture}.{key}": value for key, value in values.items() if value is not None}
    for name in ("bos_token_id", "eos_token_id"):
        if isinstance(config.get(name), int):
            metadata[f"tokenizer.ggml.{name}"] = config[name]
    return metadata


def stack(tensors):
    """Experts' matrices one behind another, as one tensor; {name: the original names}."""
    stacked, parts = {}, {}
    for name, tensor in sorted(tensors.items(), key=lambda item: [int(n) for n in re.findall(r"\d+", item[0])]):
        of = re.sub(r"\.experts\.\d+\.", ".experts.", name)
        if name.endswith("input_linear.weight"):  # gate and up of each
            half = len(tensor.values) // tensor.shape[0] // 2
            for which, part in enumerate(("gate", "up")):
                stacked[name.replace("input_linear", "experts." + part)] = Tensor(
                    [tensor.shape[0], tensor.shape[1] // 2, tensor.shape[2]],
                    [x for e in range(tensor.shape[0])
                     for x in tensor.values[(2 * e + which) * half:(2 * e + which + 1) * half]])
        elif of != name:
            before = stacked.setdefault(of, Tensor([0] + tensor.shape, []))
            before.shape[0] += 1
            before.values += tensor.values
            parts.setdefault(of, []).append(name)
        elif name.endswith("shared_expert_gate.weight"):
            stacked[name] = Tensor(tensor.shape[1:], tensor.values)
        else:
            stacked[name] = tensor
    return stacked, parts


def split_latent(layer, tensor, config):
    """Keys of heads, transposed, and values."""
    heads, key, value = config["num_attention_heads"], config["qk_nope_head_dim"], config["v_head_dim"]
    rows, latent = tensor.rows(), tensor.shape[1]
    of_head = [rows[h * (key + value):(h + 1) * (key + value)] for h in range(heads)]
    keys = [row[i] for head in of_head for i in range(latent) for row in head[:key]]
    values = [x for head in of_head for row in head[key:] for x in row]
    return {layer + "attn_k_b.weight": Tensor([heads, latent, key], keys),
            layer + "attn_v_b.weight": Tensor([heads, value, latent], values)}


def convert(model, architecture, kind=F32):
    """The bytes of the GGUF file; for quantized ones a directory of the numbers that it holds."""
    config = json.loads((model / "config.json").read_text())
    names, tensors, origin = NAMES.get(architecture, LLAMA), {}, {}
    names = EXPERTS.get(config["model_type"], names)
    for name, tensor in stack(read_tensors(model / "model.safetensors"))[0].items():
        layer, stem, ending = split(name)
        if ending == ".e_score_correction_bias":
            stem, ending = stem + ending, ".bias"
        if stem == "lm_head" and config.get("tie_word_embeddings", architecture in ("gpt2", "gemma2", "starcoder")):
            continue
        to = layer + names[stem] + ending
        if stem == "self_attn.kv_b_proj":
            tensors |= split_latent(layer, tensor, config)
            continue
        tensors[to], origin[to] = change(architecture, config, stem, tensor, ending == ".bias"), (name, stem)
    fits = lambda name, tensor: len(tensor.shape) > 1 and "ffn_gate_inp" not in name and \
        (kind == F16 or tensor.shape[-1] % 32 == 0)
    data, held = make_gguf(describe(architecture, config), tensors,
                           lambda name, tensor: kind if kind != F32 and fits(name, tensor) else F32)
    return data, config, tensors, held, origin


def run(*arguments, status=0):
    done = subprocess.run([sinter, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (arguments, done.returncode, done.stderr.decode())
    return done


def logits(model, weights="float"):
    out = folder / "logits.npy"
    run("logits", model, "--tokens", TOKENS, "--dtype", "f32", "--weights", weights, "-o", out)
    return out.read_bytes()


def parameter_bytes(model, weights):
    return json.loads(run("plan", model, "--json", "--weights", weights).stdout)["spaces"]["parameter"]


def make_directory(name, config, tensors):
    directory = folder / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    write_tensors(directory / "model.safetensors", tensors)
    return directory


def compare_models():
    for name, architecture in {"llama": "llama", "llama-head-80": "llama", "mistral": "llama",
                               "qwen2": "qwen2", "qwen3": "qwen3", "gemma2": "gemma2",
                               "phi3": "phi3", "gpt2": "gpt2", "gpt_neox": "gptneox",
                               "gemma": "gemma", "gemma3": "gemma3", "granite": "granite",
                               "smollm3": "smollm3", "cohere": "command-r", "stablelm": "stablelm",
                               "stablelm-parallel": "stablelm", "nemotron": "nemotron",
                               "olmo2": "olmo2", "olmo3": "olmo2", "starcoder2": "starcoder2",
                               "phi": "phi2", "cohere2": "cohere2", "exaone4": "exaone4",
                               "ernie4_5": "ernie4_5", "seed_oss": "seed_oss",
                               "hunyuan_v1_dense": "hunyuan-dense", "hunyuan_v1_moe": "hunyuan-moe",
                               "arcee": "arcee", "olmo": "olmo", "glm4": "glm4", "glm4_moe": "glm4moe",
                               "dots1": "dots1", "minimax_m2": "minimax-m2", "bloom": "bloom",
                               "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2",
                               "falcon": "falcon", "mpt": "mpt", "gpt_bigcode": "starcoder"}.items():
        directory = next(f / name for f in (models, models.parent / "families") if (f / name).exists())
        data, config, *_ = convert(directory, architecture)
        path = folder / f"{name}.gguf"
        path.write_bytes(data)
        if architecture in OF_ONE:  # 1 + weight is rounded in the file, and Gemma's scale is not in it
            tensors = read_tensors(directory / "model.safetensors")
            for key, tensor in tensors.items():
                if key.endswith("norm.weight"):
                    tensor.values = [to_f32(to_f32(1 + x) - 1) for x in tensor.values]
            if "query_pre_attn_scalar" in config:
                config["query_pre_attn_scalar"] = config["head_dim"]
            directory = make_directory(name, config, tensors)
        absent = {"starcoder2": {"sliding_window": None}, "dots1": {"layer_types": ["full_attention"] * 3},
                  "mpt": {"attn_config": config.get("attn_config", {}) | {"softmax_scale": None}}}
        if name in absent:  # the file has no window, or no scale of scores
            directory = make_directory(name, config | absent[name], read_tensors(directory / "model.safetensors"))
        if name == "hunyuan_v1_dense":  # the base is stretched when it is written
            rope = {"rope_type": "default", "rope_theta": to_f32(stretched_base(config["rope_parameters"], 12))}
            directory = make_directory(name, config | {"rope_parameters": rope},
                                       read_tensors(directory / "model.safetensors"))
        if name == "olmo3":  # the file has one base
            for kind in config["rope_parameters"].values():
                kind["rope_theta"] = 100.0
            directory = make_directory(name, config, read_tensors(directory / "model.safetensors"))
        same = logits(path) == logits(directory)
        print(f"{name} as {architecture}: {'same bits' if same else 'DIFFERS'}")
        assert same


def compare_quantized():
    """Dequantized while the weights are read, against a directory of the same numbers; then kept as
    integers, of which many rows meet the same numbers."""
    for name, architecture, kind in (("llama", "llama", Q8_0), ("llama", "llama", Q4_0),
                                     ("llama", "llama", Q4_1), ("qwen2", "qwen2", F16),
                                     ("gpt2", "gpt2", Q8_0), ("gpt2", "gpt2", Q4_0)):
        data, config, tensors, held, origin = convert(models / name, architecture, kind)
        assert any(list(held[to]) != tensor.values for to, tensor in tensors.items())
        path = folder / f"{name}-{kind}.gguf"
        path.write_bytes(data)
        undone = {original: undo(architecture, config, stem, Tensor(tensors[to].shape, held[to]))
                  for to, (original, stem) in origin.items()}
        expected = logits(make_directory(f"{name}-{kind}", config, undone))
        same = logits(path) == expected
        print(f"{name} of type {kind}: {'same bits' if same else 'DIFFERS'}")
        assert same
        same = logits(path, "stored") == expected
        print(f"{name} of type {kind}, its integers: {'same bits' if same else 'DIFFERS'}")
        assert same
        kept = parameter_bytes(path, "stored") < parameter_bytes(path, "float")
        assert kept == (kind in (Q8_0, Q4_0, Q4_1)), "products are by integers where there are some"


def make_experts(kind, **more):
    """A directory of a small model with experts."""
    hidden, size, count, heads, layers = 32, 32, 6, 4, 2
    config = {"model_type": kind, "vocab_size": 67, "hidden_size": hidden, "intermediate_size": size,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 2,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "num_experts_per_tok": 3, **more}
    config["num_local_experts" if kind in ("mixtral", "granitemoe") else "num_experts"] = count
    chance, tensors = random.Random(kind), {}

    def add(name, *shape, mean=0.0):
        name += "" if name.endswith(".bias") else ".weight"
        tensors[name] = Tensor(shape, [to_f32(chance.gauss(mean, 0.3)) for _ in range(math.prod(shape))])

    add("model.embed_tokens", 67, hidden)
    add("model.norm", hidden, mean=1.0)
    add("lm_head", 67, hidden)
    for layer in (f"model.layers.{i}." for i in range(layers)):
        for name, rows in (("q_proj", hidden), ("k_proj", hidden // 2), ("v_proj", hidden // 2), ("o_proj", hidden)):
            add(layer + "self_attn." + name, rows, hidden)
            if kind == "qwen2_moe" and name != "o_proj":
                add(layer + "self_attn." + name + ".bias", rows)
            if kind in ("qwen3_moe", "olmoe") and name in ("q_proj", "k_proj"):
                add(layer + "self_attn." + name[0] + "_norm", hidden // heads if kind == "qwen3_moe" else rows,
                    mean=1.0)
        for name in ("input_layernorm", "post_attention_layernorm"):
            add(layer + name, hidden, mean=1.0)
        if kind == "granitemoe":
            add(layer + "block_sparse_moe.router.layer", count, hidden)
            add(layer + "block_sparse_moe.input_linear", count, 2 * size, hidden)
            add(layer + "block_sparse_moe.output_linear", count, hidden, size)
            continue
        block = layer + ("block_sparse_moe." if kind == "mixtral" else "mlp.")
        add(block + "gate", count, hidden)
        for expert in range(count):
            for name in ("w1", "w3", "w2") if kind == "mixtral" else ("gate_proj", "up_proj", "down_proj"):
                rows, width = (hidden, size) if name in ("w2", "down_proj") else (size, hidden)
                add(f"{block}experts.{expert}.{name}", rows, width)
        if kind == "qwen2_moe":
            for name in ("gate_proj", "up_proj", "down_proj"):
                add(block + "shared_expert." + name, *((hidden, 64) if name == "down_proj" else (64, hidden)))
            add(block + "shared_expert_gate", 1, hidden)
    return make_directory("experts-" + kind, config, tensors)


def convert_gpt_oss(model):
    """The GGUF file of a directory whose experts are MXFP4, or numbers: gate and up are apart there, and
    halves of a block's bytes are its halves."""
    config, stored = json.loads((model / "config.json").read_text()), read_tensors(model / "model.safetensors")
    tensors = {}

    def every(rows, begin, step):
        """Rows of each expert from `begin` on, and their number."""
        return [row for expert in rows for row in expert[begin::step]], len(rows[0][begin::step])

    for name, tensor in stored.items():
        layer, stem, ending = split(name if "." + name.rsplit(".")[-1] in (".weight", ".bias") else name + ".weight")
        stem, *part = re.split(r"_(?=bias$|blocks$|scales$)", stem)
        parts = {stem: (0, 1)}
        if stem.endswith("gate_up_proj"):
            parts = {stem.replace("gate_up", "gate"): (0, 2), stem.replace("gate_up", "up"): (1, 2)}
        count, size = tensor.shape[0], len(tensor.values) // tensor.shape[0]
        of_expert = [tensor.values[i * size:(i + 1) * size] for i in range(count)]
        for to, (begin, step) in parts.items():
            if part == ["scales"]:
                continue
            if "mlp.experts" not in stem:
                tensors[layer + GPT_OSS[stem] + ending] = tensor
            elif part == ["bias"]:
                rows, width = every(of_expert, begin, step)
                tensors[layer + GPT_OSS[to] + ".bias"] = Tensor([count, width], rows)
            elif part == ["blocks"]:
                rows, groups = tensor.shape[1:3]
                exponents = stored[name.replace("_blocks", "_scales")].values
                data = b""
                for expert in range(count):
                    for row in range(begin, rows, step):
                        for group in range(groups):
                            at = (expert * rows + row) * groups + group
                            codes = [c for byte in tensor.values[16 * at:16 * at + 16] for c in (byte & 15, byte >> 4)]
                            data += bytes([exponents[at]]) + bytes(codes[i] | codes[i + 16] << 4 for i in range(16))
                tensors[layer + GPT_OSS[to] + ".weight"] = Blocks([count, rows // step, 32 * groups], data)
            else:
                columns = tensor.shape[2]
                turned = [[expert[column::columns] for column in range(columns)] for expert in of_expert]
                rows, height = every(turned, begin, step)
                tensors[layer + GPT_OSS[to] + ".weight"] = Tensor([count, height, tensor.shape[1]],
                                                                  [x for row in rows for x in row])
    metadata = describe("gpt-oss", config) | {"gpt-oss.expert_feed_forward_length": config["intermediate_size"]}
    return make_gguf(metadata, tensors, lambda *_: F32)[0]


def compare_gpt_oss():
    """The bits of the directory: of numbers, and of MXFP4 as numbers and as codes of four bits."""
    for name in ("gpt_oss", "gpt_oss-mxfp4"):
        directory, path = folder / name, folder / f"{name}.gguf"
        shutil.copytree(models.parent / "families" / name, directory, dirs_exist_ok=True)
        config = json.loads((directory / "config.json").read_text())
        # The file does not say where gates are cut off.
        (directory / "config.json").write_text(json.dumps(config | {"swiglu_limit": 7.0}))
        path.write_bytes(convert_gpt_oss(directory))
        same = logits(path) == logits(directory)
        print(f"{name}: {'same bits' if same else 'DIFFERS'}")
        assert same
    same = logits(path, "stored") == logits(directory, "stored")
    print(f"{name}, its codes: {'same bits' if same else 'DIFFERS'}")
    assert same
    assert parameter_bytes(path, "stored") < 0.6 * parameter_bytes(path, "float")


def numbers_of(npy):
    size = struct.unpack_from("<H", npy, 8)[0]
    return struct.unpack(f"<{(len(npy) - 10 - size) // 4}f", npy[10 + size:])


def compare_experts():
    """Of f32 the bits of the directory; of integers those of the dequantized numbers within rounding, as
    rows of experts are multiplied in fixed point, however many an expert has."""
    for kind, architecture, type_, more in (
            ("mixtral", "llama", Q8_0, {}),
            ("granitemoe", "granitemoe", None, {"attention_multiplier": 0.2, "embedding_multiplier": 3.0,
                                                "residual_multiplier": 0.5, "logits_scaling": 2.0}),
            ("qwen2_moe", "qwen2moe", Q4_1, {"moe_intermediate_size": 32, "norm_topk_prob": False,
                                             "shared_expert_intermediate_size": 64}),
            ("qwen3_moe", "qwen3moe", Q4_0, {"moe_intermediate_size": 32, "norm_topk_prob": True, "head_dim": 8}),
            ("olmoe", "olmoe", None, {"norm_topk_prob": False})):
        directory = make_experts(kind, **more)
        path = folder / f"{kind}.gguf"
        path.write_bytes(convert(directory, architecture)[0])
        same = logits(path) == logits(directory)
        print(f"{kind} as {architecture}: {'same bits' if same else 'DIFFERS'}")
        assert same
        if type_ is None:
            continue
        data, config, tensors, held, origin = convert(directory, architecture, type_)
        path.write_bytes(data)
        undone = {original: undo(architecture, config, stem, Tensor(tensors[to].shape, held[to]))
                  for to, (original, stem) in origin.items()}
        original = read_tensors(directory / "model.safetensors")
        for of, names in stack(original)[1].items():
            values, size = undone[of].values, len(undone.pop(of).values) // len(names)
            undone |= {name: Tensor(original[name].shape, values[i * size:(i + 1) * size])
                       for i, name in enumerate(names)}
        for name, tensor in undone.items():
            tensor.shape = original[name].shape
        expected = logits(make_directory("dequantized-" + kind, config, undone))
        assert logits(path) == expected
        expected, stored = numbers_of(expected), numbers_of(logits(path, "stored"))
        error = math.dist(stored, expected) / math.hypot(*expected)
        print(f"{kind} of type {type_}, its integers: {error:.1e}")
        assert 0 < error < 1e-5
        assert parameter_bytes(path, "stored") < 0.6 * parameter_bytes(path, "float")


def undo(architecture, config, stem, tensor):
    """The inverse of change(), found by moving numbered elements."""
    numbered = change(architecture, config, stem, Tensor(
        original_shape(architecture, stem, tensor), range(len(tensor.values))))
    values = [0.0] * len(tensor.values)
    for at, index in enumerate(numbered.values):
        values[int(index)] = tensor.values[at]
    return Tensor(original_shape(architecture, stem, tensor), values)


def original_shape(architecture, stem, tensor):
    moved = architecture == "gpt2" and stem.split(".")[-1] in ("c_attn", "c_proj", "c_fc")
    return list(reversed(tensor.shape)) if moved else tensor.shape


def compare_tokenizers():
    """A file with the tokenizer of a directory gives its ids."""
    data, _, tensors, *_ = convert(models / "llama", "llama")
    config = json.loads((models / "llama/config.json").read_text())
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(32)]
    words = ["\u2581", "a", "b", "c", "n", "ab", "\u2581a", "\u2581ab", "ca", "\u2581ca", "\u2581can", "an"]
    kinds = [2, 3, 3] + [6] * 32 + [1] * (67 - 35)
    pieces += words + [f"w{i}" for i in range(67 - 35 - len(words))]
    scores = [0.0] * 35 + [-float(i) for i in range(67 - 35)]
    metadata = describe("llama", config) | {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": kinds}
    path = folder / "pieces.gguf"
    path.write_bytes(make_gguf(metadata, tensors, lambda *_: F32)[0])
    # The neighbours whose piece has the highest score are joined first: "ca" before "an".
    ids = run("tokenize", path, "--text", "ab can\n").stdout.decode().strip()
    expected = ",".join(map(str, [1, 35 + 7, 35 + 10, 3 + 10]))
    assert ids == expected, (ids, expected)
    assert run("tokenize", path, "--decode", ids).stdout.decode() == "ab can\n"

    # Gemma 4's file has the merges instead.
    merges = {"tokenizer.ggml.model": "gemma4", "tokenizer.ggml.merges": ["a n", "\u2581 a"]}
    bare = {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.add_bos_token": False}
    path.write_bytes(make_gguf(metadata | merges | bare, tensors, lambda *_: F32)[0])
    ids = run("tokenize", path, "--text", "an a\n").stdout.decode().strip()
    assert ids == f"{35 + 11},{35 + 6},{3 + 10}", ids

    tokens = [chr(c) for c in range(33, 98)] + ["12", "123"]
    bytes_ = describe("llama", config) | {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["1 2", "12 3"],
        "tokenizer.ggml.token_type": [1] * 67, "tokenizer.ggml.add_bos_token": False}
    path = folder / "bytes.gguf"
    # How many digits go together, and whether a letter may follow a sign.
    for pre, expected in {"qwen35": "1 2 3 4 + A a", "starcoder": "1 2 3 4 + A a", "tekken": "1 2 3 4 + A a",
                          "deepseek-v3": "123 4 + A a", "gpt-4o": "123 4 + A a", "falcon": "123 4 + A a",
                          "gpt-2": "123 4 + A a", "llama-bpe": "123 4 + A a"}.items():
        path.write_bytes(make_gguf(bytes_ | {"tokenizer.ggml.pre": pre}, tensors, lambda *_: F32)[0])
        ids = run("tokenize", path, "--text", "1234+Aa").stdout.decode().strip()
        assert " ".join(tokens[int(token)] for token in ids.split(",")) == expected, (pre, ids)
    assert len(run("generate", path, "--prompt", "12", "--max-new-tokens", 4, "--ids").stdout.split(b",")) == 4


def check_errors():
    """Files that are damaged or not known: one line, status 1."""
    data, config, tensors, *_ = convert(models / "llama", "llama")
    metadata = describe("llama", config)
    path = folder / "bad.gguf"
    other = lambda **entries: make_gguf(metadata | entries, tensors, lambda *_: F32)[0]
    swap = lambda old, new: data.replace(old, new, 1)
    named = lambda name, **entries: make_gguf(
        {key.replace("llama.", f"{name}."): name if value == "llama" else value
         for key, value in metadata.items()} | entries, tensors, lambda *_: F32)[0]
    cases = {
        "it does not begin with 'GGUF'": b"GGML" + data[4:],
        "its version is 1, not 2 or 3": data[:4] + struct.pack("<I", 1) + data[8:],
        "it ends in its header": data[:900],
        "goes beyond the end of the file": data[:-64],
        "it has no room for its": data[:8] + struct.pack("<Q", 1 << 60) + data[16:],
        'its general.architecture is "mamba"': other(**{"general.architecture": "mamba"}),
        "it is part 1 of 2 and its name does not end in -00001-of-00002.gguf": other(**{"split.count": 2}),
        "experts of its architecture are not supported": named(
            "qwen2", **{"qwen2.expert_count": 8}),
        "it has no llama.expert_used_count": other(**{"llama.expert_count": 8}),
        "its llama.expert_gating_func is 2, which is not supported": other(
            **{"llama.expert_count": 8, "llama.expert_used_count": 2, "llama.expert_gating_func": 2}),
        "its deepseek2.leading_dense_block_count is no whole number from 0": named(
            "deepseek2", **{"deepseek2.expert_count": 8, "deepseek2.expert_used_count": 2,
                            "deepseek2.leading_dense_block_count": 1.5}),
        "its gemma4.feed_forward_length is not the same in all layers": named(
            "gemma4", **{"gemma4.feed_forward_length": [44, 45]}),
        "its lfm2.attention.head_count_kv is no list": named("lfm2", **{"lfm2.shortconv.l_cache": 3}),
        "its xielu.beta is [0.5,0.25], and 0.5 in each layer alone is supported": named(
            "apertus", **{"xielu.beta": [0.5, 0.25]}),
        "its xielu.alpha_p is no list of numbers": named("apertus", **{"xielu.beta": [0.5, 0.5]}),
        "its llama.block_count is no whole number": other(**{"llama.block_count": 0}),
        "which is not known": other(**{"llama.rope.scaling.type": "stretched"}),
        "its tokenizer is \"bert\"": other(**{"tokenizer.ggml.model": "bert",
                                             "tokenizer.ggml.tokens": ["a"]}),
        "its tokenizer.ggml.pre is 'mine'": other(**{
            "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "mine",
            "tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.merges": ["a b"]}),
        "have none of this name": swap(b"blk.0.attn_v.weight", b"blk.0.attn_x.weight"),
        "the weights do not hold it": make_gguf(
            metadata, {name: tensor for name, tensor in tensors.items() if "ffn_up" not in name},
            lambda *_: F32)[0],
        "is IQ2_XXS (16), which cannot be read": swap_type(data, b"blk.1.ffn_up.weight", 16),
        "which blocks of 256 do not fill": swap_type(data, b"blk.1.ffn_up.weight", 12),
        "a text in its header is not UTF-8": swap(b"blk.0.attn_v", b"blk.0.attn\xff\xff"),
        "it has two tensors": swap(b"blk.0.attn_v", b"blk.0.attn_k"),
    }
    for message, content in cases.items():
        path.write_bytes(content)
        command = ("tokenize", path, "--text", "a") if "tokenizer" in message else \
            ("generate", path, "--tokens", "1")
        lines = run(*command, status=1).stderr.decode().splitlines()
        assert len(lines) == 1 and lines[0].startswith("sinter: error: ") and message in lines[0], (message, lines)
        print("refused:", lines[0][:100])


def swap_type(data, name, kind):
    at = data.index(name) + len(name)
    dimensions = struct.unpack_from("<I", data, at)[0]
    at += 4 + 8 * dimensions
    return data[:at] + struct.pack("<I", kind) + data[at + 4:]


folder.mkdir(parents=True, exist_ok=True)
compare_models()
compare_quantized()
compare_experts()
compare_gpt_oss()
compare_tokenizers()
check_errors()
