#!/usr/bin/env python3
"""One step of a GPT-2 in PyTorch: torch_bench.py CONFIG MODE TOKENS CONTEXT DTYPE KIND THREADS
[DEVICE [BATCH]]

CONFIG is a GPT-2 config.json (random weights), MODE prefill or decode, KIND eager or compile (on
DEVICE cuda with CUDA graphs), DEVICE cpu or cuda, BATCH rows (one). The model is written for speed:
fused QKV, scaled_dot_product_attention, a static KV cache written in place, the head for the last
row only. Prints {"ms_median": ..., "ms_min": ..., "count": ...}.
"""

import json
import sys

import torch
import torch.nn.functional as F

from gpt2 import Block, Gpt2, measure, read_config


class CachedBlock(Block):
    def __init__(self, width, heads, batch, capacity, dtype):
        super().__init__(width, heads)
        shape = (batch, heads, capacity, width // heads)
        self.register_buffer("keys", torch.zeros(shape, dtype=dtype))
        self.register_buffer("values", torch.zeros(shape, dtype=dtype))

    def attend(self, q, k, v, start: int):
        length = q.shape[2]
        end = start + length
        self.keys[:, :, start:end] = k
        self.values[:, :, start:end] = v
        # From an empty cache the step is causal; one token sees all that is there.
        return F.scaled_dot_product_attention(q, self.keys[:, :, :end], self.values[:, :, :end],
                                              is_causal=start == 0 and length > 1)


class Model(Gpt2):
    def __init__(self, config, batch, capacity, dtype):
        super().__init__(config,
                         lambda width, heads: CachedBlock(width, heads, batch, capacity, dtype))

    def forward(self, tokens, start: int):
        return self.head(self.hidden(tokens, start)[:, -1])


def main():
    path, mode, tokens, context, dtype, kind, threads = sys.argv[1:8]
    device = sys.argv[8] if len(sys.argv) > 8 else "cpu"
    batch = int(sys.argv[9]) if len(sys.argv) > 9 else 1
    config = read_config(path)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    tokens, context = int(tokens), int(context)
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    # Made where and as it will be: of billions of parameters nobody wants another copy.
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = Model(config, batch, context + tokens, dtype).eval()
    graphs = {"mode": "reduce-overhead"} if device == "cuda" else {}
    compiled = torch.compile(model, **graphs) if kind == "compile" else model
    ids = torch.randint(config["vocab_size"], (batch, tokens), device=device)

    def step(number):
        compiled(ids, context)
        if device == "cuda":
            torch.cuda.synchronize()

    with torch.inference_mode():
        print(json.dumps(measure(step, warm_up=3, seconds=4)))


if __name__ == "__main__":
    main()
