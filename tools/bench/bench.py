#!/usr/bin/env python3
"""Measures Sinter, the machine's limits and the peers that are installed, in one run.

    tools/bench/bench.py --sinter build/bin/sinter [--json FILE] [--only TEXT] [--no-peers]
    tools/bench/bench.py --sinter build/bin/sinter --no-peers --gate | --store

Peers: PyTorch (in `python3`, or in the interpreter that SINTER_TORCH_PYTHON names) and `llama-bench`
on the PATH, which needs model files: --gguf-f32, --gguf-bf16. What is not found is said. Every figure
is the median of its own program; ratios come from the same run, so a busy machine spoils both
sides alike but not equally: run it on a quiet one. --gate compares with what is stored of this kind
of machine (gate.py), --store stores it; neither measures anything else.
"""

import argparse
import json
import pathlib
import shutil
import sys

import gate
import training
from limits import Machine, Moment, best_of
from harness import (HERE, MODELS, find_torch, measure_compile, print_compile, ratio, run_json, say,
                     table)

# name, description, mode, tokens of a step, context before it, dtype
WORKS = [
    ("prefill 124M, 512, f32", "gpt2-124m.json", "prefill", 512, 0, "f32"),
    ("prefill 124M, 512, bf16", "gpt2-124m.json", "prefill", 512, 0, "bf16"),
    ("decode 124M, after 512, f32", "gpt2-124m.json", "decode", 1, 512, "f32"),
    ("decode 124M, after 512, bf16", "gpt2-124m.json", "decode", 1, 512, "bf16"),
    ("prefill 1M, 64, f32", "gpt2-1m.json", "prefill", 64, 0, "f32"),
    ("decode 1M, after 64, f32", "gpt2-1m.json", "decode", 1, 64, "f32"),
]


def work_of(config, mode, tokens, context, dtype):
    """What a step cannot do without, from the description alone: (flops, bytes read).

    Matrix products and causal attention; the head for the last row only. Bytes: every weight that
    takes part, once, and the keys and values in the cache.
    """
    width, layers, vocabulary = config["n_embd"], config["n_layer"], config["vocab_size"]
    size = 4 if dtype == "f32" else 2
    body = 12 * width * width * layers
    keys = tokens * context + tokens * (tokens + 1) // 2
    flops = 2 * body * tokens + 4 * keys * width * layers + 2 * width * vocabulary
    read = (body + width * vocabulary + 2 * layers * width * (context + tokens)) * size
    return flops, read


def limit_of(work, measured):
    """Which of the machine's limits bounds a work: products, or the smallest memory that holds all
    that a step touches."""
    _, _, mode, _, _, dtype = work
    return f"{dtype}_gflops" if mode == "prefill" else f"{measured['held_in']}_gb_per_s"


def rate_of(work, ms):
    """What a step of so many milliseconds does of what its limit is of: GFLOP/s or GB/s."""
    _, model, mode, tokens, context, dtype = work
    config = json.loads((MODELS / model).read_text())
    flops, read = work_of(config, mode, tokens, context, dtype)
    return (flops if mode == "prefill" else read) / ms * 1e-6


def measure_sinter(sinter, threads, work):
    name, model, mode, tokens, context, dtype = work
    command = [sinter, "bench", MODELS / model, "--mode", mode, "--dtype", dtype, "--json"]
    command += ["--seq", tokens] if mode == "prefill" else ["--context", context]
    return run_json(command + (["--threads", threads] if threads else []))


def measure_torch(python, threads, works):
    """{(work, "eager" | "compile"): milliseconds}"""
    found = {}
    for name, model, mode, tokens, context, dtype in works:
        for kind in ("eager", "compile"):
            say(f"  PyTorch {kind}: {name}")
            result = run_json([python, HERE / "peers/torch_bench.py", MODELS / model, mode, tokens,
                               context, dtype, kind, threads])
            if result:
                found[name, kind] = result["ms_median"]
    return found


