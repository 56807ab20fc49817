#!/usr/bin/env python3
"""The products of a GPT-2's training step in PyTorch, f32, each by itself: torch_products.py CONFIG
ROWS THREADS

ROWS are those of a microbatch, of which a block of a loss has a quarter. Prints a line a product: which
one, [m, k] x [k, n], GFLOP/s of the median. What a library's best products reach on a machine is
the rate to hold a training step against; beside the limits of sinter-limits it says how far from
these a product stays.
"""

import sys

import torch

from gpt2 import measure, read_config


def main():
    config, rows = read_config(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(int(sys.argv[3]))
    width = config["n_embd"]
    layers = [("qkv", rows, width, 3 * width), ("attention out", rows, width, width),
              ("up", rows, width, 4 * width), ("down", rows, 4 * width, width),
              ("vocabulary", rows // 4, width, config["vocab_size"])]
    for name, m, k, n in layers:
        x, weight, gradient = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n)
        ways = [("forward", x, weight.t()), ("rows' gradient", gradient, weight),
                ("weights' gradient", gradient.t(), x)]
        for way, lhs, rhs in ways:
            out = torch.empty(lhs.shape[0], rhs.shape[1])
            took = measure(lambda _: torch.mm(lhs, rhs, out=out), warm_up=2, seconds=1)
            rate = 2 * m * k * n / took["ms_median"] * 1e-6
            print(f"{name + ', ' + way:34} [{lhs.shape[0]}, {lhs.shape[1]}] x "
                  f"[{rhs.shape[0]}, {rhs.shape[1]}]  {rate:.1f} GFLOP/s", flush=True)


if __name__ == "__main__":
    main()
