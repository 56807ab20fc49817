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

import torch
import torch.nn.functional as F

from gpt2 import Gpt2, measure, read_config


def get_peak(device):
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Model(Gpt2):
    def __init__(self, config):
        super().__init__(config)
        for weight in self.parameters():
            if weight.dim() >= 2:
                torch.nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, targets):
        logits = self.head(self.hidden(tokens, 0))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    path, batch, sequence, dtype, kind, threads = sys.argv[1:7]
    device = sys.argv[7] if len(sys.argv) > 7 else "cpu"
    config = read_config(path)
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

    times = measure(step, warm_up=2, seconds=8, most=500)
    print(json.dumps({**times, "peak_bytes": get_peak(device) - baseline,
                      "baseline_bytes": baseline}))


if __name__ == "__main__":
    main()
