#!/usr/bin/env python3
"""Kills or stops a rank of a training run at random moments and lets the run go on, again and again.

    ranks_kill.py SINTER FOLDER [KILLS] [SEED]

Each time all others must end with status 3 and name the rank, and the last whole checkpoint be good:
losses, gradient norms and final weights are those of one process that was never stopped, bit for bit,
though the run goes on with 1, 2 or 4 ranks.
"""

import filecmp
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 400
KEYS = ["step", "loss", "grad_norm", "lr", "tokens"]


def read_log(out):
    lines = (out / "log.jsonl").read_text().splitlines()
    return [[record.get(key) for key in KEYS] for record in map(json.loads, lines)]


def count_lines(out):
    path = out / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def start(sinter, folder, out, ranks):
    command = [sinter, "train", HERE / "Inputs/tiny.json", "--data", folder / "text.txt", "--out", out,
               "--steps", STEPS, "--batch", 4, "--seq", 16, "--accumulate", 4, "--dropout", 0.1,
               "--lr", 3e-3, "--save-every", 5, "--keep", 2, "--resume"]
    if ranks > 1:
        command += ["--ranks", ranks, "--grid", f"data={ranks}"]
    return subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def parent_of(pid):
    """And nothing of a process that is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def find_ranks(process):
    """The process of each rank, by rank."""
    found = {}
    for path in pathlib.Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        pid = int(path.name)
        try:
            launcher = parent_of(pid)
            if not launcher or parent_of(launcher) != process.pid:
                continue
            for word in (path / "environ").read_bytes().split(b"\0"):
                name, _, value = word.partition(b"=")
                if name == b"OMPI_COMM_WORLD_RANK":
                    found[int(value)] = pid
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


def fail_at_random(sinter, folder, out, choose):
    """Whether a rank was there to be killed."""
    ranks = choose.choice([2, 4])
    process = start(sinter, folder, out, ranks)
    wanted = count_lines(out) + choose.randrange(1, 15)
    while count_lines(out) < wanted and process.poll() is None:
        time.sleep(0.002)
    pids = find_ranks(process)
    victim, how = choose.randrange(ranks), choose.choice([signal.SIGKILL, signal.SIGSTOP])
    if process.poll() is not None or len(pids) != ranks:
        _, errors = process.communicate(timeout=60)
        if process.returncode:
            sys.exit(f"exit status {process.returncode}: {errors}")
        return False
    begin = time.time()
    os.kill(pids[victim], how)
    _, errors = process.communicate(timeout=60)
    took = time.time() - begin
    if process.returncode == 0:
        return False  # the run was over
    if process.returncode != 3 or f"rank {victim} on " not in errors:
        sys.exit(f"{how.name} of rank {victim}: exit status {process.returncode}: {errors}")
    print(f"rank {victim} of {ranks}, {how.name}, at step {count_lines(out)}: {took:.1f} s", flush=True)
    return True


def finish(process):
    _, errors = process.communicate(timeout=250)
    if process.returncode:
        sys.exit(f"exit status {process.returncode}: {errors}")


def main():
    sinter, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    print(f"seed {seed}")
    choose = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = "".join(f"{n} times {n + 3} is {n * (n + 3)}.\n" for n in range(400))
    (folder / "text.txt").write_text(text)
    whole, cut = folder / "whole", folder / "cut"
    finish(start(sinter, folder, whole, 1))
    killed = 0
    while killed < kills and not (cut / "model.safetensors").exists():
        killed += fail_at_random(sinter, folder, cut, choose)
    finish(start(sinter, folder, cut, choose.choice([1, 2])))
    for left, right in zip(read_log(whole), read_log(cut), strict=True):
        if left != right:
            sys.exit(f"one process: {left}\nranks:       {right}")
    if not filecmp.cmp(whole / "model.safetensors", cut / "model.safetensors", shallow=False):
        sys.exit("the weights are others")
    print(f"{killed} ranks failed, the bits are the same")


main()
