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
import time

import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, width, heads, batch, capacity, dtype):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)
        shape = (batch, heads, capacity, width // heads)
        self.register_buffer("keys", torch.zeros(shape, dtype=dtype))
        self.register_buffer("values", torch.zeros(shape, dtype=dtype))

    def forward(self, x, start: int):
        batch, length, width = x.shape
        end = start + length
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, 2))
        self.keys[:, :, start:end] = k
        self.values[:, :, start:end] = v
        # From an empty cache the step is causal; one token sees all that is there.
        a = F.scaled_dot_product_attention(q, self.keys[:, :, :end], self.values[:, :, :end],
                                           is_causal=start == 0 and length > 1)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(torch.nn.Module):
    def __init__(self, config, batch, capacity, dtype):
        super().__init__()
        width = config["n_embd"]
        self.tokens = torch.nn.Embedding(config["vocab_size"], width)
        self.positions = torch.nn.Embedding(config["n_positions"], width)
        self.blocks = torch.nn.ModuleList(Block(width, config["n_head"], batch, capacity, dtype)
                                          for _ in range(config["n_layer"]))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, tokens, start: int):
        x = self.tokens(tokens) + self.positions.weight[start : start + tokens.shape[1]]
        for block in self.blocks:
            x = block(x, start)
        return F.linear(self.norm(x[:, -1]), self.tokens.weight).float()


def main():
    path, mode, tokens, context, dtype, kind, threads = sys.argv[1:8]
    device = sys.argv[8] if len(sys.argv) > 8 else "cpu"
    batch = int(sys.argv[9]) if len(sys.argv) > 9 else 1
    with open(path) as file:
        config = json.load(file)
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

    def step(ids, context):
        compiled(ids, context)
        if device == "cuda":
            torch.cuda.synchronize()

    with torch.inference_mode():
        for _ in range(3):
            step(ids, context)
        times = []
        end = time.monotonic() + 4
        while len(times) < 5 or time.monotonic() < end:
            start = time.perf_counter()
            step(ids, context)
            times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    print(json.dumps({"ms_median": times[len(times) // 2], "ms_min": times[0],
                      "count": len(times)}))


if __name__ == "__main__":
    main()
