"""check-explain.py SHORT ALL JSON: what `sinter explain` printed without and with --all and --json."""

import json
import sys

with open(sys.argv[1]) as short, open(sys.argv[2]) as all_, open(sys.argv[3]) as object_:
    short, all_ = short.read().splitlines(), all_.read().splitlines()
    decisions = json.load(object_)["decisions"]

assert all(len(line) <= 100 for line in short + all_), max(short + all_, key=len)
assert all_[: len(short) - 1] == short[:-1], "the short list is not the beginning of the long one"

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
gains = []
for line in all_[1:]:
    words = line[:10].split()
    if words and not line.startswith(" "):
        gains.append(abs(float(words[0])) * UNITS[words[1]])
assert gains and gains == sorted(gains, reverse=True), gains

# Everything is in the JSON; what was decided by costs says by how much.
groups = {(d["taken"], d["pass"], d["name"], d["entry"], d["text"]): d for d in decisions}
priced = [d for d in groups.values() if "gain_ns" in d]
assert len(priced) == len(gains), (len(priced), len(gains))
assert sum(line[10:20].strip() in ("formed", "declined") for line in all_[1:]) == len(groups)
