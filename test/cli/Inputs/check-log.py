"""Checks the log of a run whose loss falls.

    check-log.py LOG STEPS TOKENS_PER_STEP STEPS_DONE_AT_EVALUATIONS
"""

import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
steps, tokens = int(sys.argv[2]), int(sys.argv[3])
evaluated = [int(number) - 1 for number in sys.argv[4].split(",")]
keys = ["step", "loss", "grad_norm", "lr", "tokens", "step_ms", "tokens_per_second", "peak_bytes"]
assert [line["step"] for line in lines] == list(range(steps)), "steps"
for line in lines:
    assert list(line)[:len(keys)] == keys, list(line)
    assert line["tokens"] == (line["step"] + 1) * tokens, line
    assert line["peak_bytes"] > 0 and line["step_ms"] > 0 and line["grad_norm"] > 0, line
assert [line["step"] for line in lines if "val_loss" in line] == evaluated, "evaluations"
assert abs(lines[0]["loss"] - 5.545) < 0.1, "random weights know nothing: log 256"
assert lines[-1]["loss"] < lines[0]["loss"] - 1, "the loss falls"
