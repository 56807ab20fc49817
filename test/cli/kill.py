#!/usr/bin/env python3
"""Kills a training run with SIGKILL at random moments and lets it go on, again and again.

    kill.py SINTER FOLDER [KILLS] [SEED]

However often and wherever it was killed, with whatever number of threads it went on, and though some
of its checkpoints could not be written: the losses, the gradient norms and the final weights must be
those of a run that was never stopped, bit for bit.
"""

import filecmp
import json
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
STEPS, SAVE_EVERY = 1500, 5
KEYS = ["step", "loss", "grad_norm", "lr", "tokens", "val_loss"]


def read_log(out):
    path = out / "log.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [[record.get(key) for key in KEYS] for record in map(json.loads, lines)]


def count_lines(out):
    path = out / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def refuse_large_files():
    """Like a full disk: what is larger than this cannot be written, the log still can."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))


class Run:
    def __init__(self, sinter, folder):
        text = folder / "text.txt"
        text.write_text("".join(f"{n} times {n + 3} is {n * (n + 3)}.\n" for n in range(400)))
        self.command = [sinter, "train", HERE / "Inputs/tiny.json", "--data", text, "--val-split",
                        "0.1", "--steps", STEPS, "--batch", 2, "--seq", 16, "--accumulate", 2,
                        "--dropout", 0.1, "--state-dtype", "bf16", "--lr", 3e-3, "--warmup", 20, "--schedule", "cosine",
                        "--save-every", SAVE_EVERY, "--keep", 2, "--eval-every", 100]

    def start(self, out, threads, *options, **settings):
        command = [*self.command, "--out", out, "--threads", threads, *options]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, **settings)

    def finish(self, process):
        _, errors = process.communicate(timeout=120)
        if process.returncode:
            sys.exit(f"exit status {process.returncode}: {errors}")


def kill_at_random(run, out, choose):
    """Starts a run, kills it at a random moment; tells whether it was killed in time."""
    full = choose.random() < 0.2
    process = run.start(out, choose.choice([1, 2, 3]), "--resume",
                        preexec_fn=refuse_large_files if full else None)
    if choose.random() < 0.3:
        time.sleep(choose.uniform(0, 0.3))  # loading, compiling, resuming
    else:
        wanted = count_lines(out) + choose.randrange(1, 3 * SAVE_EVERY)
        while count_lines(out) < wanted and process.poll() is None:
            time.sleep(0.0005)
        time.sleep(choose.uniform(0, 0.004))
    killed = process.poll() is None
    process.kill()
    _, errors = process.communicate()
    if not killed and process.returncode and not full:
        sys.exit(f"exit status {process.returncode}: {errors}")
    return killed


def compare(whole, cut):
    for left, right in zip(read_log(whole), read_log(cut)):
        if left != right:
            sys.exit(f"never stopped: {left}\nkilled:        {right}")
    if count_lines(whole) != STEPS or count_lines(cut) != STEPS:
        sys.exit(f"{count_lines(cut)} lines in the log of {cut}")
    if not filecmp.cmp(whole / "model.safetensors", cut / "model.safetensors", shallow=False):
        sys.exit(f"the weights of {cut} are others")


def main():
    sinter, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 25
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    print(f"seed {seed}")
    choose = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run = Run(sinter, folder)
    whole = folder / "whole"
    run.finish(run.start(whole, 1))
    # On a fast machine a run may be over before all kills are: then another begins.
    killed, cuts = 0, [folder / "cut-0"]
    while killed < kills:
        if kill_at_random(run, cuts[-1], choose):
            killed += 1
        elif (cuts[-1] / "model.safetensors").exists():
            cuts.append(folder / f"cut-{len(cuts)}")
    for cut in cuts:
        run.finish(run.start(cut, 2, "--resume"))
        compare(whole, cut)
    print(f"{killed} kills in {len(cuts)} runs")


main()