def measure_llama(tool, files, threads):
    """{work: milliseconds} from llama-bench, for the 124M shape."""
    found = {}
    for dtype, file in files.items():
        if not file:
            continue
        say(f"  llama-bench: {file}")
        for name, model, mode, tokens, context, kind in WORKS:
            if kind != dtype or model != "gpt2-124m.json":
                continue
            size = ["-p", 512, "-n", 0] if mode == "prefill" else ["-p", 0, "-n", 32, "-d", context]
            row = run_json([tool, "-m", file, "-t", threads, "-r", 5, "-o", "jsonl", *size])
            if row:
                found[name] = 1e3 * tokens / row["avg_ts"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sinter", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=0, help="default: one a core")
    parser.add_argument("--only", default="", help="works whose name contains this")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--quick", action="store_true",
                        help="1M parameters trained in place of 124M, nothing else: shows whether "
                             "the works of training run, not how fast")
    parser.add_argument("--gguf-f32", help="GPT-2 124M for llama-bench")
    parser.add_argument("--gguf-bf16", help="the same in bf16")
    parser.add_argument("--gate", action="store_true",
                        help="fail where a work does much less of what the machine can do than is "
                             "stored of it")
    parser.add_argument("--store", action="store_true", help="store what is measured for --gate")
    args = parser.parse_args()
    works = [work for work in WORKS if args.only in work[0] and not args.quick]

    # A shared machine's rates drift by half within minutes, so each work has its moment, right before
    # and after it. Of three rounds the one counts in which the work did the second largest share of
    # what the machine did meanwhile; for the gate, the fastest step of the best.
    say("Sinter, and what the machine does around each work")
    machine = Machine(args.sinter, args.threads)
    ours, shares = {}, {}
    before = machine.measure()
    for work in works:
        rounds, best = [], []
        for _ in range(3):
            measured = measure_sinter(args.sinter, args.threads, work)
            after = machine.measure()
            if not before or not after:
                return 1
            if measured:
                moment, kind = Moment(before, after), limit_of(work, measured)
                rounds.append((moment.share(kind, rate_of(work, measured["ms_median"])),
                               measured, moment))
                best.append({work[0]: moment.share(kind, rate_of(work, measured["ms_min"]))})
            before = after
        rounds.sort(key=lambda found: found[0])
        ours[work[0]] = rounds[len(rounds) // 2] if rounds else None
        shares.update(best_of(best))
    compile_ms = {}
    for_gate = args.gate or args.store  # then nothing is measured that it does not compare
    if not args.only and not args.quick and not for_gate:
        compile_ms = measure_compile(args.sinter, MODELS / "gpt2-124m.json", [])

    torch_ms, llama_ms = {}, {}
    notes = []
    python = None
    if not args.no_peers:
        python, version = find_torch()
        if python:
            say(f"PyTorch {version}")
            torch_ms = measure_torch(python, before["threads"], works)
        else:
            notes.append("PyTorch was not found (pip install torch, or set SINTER_TORCH_PYTHON).")
        tool = shutil.which("llama-bench")
        files = {"f32": args.gguf_f32, "bf16": args.gguf_bf16}
        if tool and any(files.values()):
            llama_ms = measure_llama(tool, files, before["threads"])
        elif tool:
            notes.append("llama-bench is there, but no model for it (--gguf-f32, --gguf-bf16).")
        else:
            notes.append("llama-bench was not found on the PATH.")

    results = []
    rows = [["work", "ms", "tokens/s", "GFLOP/s", "GB/s", "limit", "of limit", "of moment", "x eager", "x compile",
             "x llama.cpp"]]
    for name, model, mode, tokens, context, dtype in works:
        if not ours[name]:
            continue
        of_moment, measured, moment = ours[name]
        ms = measured["ms_median"]
        config = json.loads((MODELS / model).read_text())
        flops, read = work_of(config, mode, tokens, context, dtype)
        gflops, gbytes = flops / ms * 1e-6, read / ms * 1e-6
        work = (name, model, mode, tokens, context, dtype)
        kind, rate = limit_of(work, measured), rate_of(work, ms)
        limit = moment.limits[kind]
        of_limit = machine.share(kind, rate, limit)
        peers = {"eager": torch_ms.get((name, "eager")), "compile": torch_ms.get((name, "compile")),
                 "llama.cpp": llama_ms.get(name)}
        speedups = {peer: time_ms / ms if time_ms else None for peer, time_ms in peers.items()}
        results.append({"work": name, "ms": ms, "tokens_per_second": 1e3 * tokens / ms,
                        "gflops": gflops, "gb_per_s": gbytes, "limit": limit, "of_limit": of_limit,
                        "moment": moment.now[kind], "of_moment": of_moment, "peers_ms": peers,
                        "speedup": speedups, "sinter": measured})
        rows.append([name, f"{ms:.3f}", f"{1e3 * tokens / ms:.1f}", f"{gflops:.1f}", f"{gbytes:.1f}",
                     f"{limit:.0f}", ratio(of_limit), ratio(of_moment),
                     *[ratio(speedups[peer]) for peer in peers]])

    print(f"{before['machine']}")
    if works:
        table(rows)
    by_name = {result["work"]: result["ms"] for result in results}
    for work in ("prefill 124M, 512", "decode 124M, after 512"):
        if f"{work}, f32" in by_name and f"{work}, bf16" in by_name:
            gain = by_name[f"{work}, f32"] / by_name[f"{work}, bf16"]
            print(f"{work}: bf16 is {gain:.2f} x our f32")
    print_compile("124M shape", compile_ms)
    if works:
        print("limit: the most that this machine was seen to do: GFLOP/s of multiply-adds for a prefill, "
              "GB/s\nread from the memory or cache that holds all of a decode step. moment: what it did "
              "right before and\nafter the work")
    trained = training.measure(args.sinter, args.threads, machine, python, args.only, args.quick,
                               extras=not for_gate)
    shares.update(trained.get("shares", {}))
    for note in notes:
        print(note)
    if args.json:
        args.json.write_text(json.dumps({"machine": machine.last, "works": results,
                                         "compile_ms": compile_ms, "training": trained,
                                         "notes": notes}, indent=1) + "\n")
        say(f"written: {args.json}")
    failed = len(results) != len(works) or trained.get("failed")
    if args.gate:
        found = gate.compare(gate.read_ratios(), before["machine"], shares,
                             whole=not args.only and not args.quick)
        print("\n".join(found.lines))
        failed = failed or found.failed
    if args.store:
        gate.store(before["machine"], shares)
        say(f"stored: {gate.RATIOS}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
