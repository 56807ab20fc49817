"""What the measurements share: running commands, finding peers, printing tables."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[1] / "examples/models"


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_json(command, **options):
    """The last JSON object that a command prints; None, with a word, where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode == 0:
        for line in reversed(done.stdout.splitlines()):
            if line.startswith("{"):
                return json.loads(line)
    reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
    say(f"  failed: {' '.join(str(part) for part in command)}: {reason}")
    return None


def median(values):
    return sorted(values)[len(values) // 2]


def measure_compile(sinter, model, options, count=3):
    """Milliseconds from a GPT-2's config to executable: cold, with 48 layers, from the cache."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        config = json.loads(pathlib.Path(model).read_text())
        layers = config["n_layer"]
        deep = pathlib.Path(folder) / "deep.json"
        deep.write_text(json.dumps({**config, "n_layer": 48}))
        environment = {**os.environ, "XDG_CACHE_HOME": folder + "/cache"}
        for key, file, cache in [(f"{layers} layers", model, ["--no-cache"]),
                                 ("48 layers", deep, ["--no-cache"]),
                                 ("fill", model, []), ("cached", model, [])]:
            times = []
            for _ in range(1 if key == "fill" else count):
                start = time.monotonic()
                done = subprocess.run([sinter, "compile", file, "-o", folder + "/out.sinter",
                                       *options, *cache],
                                      capture_output=True, text=True, env=environment)
                times.append(1e3 * (time.monotonic() - start))
                if done.returncode:
                    say(f"  failed: sinter compile: {done.stderr.strip()}")
                    return found
            found[key] = median(times)
    del found["fill"]
    return found


def print_compile(what, found):
    if found:
        print(f"compile, {what}: " + ", ".join(f"{key} {ms:.0f} ms" for key, ms in found.items()))


def find_torch():
    python = os.environ.get("SINTER_TORCH_PYTHON", "python3")
    code = "import torch; print(torch.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return (python, done.stdout.strip()) if done.returncode == 0 else (None, None)


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def ratio(value):
    return f"{value:.2f}" if value else "-"
