"""The plan of memory, held against what the system counts: memory.py SINTER FOLDER MODELS CONFIG

Each run is a process of its own. Of a training run the pages that no file holds are counted by
/proc/PID/smaps_rollup while it stands still after its second step; of a decode step they are what
the command says of itself. Both are compared with what `sinter plan` says of all spaces, in two
ways: with the process's part, which is an allowance, the plan must be enough; and, less what a run
of the smallest model holds beyond its spaces, it must be met within 2 % and 4 MiB. MODELS is a
folder of small models, CONFIG one of 124M parameters, of random weights.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading

sinter, folder, models, config = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
TRAIN = ["--batch", "1", "--seq", "8"]
LARGE = ["--batch", "1", "--seq", "64"]
MIB = 1 << 20


def run(*arguments):
    command = [str(argument) for argument in (sinter, *arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return json.loads(done.stdout)


def plan(model, mode, sizes):
    """What all spaces take, and the same with the process."""
    report = run("plan", model, "--mode", mode, *sizes, "--threads", 2, "--json")
    spaces = report["spaces"]
    process = spaces["process"] + spaces["code"]
    # What is held while steps run is compared; binding is in the peak alone.
    assert report["planned_bytes"] >= report["resident_bytes"]
    assert report["outside"]["libraries and program"] > MIB, report["outside"]
    return report["resident_bytes"] - process, report["planned_bytes"]


def write_ids(vocabulary):
    path = folder / f"{vocabulary}.bin"
    ids = random.Random(0).choices(range(min(vocabulary, 65536)), k=4000)
    path.write_bytes(struct.pack("<4000H" if vocabulary <= 65536 else "<4000I", *ids))
    return path


def read_anonymous(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^Anonymous: *(\d+) kB", text, re.M).group(1))


def start_training(model, sizes, *more):
    vocabulary = json.loads((model / "config.json" if model.is_dir() else model).read_text())
    shutil.rmtree(folder / "out", ignore_errors=True)
    command = [sinter, "train", model, "--data", write_ids(vocabulary["vocab_size"]), "--out",
               folder / "out", "--steps", 1 << 30, *sizes, "--threads", 2, "--log", "/dev/stdout",
               *more]
    return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def measure_training(model, sizes, *more):
    process = start_training(model, sizes, *more)
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        assert lines[-1].startswith("{"), process.stderr.read()
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        held = read_anonymous(process.pid)
        # The system's running count may be late by some pages a thread.
        said = json.loads(lines[-1])["peak_bytes"]
        assert abs(said - held) <= 2 * MIB + held // 100, (model, said, held)
    finally:
        process.kill()
        process.communicate()
    return held


def measure_decoding(model, sizes):
    found = run("bench", model, "--mode", "decode", *sizes, "--iters", 2, "--warmup", 1,
                "--threads", 2, "--json")
    assert found["peak_bytes"] <= found["planned_bytes"], (model, found)
    return found["peak_bytes"]


def check_plans():
    small = models / "llama"
    kept = [models / name for name in ("gpt2", "gemma2", "qwen3", "sinter-mixed")]
    works = [(model, "train", TRAIN) for model in kept]
    works += [(model, "decode", ["--context", "8"]) for model in kept]
    works += [(config, "train", LARGE), (config, "decode", ["--context", "64"])]
    beyond = {}
    for model, mode, sizes in [(small, "train", TRAIN), (small, "decode", ["--context", "8"]),
                               *works]:
        measure = measure_training if mode == "train" else measure_decoding
        spaces, planned = plan(model, mode, sizes)
        held = measure(model, sizes)
        other = beyond.setdefault(mode, held - spaces)
        # Random weights on their way take more than what stays: less than all that is planned.
        most = max(spaces + other, planned - 32 * MIB + other)
        print(f"{model.name} {mode}: {held / MIB:.1f} MiB held, {spaces / MIB:.1f} in spaces, "
              f"{planned / MIB:.1f} planned")
        assert held <= planned, (model, mode, held, planned)
        assert held - most <= spaces // 50 + 4 * MIB, (model, mode, held, spaces, other)
        assert held - spaces - other >= -(spaces // 50 + 4 * MIB), (model, mode, held, spaces, other)


def check_budget():
    """A run that is compiled, fitted and run within a budget never holds more than that."""
    sizes = ["--batch", "32", "--seq", "16"]
    model = models / "gpt2"
    wanted = run("plan", model, "--mode", "train", *sizes, "--threads", 2, "--json")
    refused = subprocess.run([sinter, "plan", model, "--mode", "train", *sizes, "--memory-budget",
                              "1KB"], stderr=subprocess.PIPE, text=True)
    least = int(re.search(r"needs (\d+) bytes", refused.stderr).group(1))
    budget = (wanted["planned_bytes"] + least) // 2
    assert least < budget < wanted["planned_bytes"], (least, wanted["planned_bytes"])
    process = start_training(model, sizes, "--memory-budget", budget, "--no-cache")
    seen, done = [0], threading.Event()

    def watch():
        while not done.is_set():
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            found = re.search(r"^RssAnon:\s*(\d+)", status, re.M)
            seen[0] = max(seen[0], 1024 * int(found.group(1)) if found else 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[-1].startswith("{"), process.stderr.read()
    finally:
        process.kill()
        process.communicate()
        done.set()
        watcher.join()
    said = max(json.loads(line)["peak_bytes"] for line in lines)
    print(f"budget {budget / MIB:.1f} MiB: {seen[0] / MIB:.1f} seen, {said / MIB:.1f} said")
    assert 0 < seen[0] <= budget and 0 < said <= budget, (budget, seen[0], said)


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
os.environ["SINTER_CACHE_DIR"] = str(folder / "cache")
check_budget()
check_plans()
