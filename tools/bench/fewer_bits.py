#!/usr/bin/env python3
"""Measures weights of 8 and 4 bits beside llama.cpp, on the same files.

    tools/bench/fewer_bits.py --sinter build/bin/sinter [--folder DIR] [--shape NAME]
        [--activations stored|int8] [--json FILE]

Needs an interpreter with llama-cpp-python and gguf (SINTER_LLAMA_PYTHON; default python3), which
writes the files into the folder: GPT-2 124M and a llama of 1.1B of random weights, in Q8_0 and Q4_0.
llama.cpp rounds activations to 8 bits; Sinter does with --activations int8, and is measured both ways.
Sinter and llama.cpp take turns, one after the other in each of several rounds; a round's ratio is
llama.cpp's time by ours, and its share of memory what our decoding read a second by what plain loads
of the same weights did right after it (pages differ by a factor of two on a virtual machine). The
medians of the rounds' ratios count: a shared machine is slow by spells.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys

from harness import HERE, median, ratio, run_json, say, table
from limits import Machine

PEER = HERE / "peers/llama_bench.py"
CONTEXT, PROMPT = 64, 512


def measure_round(args, python, file, mode, activations):
    """One of each: {"ours", "theirs" in ms, "of_memory"}."""
    step = ["--context", CONTEXT, "--iters", 100] if mode == "decode" else ["--seq", PROMPT,
                                                                          "--iters", 5]
    ours = run_json([args.sinter, "bench", file, "--mode", mode, "--dtype", "f32", "--threads",
                     args.threads, "--activations", activations, "--json", *step])
    tokens, context = (1, CONTEXT) if mode == "decode" else (PROMPT, 0)
    theirs = run_json([python, PEER, "bench", file, mode, tokens, context, args.threads])
    if not (ours and theirs):
        return None
    rate, loads = ours["bytes"] / ours["ms_median"] * 1e-6, ours.get("weight_loads_gb_per_s")
    return {"ours": ours["ms_median"], "theirs": theirs["ms_median"],
            "of_memory": rate / loads if loads else 0, "sinter": ours}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sinter", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, default="build/llama-files")
    parser.add_argument("--shape", action="append", help="default: gpt2-124m and llama-1.1b")
    parser.add_argument("--mode", action="append", help="default: decode and prefill")
    parser.add_argument("--activations", action="append", help="default: stored and int8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    python = os.environ.get("SINTER_LLAMA_PYTHON", "python3")
    machine, results = Machine(args.sinter, args.threads), []
    rows = [["work", "ms", "tokens/s", "llama.cpp, ms", "tokens/s", "x llama.cpp", "of memory"]]
    for shape in args.shape or ["gpt2-124m", "llama-1.1b"]:
        for kind in ("q8_0", "q4_0"):
            file = args.folder / f"{shape}-{kind}.gguf"
            if not file.exists():
                say(f"writing {file}")
                subprocess.run([python, PEER, "write", shape, kind, file], check=True)
            works = itertools.product(args.mode or ["decode", "prefill"],
                                      args.activations or ["stored", "int8"])
            for mode, activations in works:
                name = f"{mode} {shape}, {kind}, activations {activations}"
                say(name)
                rounds = [found for _ in range(args.rounds)
                          if (found := measure_round(args, python, file, mode, activations))]
                if not rounds:
                    return 1
                tokens = 1 if mode == "decode" else PROMPT
                ours, theirs, of_memory = (median([found[key] for found in rounds])
                                           for key in ("ours", "theirs", "of_memory"))
                speedup = median([found["theirs"] / found["ours"] for found in rounds])
                results.append({"work": name, "rounds": rounds, "speedup": speedup,
                                "of_memory": of_memory})
                rows.append([name, f"{ours:.2f}", f"{1e3 * tokens / ours:.1f}", f"{theirs:.2f}",
                             f"{1e3 * tokens / theirs:.1f}", ratio(speedup),
                             ratio(of_memory)])
    machine.measure()
    print(machine.last["machine"])
    table(rows)
    if args.json:
        args.json.write_text(json.dumps({"machine": machine.last, "works": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
