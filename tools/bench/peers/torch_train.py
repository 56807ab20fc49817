#!/usr/bin/env python3
"""A training step of a GPT-2 in PyTorch: torch_train.py CONFIG BATCH SEQ DTYPE KIND THREADS [DEVICE]

CONFIG is a GPT-2 config.json (random weights), DTYPE f32 or bf16 (autocast, f32 masters), KIND
eager or compile, DEVICE cpu or cuda. The model is written for speed: fused QKV, scaled_dot_product_attention, fused
AdamW; gradients are clipped to a norm of 1. Prints {"ms_median": ..., "ms_min": ..., "count": ...,
"peak_bytes": ..., "baseline_bytes": ...}: peak_bytes is the most that this process held, less what
it held before the model was made (the interpreter and PyTorch itself); on a GPU, of the device's
memory.
"""

import json
import resource
import sys
import time

import torch
import torch.nn.functional as F


def get_peak(device):
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, 2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["n_embd"]
        self.tokens = torch.nn.Embedding(config["vocab_size"], width)
        self.positions = torch.nn.Embedding(config["n_positions"], width)
        self.blocks = torch.nn.ModuleList(
            Block(width, config["n_head"]) for _ in range(config["n_layer"]))
        self.norm = torch.nn.LayerNorm(width)
        for weight in self.parameters():
            if weight.dim() >= 2:
                torch.nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def main():
    path, batch, sequence, dtype, kind, threads = sys.argv[1:7]
    device = sys.argv[7] if len(sys.argv) > 7 else "cpu"
    with open(path) as file:
        config = json.load(file)
    batch, sequence = int(batch), int(sequence)
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    baseline = get_peak(device)
    model = Model(config).to(device)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=3e-4, betas=(0.9, 0.95), fused=True)
    compute = torch.compile(model) if kind == "compile" else model
    ids = torch.randint(config["vocab_size"], (8, batch * sequence + 1), device=device)

    def step(number):
        window = ids[number % len(ids)]
        tokens, targets = (part.view(batch, sequence) for part in (window[:-1], window[1:]))
        with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype == "bf16"):
            loss = compute(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for number in range(2):
        step(number)
    times = []
    end = time.monotonic() + 8
    while len(times) < 5 or (time.monotonic() < end and len(times) < 500):
        start = time.perf_counter()
        step(len(times))
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    print(json.dumps({"ms_median": times[len(times) // 2], "ms_min": times[0],
                      "count": len(times), "peak_bytes": get_peak(device) - baseline,
                      "baseline_bytes": baseline}))


if __name__ == "__main__":
    main()
