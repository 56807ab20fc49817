#!/usr/bin/env python3
"""No op of a profile is far from its roofline.

    rooflines.py --sinter build/bin/sinter

Profiles a model of 1M parameters, inference and training with each optimizer, and fails where the
commands of an op take together more than 10 times their roofline and a launch each. Machines that
others use too are slow by spells, so the fastest of three profiles counts, with a margin of ten
on all of it. (What is exact, the work that generated loops execute, test/work checks.)
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOFLINES, MARGIN, PROFILES = 10, 10, 3
LAUNCH_MS = 0.002  # all cores wake up and meet again
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
WORKS = {
    "prefill": ["--mode", "prefill", "--seq", "128"],
    "decode": ["--mode", "decode", "--context", "128"],
    **{f"training with {name}": ["--mode", "train", "--batch", "4", "--seq", "64",
                                 "--optimizer", name]
       for name in ("adamw", "sgd", "adafactor", "muon")},
}


def profile(sinter, options):
    """What each op's commands took together and their bound, in ms."""
    command = [sinter, "profile", EXAMPLES / "models" / "gpt2-1m.json", "--target", "cpu", "--json",
               "--iters", "5", *options]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL).stdout)["rows"]
    return {(row["op"], row.get("stage", "")):
            (row["ms"], MARGIN * (ROOFLINES * row["roofline_ms"] + LAUNCH_MS * row["count"]))
            for row in rows if not row["op"].startswith("(")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sinter", required=True)
    sinter = parser.parse_args().sinter
    failures = 0
    for name, options in WORKS.items():
        fastest = {}
        for _ in range(PROFILES):
            for key, (ms, bound) in profile(sinter, options).items():
                fastest[key] = (min(ms, fastest.get(key, (ms,))[0]), bound)
            slow = {key: row for key, row in fastest.items() if row[0] > row[1]}
            if not slow:
                break
        for (op, stage), (ms, bound) in slow.items():
            print(f"{name}: {stage} {op} took {ms:.3f} ms, at most {bound:.3f} ms were expected")
        failures += len(slow)
        if not slow:
            print(f"{name}: none of {len(fastest)} ops is far from its roofline")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
