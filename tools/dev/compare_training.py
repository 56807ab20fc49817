#!/usr/bin/env python3
"""Trains a Hugging Face model with PyTorch and with `sinter train` and compares every step.

Both start from the same weights and read the same tokens in the same order; dropout is off. Prints
the losses side by side, the largest relative difference, and the time of a step.

    tools/dev/compare_training.py test/e2e/models/llama --steps 50 --dtype f32

The data are tokens made from a seed, with enough order in them to be learned, or a file of raw
uint16 token ids (--data). Needs torch and transformers.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy
import torch
import transformers


def make_tokens(vocab, count, seed):
    """A random walk over the vocabulary: the next token is one of four that follow from the last."""
    random = numpy.random.default_rng(seed)
    followers = random.integers(0, vocab, size=(vocab, 4))
    tokens = numpy.zeros(count, dtype=numpy.uint16)
    for i in range(1, count):
        tokens[i] = followers[tokens[i - 1], random.integers(0, 4)]
    return tokens


def train_torch(options, tokens):
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        options.model, torch_dtype=torch.float32, attn_implementation=options.attention
    )
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for name in ("attn_pdrop", "attention_dropout", "resid_pdrop", "embd_pdrop"):
        if hasattr(model.config, name):
            setattr(model.config, name, 0.0)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=options.lr, betas=(0.9, 0.95), eps=1e-8,
    )
    size = options.batch * options.seq
    rows = []
    for step in range(options.steps):
        start = time.perf_counter()
        window = tokens[step * size : step * size + size + 1].astype(numpy.int64)
        x = torch.from_numpy(window[:-1]).view(options.batch, options.seq)
        y = torch.from_numpy(window[1:]).view(options.batch, options.seq)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.dtype == "bf16"):
            logits = model(x, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits.float().view(-1, logits.shape[-1]), y.view(-1)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rows.append((loss.item(), norm.item(), 1e3 * (time.perf_counter() - start)))
    return rows


def train_sinter(options, data, out):
    log = os.path.join(out, "log.jsonl")
    command = [
        options.sinter, "train", options.model, "--data", data, "--out", os.path.join(out, "run"),
        "--steps", options.steps, "--batch", options.batch, "--seq", options.seq, "--lr",
        options.lr, "--order", "sequential", "--log", log, "--dtype", options.dtype, "--threads",
        options.threads,
    ]
    subprocess.run([str(part) for part in command], check=True)
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    return [(r["loss"], r["grad_norm"], r["step_ms"]) for r in records]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a Hugging Face directory with weights")
    parser.add_argument("--sinter", default="build/bin/sinter")
    parser.add_argument("--data", help="raw uint16 token ids")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--attention", default="eager", help="transformers' implementation")
    options = parser.parse_args()

    with open(os.path.join(options.model, "config.json")) as config:
        vocab = json.load(config)["vocab_size"]
    with tempfile.TemporaryDirectory() as out:
        data = options.data
        if not data:
            data = os.path.join(out, "tokens.bin")
            count = options.steps * options.batch * options.seq + 1
            make_tokens(vocab, count, 0).tofile(data)
        tokens = numpy.fromfile(data, dtype=numpy.uint16)
        ours = train_sinter(options, data, out)
        theirs = train_torch(options, tokens)
    worst = worst_norm = 0.0
    for step, (a, b) in enumerate(zip(ours, theirs)):
        worst = max(worst, abs(a[0] - b[0]) / abs(b[0]))
        worst_norm = max(worst_norm, abs(a[1] - b[1]) / abs(b[1]))
        if step % max(1, options.steps // 10) == 0:
            print(f"step {step}: loss {a[0]:.6f} {b[0]:.6f}  norm {a[1]:.5f} {b[1]:.5f}")
    middle = len(ours) // 2
    print(
        f"{options.model}: largest relative difference of the loss {worst:.2e}, of the gradient's "
        f"norm {worst_norm:.2e}; step {sorted(r[2] for r in ours)[middle]:.2f} ms, "
        f"PyTorch {sorted(r[2] for r in theirs)[middle]:.2f} ms"
    )


if __name__ == "__main__":
    main()
