"""The plan of memory, held against what the system counts: memory.py SINTER FOLDER MODELS CONFIG

Each run is a process of its own. Of a training run the pages that no file holds are counted by
/proc/PID/smaps_rollup while it stands still after its second step, and held against what the plan
says of that; of a decode step what the command says of itself, its peak, is held against the plan's.
The plan must be enough, and no more than enough by 2 % and 3 MiB, the process's part included.
MODELS is a folder of small models, CONFIG one of 124M parameters, of random weights.
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
    """What the run holds while its steps run, and the most that it ever holds."""
    report = run("plan", model, "--mode", mode, *sizes, "--threads", 2, "--json")
    assert report["planned_bytes"] >= report["resident_bytes"]
    assert report["outside"]["libraries and program"] > MIB, report["outside"]
    return report["resident_bytes"], report["planned_bytes"]


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
    kept = [models / name for name in ("llama", "gpt2", "gemma2", "qwen3", "sinter-mixed")]
    small = ["--context", "8"]
    large = ["--context", "64"]
    works = [(model, "train", TRAIN) for model in kept]
    works += [(model, "decode", small) for model in kept]
    works += [(config, "train", LARGE), (config, "decode", large),
              (config, "decode", [*large, "--weights", "int4", "--quantize-head"])]
    for model, mode, sizes in works:
        resident, planned = plan(model, mode, sizes)
        if mode == "train":
            planned, held = resident, measure_training(model, sizes)
        else:
            held = measure_decoding(model, sizes)
        print(f"{model.name} {mode}: {held / MIB:.1f} MiB held, {planned / MIB:.1f} planned")
        assert 0 <= planned - held <= planned // 50 + 3 * MIB, (model, mode, sizes, planned, held)


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
