"""Fails, with the difference, unless two logs tell of the same run, whatever their times.

    same-run.py A.jsonl B.jsonl
"""

import json
import sys


def read(path):
    keys = ["step", "loss", "grad_norm", "lr", "tokens", "val_loss"]
    lines = [json.loads(line) for line in open(path)]
    return [[line.get(key) for key in keys] for line in lines]


one, other = read(sys.argv[1]), read(sys.argv[2])
if len(one) != len(other):
    sys.exit(f"{len(one)} lines, and {len(other)}")
for left, right in zip(one, other):
    if left != right:
        sys.exit(f"{left}\n{right}")
