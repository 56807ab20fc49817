"""Training steps beside the machine's limits and PyTorch.

A step is one `sinter train` does: forward, backward, clipping, AdamW, on tokens from a file. Its
time is the median of the log's step_ms, its memory what the run holds (the log's peak_bytes: all of
its process but mapped files) and what the whole process held at most (ru_maxrss). PyTorch's is what
its own process held at most, less what it held before the model was made.
"""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import time
from array import array

from harness import HERE, MODELS, measure_compile, median, print_compile, ratio, run_json, say, table
from limits import Moment

CHARACTERS = {"model_type": "gpt2", "vocab_size": 256, "n_positions": 64, "n_embd": 128,
              "n_layer": 4, "n_head": 4, "activation_function": "gelu_new"}
BUDGET_SHARE = 0.75  # of the memory that a step would take


class Work:
    def __init__(self, name, model, batch, sequence, dtype, steps):
        self.name, self.model, self.dtype, self.steps = name, model, dtype, steps
        self.batch, self.sequence = batch, sequence
        self.config = json.loads(pathlib.Path(model).read_text())

    def sizes(self):
        return ["--batch", self.batch, "--seq", self.sequence]


def make_works(folder, quick):
    characters = folder / "characters.json"
    characters.write_text(json.dumps(CHARACTERS))
    big, size = (MODELS / "gpt2-1m.json", "1M") if quick else (MODELS / "gpt2-124m.json", "124M")
    batch, sequence = (2, 64) if quick else (4, 256)
    shape = f"train {size}, {batch} x {sequence}"
    return [Work(f"{shape}, f32", big, batch, sequence, "f32", 8),
            Work(f"{shape}, bf16", big, batch, sequence, "bf16", 10),
            Work("train characters, 12 x 64, f32", characters, 12, 64, "f32", 20 if quick else 500)]


def useful_flops(work):
    """What the mathematics of a step asks for, of which forward is a third: matrix products (the
    head too), and causal attention. What is computed twice counts once."""
    c, n = work.config, work.batch * work.sequence
    weights = 12 * c["n_embd"] ** 2 * c["n_layer"] + c["n_embd"] * c["vocab_size"]
    pairs = work.batch * work.sequence * (work.sequence + 1) / 2
    return 3 * (2 * n * weights + 4 * pairs * c["n_embd"] * c["n_layer"])


class Run:
    """A `sinter train` from random weights: its log, when each line of it came, its memory."""

    def __init__(self, sinter, folder, threads, work, steps, options=()):
        data = folder / "tokens.bin"
        ids = random.Random(0).choices(range(work.config["vocab_size"]),
                                       k=work.batch * work.sequence * (steps + 1))
        data.write_bytes(array("H", ids).tobytes())
        command = [sinter, "train", work.model, "--data", data, "--out", folder / "out", "--steps",
                   steps, *work.sizes(), "--dtype", work.dtype, "--order", "sequential", "--log",
                   "/dev/stdout", *options, *(["--threads", threads] if threads else [])]
        self.records, self.times = [], []
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen([str(part) for part in command], text=True,
                                       stdout=subprocess.PIPE, stderr=errors)
            for line in process.stdout:
                if line.startswith("{"):
                    self.times.append(time.monotonic())
                    self.records.append(json.loads(line))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdout.close()
            errors.seek(0)
            said = errors.read().strip().splitlines() or ["no output"]
            self.error = said[-1] if process.returncode else None
        subprocess.run(["rm", "-r", "-f", folder / "out"], check=True)
        if self.error:
            say(f"  failed: {' '.join(str(part) for part in command)}: {self.error}")
            return
        # The first steps meet cold pages.
        times = [record["step_ms"] for record in self.records[2:]]
        self.ms, self.ms_min = median(times), min(times)
        self.peak = max(record["peak_bytes"] for record in self.records)
        self.process_peak = usage.ru_maxrss * 1024


def measure_saving(sinter, folder, threads, work):
    """The time of ten steps and the checkpoint that is written meanwhile, over that of ten steps
    without. The steps that a checkpoint can reach are the first of the ten after it; what they take
    more than the median of the others is its cost. The median of three checkpoints."""
    every, reached = 10, 4
    saving = Run(sinter, folder, threads, work, 4 * every, ["--save-every", every])
    if saving.error:
        return None
    # Line k comes after step k, and before the checkpoint that follows it.
    took = [after - before for before, after in zip(saving.times, saving.times[1:])]
    costs = []
    for first in range(every - 1, len(took), every):
        ten = took[first:first + every]
        usual = median(ten[reached:])
        costs.append(sum(ten[:reached]) / usual - reached)
    return 1 + median(costs) / every


def measure_budget(sinter, folder, threads, work):
    """The time of a step in BUDGET_SHARE of the memory that it takes without a budget, over its time
    without one. With so many rows that activations take a good part of it: parameters and optimizer
    state cannot be computed again."""
    more = Work(work.name, work.model, 4 * work.batch, work.sequence, work.dtype, 4)
    free = Run(sinter, folder, threads, more, more.steps)
    if free.error:
        return {"bytes": 0, "slowdown": None}
    budget = int(BUDGET_SHARE * free.peak)
    under = Run(sinter, folder, threads, more, more.steps, ["--memory-budget", budget])
    return {"bytes": budget, "slowdown": None if under.error else under.ms / free.ms}


