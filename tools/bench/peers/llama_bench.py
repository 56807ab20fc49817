#!/usr/bin/env python3
"""llama.cpp (PyPI's llama-cpp-python and gguf), and files for it of random weights.

    llama_bench.py write SHAPE TYPE FILE
    llama_bench.py bench FILE MODE TOKENS CONTEXT THREADS
    llama_bench.py logits FILE OUT TOKEN...

SHAPE is gpt2-124m or llama-1.1b (TinyLlama's), TYPE q8_0 or q4_0, of every matrix. MODE is prefill,
of TOKENS tokens, or decode, of one after CONTEXT others; llama.cpp is as it comes, with its cache of
f16. Prints {"ms_median": ..., "ms_min": ..., "count": ...}. `logits` writes those of the last token
as a NumPy file.
"""

import ctypes
import json
import pathlib
import sys
import time

import gguf
import llama_cpp
import numpy

SHAPES = {
    "gpt2-124m": {"architecture": "gpt2", "width": 768, "layers": 12, "heads": 12, "key_heads": 12,
                  "hidden": 3072, "vocabulary": 50257},
    "llama-1.1b": {"architecture": "llama", "width": 2048, "layers": 22, "heads": 32,
                   "key_heads": 4, "hidden": 5632, "vocabulary": 32000},
}
POSITIONS = 1024


def tensors_of(shape):
    """(name, rows and columns of a matrix, or the length of a vector) of each tensor."""
    width, hidden, vocabulary = shape["width"], shape["hidden"], shape["vocabulary"]
    gpt2 = shape["architecture"] == "gpt2"
    keys = width // shape["heads"] * shape["key_heads"]
    matrices = {"attn_output": (width, width), "ffn_up": (hidden, width),
                "ffn_down": (width, hidden)}
    if gpt2:
        matrices["attn_qkv"] = (3 * width, width)
        yield "position_embd.weight", (POSITIONS, width)
    else:
        matrices |= {"attn_q": (width, width), "attn_k": (keys, width), "attn_v": (keys, width),
                     "ffn_gate": (hidden, width)}
        yield "output.weight", (vocabulary, width)
    yield "token_embd.weight", (vocabulary, width)
    norms = {"output_norm": (width,)}
    for layer in range(shape["layers"]):
        norms |= {f"blk.{layer}.{name}": (width,) for name in ("attn_norm", "ffn_norm")}
        for name, size in matrices.items():
            yield f"blk.{layer}.{name}.weight", size
            if gpt2:
                yield f"blk.{layer}.{name}.bias", size[:1]
    for name, size in norms.items():
        yield f"{name}.weight", size
        if gpt2:
            yield f"{name}.bias", size


def write(shape, kind, file):
    writer = gguf.GGUFWriter(file, shape["architecture"])
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(shape["width"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["hidden"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["key_heads"])
    if shape["architecture"] == "gpt2":
        writer.add_layer_norm_eps(1e-5)
    else:
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_dimension_count(shape["width"] // shape["heads"])
        writer.add_vocab_size(shape["vocabulary"])
    # No text is read: a vocabulary of any words will do.
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    words = ["a", "b", "ab"] + [f"w{i}" for i in range(3, shape["vocabulary"])]
    writer.add_token_list(words)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(words))
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    random = numpy.random.default_rng(0)
    for name, size in tensors_of(shape):
        values = random.standard_normal(size, numpy.float32) * numpy.float32(0.02)
        if "norm.weight" in name:
            values += 1
        if len(size) == 1 or name.startswith("position"):
            writer.add_tensor(name, values)
            continue
        raw = gguf.GGMLQuantizationType[kind.upper()]
        writer.add_tensor(name, gguf.quants.quantize(values, raw), raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Model:
    def __init__(self, file, capacity, threads):
        quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.log = quiet(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        options = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(file.encode(), options)
        if not self.model:
            sys.exit(f"{file}: llama.cpp does not load it")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = capacity
        options.n_batch = options.n_ubatch = 512
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), False)

    def run(self, tokens):
        """Appends tokens; the logits of the last one are there then."""
        ids = (llama_cpp.llama_token * len(tokens))(*tokens)
        if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(ids, len(tokens))):
            sys.exit("llama_decode failed")
        llama_cpp.llama_synchronize(self.context)
        return llama_cpp.llama_get_logits_ith(self.context, -1)


def bench(file, mode, tokens, context, threads):
    steps, warm_up = (5, 1) if mode == "prefill" else (100, 8)
    model = Model(file, context + max(tokens, warm_up + steps), threads)
    ids = [1 + i % 1000 for i in range(max(tokens, context))]
    if mode == "decode":
        model.run(ids[:context])
    times = []
    for number in range(-warm_up, steps):
        if mode == "prefill":
            model.clear()
        start = time.perf_counter()
        model.run(ids[:tokens])
        if number >= 0:
            times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    print(json.dumps({"ms_median": times[len(times) // 2], "ms_min": times[0],
                      "count": len(times)}))


def logits(file, out, tokens):
    model = Model(file, len(tokens), 1)
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model.model))
    numpy.save(out, numpy.ctypeslib.as_array(model.run(tokens), (size,)).copy())


def main():
    command, *rest = sys.argv[1:]
    if command == "write":
        pathlib.Path(rest[2]).parent.mkdir(parents=True, exist_ok=True)
        write(SHAPES[rest[0]], rest[1], rest[2])
    elif command == "bench":
        bench(rest[0], rest[1], *map(int, rest[2:]))
    else:
        logits(rest[0], rest[1], [int(token) for token in rest[2:]])


if __name__ == "__main__":
    main()
