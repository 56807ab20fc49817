"""make-fp8-model.py OUT [BLOCK]: writes OUT/blocks, a Llama of random fp8 weights with scales of BLOCK x BLOCK
(128 x 128) blocks, as DeepSeek's and Qwen's files have them, and OUT/wide, what their numbers are in f32;
OUT/channels and OUT/wide-channels, the same with a scale a channel, the first block's of each row, in
compressed-tensors' format. No width is a multiple of 128."""

import json
import pathlib
import random
import struct
import sys

HIDDEN, INNER, HEADS, KEYS, SIZE, VOCAB, LAYERS = 160, 200, 4, 2, 40, 67, 1
BLOCK = int(sys.argv[2]) if len(sys.argv) > 2 else 128
random.seed(7)


def number(code):
    """By the definition of e4m3: a sign, four bits of exponent with bias 7, three of mantissa."""
    exponent, mantissa = code >> 3 & 15, code & 7
    size = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0 ** -9
    return -size if code & 0x80 else size


NUMBERS = [number(code) for code in range(256)]
CODES = [code for code in range(256) if code & 0x7f != 0x7f]  # but for NaN


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def write(folder, tensors, quantization):
    """tensors: name -> (dtype, shape, bytes)"""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCAB,
              "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": KEYS, "head_dim": SIZE,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 1,
              "eos_token_id": 2}
    if quantization:
        config["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def normal(count, deviation):
    return floats([random.gauss(0, deviation) for _ in range(count)])


out = pathlib.Path(sys.argv[1])
shared = {"model.embed_tokens.weight": ("F32", [VOCAB, HIDDEN], normal(VOCAB * HIDDEN, 1)),
          "lm_head.weight": ("F32", [VOCAB, HIDDEN], normal(VOCAB * HIDDEN, 0.1)),
          "model.norm.weight": ("F32", [HIDDEN], floats([1.0] * HIDDEN))}
layers = []
for i in range(LAYERS):
    path = f"model.layers.{i}."
    for norm in ("input_layernorm", "post_attention_layernorm"):
        shared[f"{path}{norm}.weight"] = ("F32", [HIDDEN], floats([1.0] * HIDDEN))
    layers += [(path + "self_attn.q_proj", HEADS * SIZE, HIDDEN),
               (path + "self_attn.k_proj", KEYS * SIZE, HIDDEN),
               (path + "self_attn.v_proj", KEYS * SIZE, HIDDEN),
               (path + "self_attn.o_proj", HIDDEN, HEADS * SIZE),
               (path + "mlp.gate_proj", INNER, HIDDEN), (path + "mlp.up_proj", INNER, HIDDEN),
               (path + "mlp.down_proj", HIDDEN, INNER)]

blocks, channels, wide, wide_channels = ({**shared} for _ in range(4))
for name, rows, columns in layers:
    codes = bytes(random.choices(CODES, k=rows * columns))
    high, across = -(-rows // BLOCK), -(-columns // BLOCK)
    # Numbers of all sizes have a deviation of 100.
    scales = [[f32(random.uniform(0.5, 1.5) / 100 / columns ** 0.5) for _ in range(across)]
              for _ in range(high)]
    of_blocks, of_channels = [], []
    for row in range(rows):
        of_row = scales[row // BLOCK]
        for column in range(columns):
            value = NUMBERS[codes[row * columns + column]]
            of_blocks.append(value * of_row[column // BLOCK])
            of_channels.append(value * of_row[0])
    matrix = ("F8_E4M3", [rows, columns], codes)
    blocks[name + ".weight"] = channels[name + ".weight"] = matrix
    blocks[name + ".weight_scale_inv"] = ("F32", [high, across],
                                          floats([scale for row in scales for scale in row]))
    channels[name + ".weight_scale"] = ("F32", [rows, 1],
                                        floats([scales[row // BLOCK][0] for row in range(rows)]))
    wide[name + ".weight"] = ("F32", [rows, columns], floats(of_blocks))
    wide_channels[name + ".weight"] = ("F32", [rows, columns], floats(of_channels))

write(out / "blocks", blocks, {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
                               "weight_block_size": [BLOCK, BLOCK]})
write(out / "wide", wide, None)
group = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
write(out / "channels", channels, {"quant_method": "compressed-tensors", "format": "float-quantized",
                                   "config_groups": {"group_0": group}})
write(out / "wide-channels", wide_channels, None)