def measure_torch(python, threads, works):
    """{(work, "eager" | "compile"): what torch_train.py prints}"""
    found = {}
    for work in works:
        for kind in ("eager", "compile"):
            say(f"  PyTorch {kind}: {work.name}")
            result = run_json([python, HERE / "peers/torch_train.py", work.model, work.batch,
                               work.sequence, work.dtype, kind, threads])
            if result:
                found[work.name, kind] = result
    return found


def measure(sinter, threads, machine, torch_python, only="", quick=False, extras=True):
    """Measures and prints; returns what it found, for --json. Extras: a step under a budget, with
    checkpoints, and compiling."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        works = [work for work in make_works(folder, quick) if only in work.name]
        if not works:
            return {}
        say("Training, and what the machine does around each work")
        runs, moments = {}, {}
        before = machine.measure()
        for work in works:
            runs[work.name] = Run(sinter, folder, threads, work, work.steps)
            after = machine.measure()
            if not before or not after:
                return {"failed": [work.name]}
            moments[work.name] = Moment(before, after)
            before = after
        first, extra = works[0], {}
        done = runs[first.name]
        if extras and not done.error and first.config != CHARACTERS:
            say("  under a budget, and with checkpoints")
            extra["budget"] = measure_budget(sinter, folder, threads, first)
            extra["saving"] = measure_saving(sinter, folder, threads, first)
        peers = {}
        if torch_python:
            peers = measure_torch(torch_python, before["threads"], works)
        if extras and not only:
            extra["compile_ms"] = measure_compile(
                sinter, first.model, ["--entry", "train", *map(str, first.sizes())], count=2)
    return report(works, runs, machine, moments, peers, extra)


def report(works, runs, machine, moments, peers, extra):
    mib = lambda count: f"{count / 2**20:.0f}" if count else "-"
    rows = [["work", "ms", "tokens/s", "GFLOP/s", "limit", "of limit", "of moment", "x eager", "x compile",
             "peak MiB", "process MiB", "eager MiB", "of eager"]]
    results, shares = [], {}
    for work in works:
        run = runs[work.name]
        if run.error:
            continue
        moment, kind = moments[work.name], f"{work.dtype}_gflops"
        gflops, limit = useful_flops(work) / run.ms * 1e-6, moment.limits[kind]
        of_limit = machine.share(kind, gflops, limit)
        of_moment = moment.share(kind, gflops)
        shares[work.name] = moment.share(kind, useful_flops(work) / run.ms_min * 1e-6)
        eager, compiled = (peers.get((work.name, kind), {}) for kind in ("eager", "compile"))
        speedups = [peer["ms_median"] / run.ms if peer else None for peer in (eager, compiled)]
        eager_peak = eager.get("peak_bytes")
        share = run.peak / eager_peak if eager_peak else None
        tokens = 1e3 * work.batch * work.sequence / run.ms
        rows.append([work.name, f"{run.ms:.2f}", f"{tokens:.0f}", f"{gflops:.1f}", f"{limit:.0f}",
                     ratio(of_limit), ratio(of_moment), *map(ratio, speedups), mib(run.peak),
                     mib(run.process_peak), mib(eager_peak), ratio(share)])
        results.append({"work": work.name, "ms": run.ms, "tokens_per_second": tokens,
                        "gflops": gflops, "limit": limit, "of_limit": of_limit,
                        "moment": moment.now[kind], "of_moment": of_moment,
                        "peak_bytes": run.peak, "process_peak_bytes": run.process_peak,
                        "eager": eager, "compile": compiled})
    print()
    table(rows)
    by_name = {result["work"]: result["ms"] for result in results}
    for name, ms in by_name.items():
        narrow = by_name.get(name.replace(", f32", ", bf16"))
        if name.endswith(", f32") and narrow:
            print(f"{name.removesuffix(', f32')}: bf16 is {ms / narrow:.2f} x our f32")
    name = works[0].name
    if "budget" in extra:
        slowdown, size = extra["budget"]["slowdown"], mib(extra["budget"]["bytes"])
        print(f"{name}, but 4 times the rows, in {BUDGET_SHARE} of its memory ({size} MiB): " +
              (f"{slowdown:.2f} x the time" if slowdown else "refused"))
    if extra.get("saving"):
        print(f"{name}, a checkpoint every 10 steps: {extra['saving']:.3f} x the time of none")
    print_compile(name, extra.get("compile_ms"))
    print("limit: GFLOP/s of multiply-adds. peak: what the run holds; process: the most that it held "
          "in all;\neager: the most that PyTorch's held, less what it began with")
    failed = [work.name for work in works if runs[work.name].error]
    return {"works": results, "failed": failed, "shares": shares, **extra}
