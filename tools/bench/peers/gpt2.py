"""What the PyTorch peers share: a GPT-2 from its config.json, written for speed (fused QKV,
scaled_dot_product_attention), and the clock."""

import json
import time

import torch
import torch.nn.functional as F


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

    def attend(self, q, k, v, start: int):
        """Of whole sequences; `start` is 0."""
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x, start: int):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, 2))
        a = self.attend(q, k, v, start)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(torch.nn.Module):
    """Up to the last norm; `make_block(width, heads)` makes a layer."""

    def __init__(self, config, make_block=Block):
        super().__init__()
        width = config["n_embd"]
        self.tokens = torch.nn.Embedding(config["vocab_size"], width)
        self.positions = torch.nn.Embedding(config["n_positions"], width)
        self.blocks = torch.nn.ModuleList(make_block(width, config["n_head"])
                                          for _ in range(config["n_layer"]))
        self.norm = torch.nn.LayerNorm(width)

    def hidden(self, tokens, start: int):
        x = self.tokens(tokens) + self.positions.weight[start : start + tokens.shape[1]]
        for block in self.blocks:
            x = block(x, start)
        return x

    def head(self, x):
        return F.linear(self.norm(x), self.tokens.weight).float()


def read_config(path):
    with open(path) as file:
        return json.load(file)


def measure(step, warm_up, seconds, most=None):
    """{"ms_median": ..., "ms_min": ..., "count": ...} of step(number), of five at the least."""
    for number in range(warm_up):
        step(number)
    times = []
    end = time.monotonic() + seconds
    while len(times) < 5 or (time.monotonic() < end and (not most or len(times) < most)):
        start = time.perf_counter()
        step(len(times))
        times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    return {"ms_median": times[len(times) // 2], "ms_min": times[0], "count": len(times)}
