"""The gate before a release: no work does less of what its machine can do than it did before.

What is compared are shares, of each work's rate in what the machine did at that moment (limits.py),
kept in ratios.json by kind of machine: processor, instructions, threads. So figures of one machine
say nothing about another, and a machine that was never measured has nothing to fall from.
"""

import json
import pathlib

RATIOS = pathlib.Path(__file__).resolve().parent / "ratios.json"
FALL = 0.15


class Gate:
    """What a comparison found: lines for people, and whether it failed."""

    def __init__(self):
        self.lines, self.failed = [], False

    def note(self, line, failed=False):
        self.lines.append(("failed: " if failed else "") + line)
        self.failed |= failed


def read_ratios(file=RATIOS):
    """{machine: {work: share}}; empty where the file is absent."""
    return json.loads(file.read_text()) if file.exists() else {}


def compare(stored, machine, shares, whole=True):
    """Compares {work: share} as measured on `machine` with what is stored of it. A work that is
    stored and was not measured fails, unless only some were meant to be (whole=False)."""
    gate = Gate()
    if machine not in stored:
        gate.note(f"no ratios are stored of {machine}: measure a version that you trust and store "
                  "them (--store)", failed=True)
        return gate
    before = stored[machine]
    for work, share in shares.items():
        if work not in before:
            gate.note(f"{work}: {share:.2f}, not stored yet")
            continue
        change = share / before[work] - 1
        gate.note(f"{work}: {share:.2f}, stored {before[work]:.2f} ({100 * change:+.0f} %)",
                  failed=change < -FALL)
    if whole:
        for work in before.keys() - shares.keys():
            gate.note(f"{work}: could not be measured", failed=True)
    return gate


def store(machine, shares, file=RATIOS):
    """Keeps the shares as those of the machine, beside other machines' and other works'."""
    stored = read_ratios(file)
    ratios = stored.setdefault(machine, {})
    ratios.update({work: round(share, 3) for work, share in shares.items()})
    file.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
