#!/usr/bin/env python3
"""Predicted steps beside measured ones: prediction.py SINTER [MODEL] [--published]

Measures training steps of MODEL (default: 17 M parameters) on two ranks of one thread each and on one
rank of two threads, in turn, and prints them beside what `sinter plan` says. First come the links, by
`sinter devices --measure-links`. Others who use the machine slow what is measured, not what is
predicted: the last column compares each layout with one rank of the same round.

--published compares with figures that others have published of GPUs instead. Nothing is run: one
GPU's rate is taken as published, so that what is compared is what several of them keep of it.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SMALL = {"model_type": "gpt2", "vocab_size": 4096, "n_positions": 256, "n_embd": 768, "n_layer": 2, "n_head": 12}
LLAMA_8B = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 8192, "rope_theta": 500000.0, "tie_word_embeddings": False, "hidden_act": "silu",
}
# By microbatches of a step: those of one rank, which has them all, and of the layouts beside it.
LAYOUTS = {
    2: {
        "one rank": [],
        "data=2": ["--grid", "data=2"],
        "data=2, zero 3": ["--grid", "data=2", "--zero", "3"],
        "tensor=2": ["--grid", "tensor=2"],
    },
    8: {
        "one rank": [],
        "pipeline=2": ["--grid", "pipeline=2"],
    },
}
# (who, cluster, ranks, options, part of one GPU's rate that each keeps). KempnerForge: 8B, 4096 tokens
# a row, tokens/s by https://kempnerinstitute.github.io/KempnerForge/reference/benchmarks.html; llmq and
# torchtitan by their own reports. Rows of a microbatch are assumed: these do not say.
PUBLISHED = [
    ("KempnerForge FSDP 2", "h200x4", 2, ["--grid", "data=2", "--zero", "3"], 51.7 / 57.8),
    ("KempnerForge FSDP 4", "h200x4", 4, ["--grid", "data=4", "--zero", "3"], 53.8 / 57.8),
    ("KempnerForge TP 2, FSDP 2", "h200x4", 4, ["--grid", "data=2,tensor=2", "--zero", "3"], 35.9 / 57.8),
    ("KempnerForge TP 4", "h200x4", 4, ["--grid", "tensor=4"], 34.7 / 57.8),
    ("llmq data 8", "h100x8", 8, ["--grid", "data=8", "--zero", "1"], 0.97),
]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def print_table(heading, rows):
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        print("  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                        for i, (text, width) in enumerate(zip(row, widths))).rstrip())


def compare_measured(sinter, model, rounds, batch, iterations, counts):
    run(sinter, "devices", "--measure-links", "--ranks", 2)
    rows, absolute, relative = [], [], []
    for microbatches in counts:
        layouts = LAYOUTS[microbatches]
        step = ["--mode", "train", "--batch", batch, "--seq", 256, "--accumulate", microbatches]
        predicted = {name: json.loads(run(sinter, "plan", model, *step, *layout, "--json"))["prediction"]["step_ms"]
                     for name, layout in layouts.items()}
        measured = {name: [] for name in layouts}
        for _ in range(rounds):
            for name, layout in layouts.items():
                ranks = ["--ranks", "2", "--threads", "1"] if layout else ["--threads", "2"]
                result = run(sinter, "bench", model, *step, *layout, *ranks, "--iters", iterations, "--json")
                measured[name].append(json.loads(result)["ms_median"])
        for name in layouts:
            median = statistics.median(measured[name])
            absolute.append(abs(predicted[name] / median - 1))
            ratio = statistics.median(b / a for a, b in zip(measured["one rank"], measured[name]))
            guess = predicted[name] / predicted["one rank"]
            if name != "one rank":
                relative.append(abs(guess / ratio - 1))
            rows.append([f"{name}, {microbatches} microbatches", f"{predicted[name]:.1f}", f"{median:.1f}",
                         f"{100 * (predicted[name] / median - 1):+.1f}", f"{guess:.3f}", f"{ratio:.3f}",
                         f"{100 * (guess / ratio - 1):+.1f}"])
    print_table(["layout", "predicted ms", "measured ms", "%", "of one rank, predicted", "measured", "%"], rows)
    print(f"median error {100 * statistics.median(absolute):.1f} %, of what layouts are of one rank "
          f"{100 * statistics.median(relative):.1f} %")


def compare_published(sinter, folder):
    model = folder / "config.json"
    model.write_text(json.dumps(LLAMA_8B))
    rows = 4

    def predict(cluster, ranks, options):
        plan = json.loads(run(sinter, "plan", model, "--mode", "train", "--batch", rows, "--seq", 4096,
                              "--accumulate", ranks, "--dtype", "bf16", "--cluster", cluster, *options, "--json"))
        return ranks * rows * 4096 / plan["prediction"]["step_ms"] * 1e3

    ones, table, errors = {}, [], []
    for who, cluster, ranks, options, kept in PUBLISHED:
        if cluster not in ones:
            ones[cluster] = predict(cluster, 1, [])
        data = next((int(part[5:]) for part in options[1].split(",") if part.startswith("data=")), 1)
        guess = predict(cluster, data, options) / ones[cluster] / ranks
        errors.append(abs(guess / kept - 1))
        table.append([who, f"{100 * guess:.1f}", f"{100 * kept:.1f}", f"{100 * (guess / kept - 1):+.1f}"])
    print_table(["layout", "% of one GPU's rate, predicted", "published", "error %"], table)
    print(f"one GPU, predicted: {', '.join(f'{name} {rate:.0f} tokens/s' for name, rate in ones.items())}; "
          f"median error {100 * statistics.median(errors):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinter", type=pathlib.Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iters", type=int, default=3, help="steps of a measurement")
    parser.add_argument("--batch", type=int, default=2, help="rows of 256 tokens of a microbatch")
    parser.add_argument("--microbatches", type=int, choices=LAYOUTS, help="only the layouts of so many")
    parser.add_argument("--published", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.published:
            compare_published(options.sinter, pathlib.Path(folder))
            return
        model = options.model
        if not model:
            model = pathlib.Path(folder) / "config.json"
            model.write_text(json.dumps(SMALL))
        counts = [options.microbatches] if options.microbatches else list(LAYOUTS)
        compare_measured(options.sinter, model, options.rounds, options.batch, options.iters, counts)


if __name__ == "__main__":
    main()
