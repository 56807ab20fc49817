"""check-eval.py ONE THREE IDS LOGITS WINDOW: the figures of `sinter eval` with windows of 24 targets.

ONE and THREE were computed with one and three windows at a time and are the same. The loss and
accuracy of WINDOW, an evaluation of the first one alone, are computed here from its LOGITS.
"""

import ast
import json
import math
import struct
import sys

one, three = (json.load(open(path)) for path in sys.argv[1:3])
assert one["tokens"] == three["tokens"] == 99, (one, three)
for key in ("loss", "perplexity", "accuracy"):
    assert abs(one[key] - three[key]) < 1e-5 * one[key] + 1e-9, (key, one, three)
assert one["bits_per_byte"] is None, one
assert abs(one["perplexity"] - math.exp(one["loss"])) < 1e-9 * one["perplexity"], one

ids = struct.unpack("<100H", open(sys.argv[3], "rb").read())
data = open(sys.argv[4], "rb").read()
header = 10 + struct.unpack("<H", data[8:10])[0]
rows, columns = ast.literal_eval(data[10:header].decode())["shape"]
assert rows == 24, rows
loss = hits = 0
for row in range(rows):
    logits = struct.unpack_from(f"<{columns}f", data, header + 4 * row * columns)
    most = max(logits)
    loss += math.log(sum(math.exp(x - most) for x in logits)) + most - logits[ids[row + 1]]
    hits += logits.index(most) == ids[row + 1]
window = json.load(open(sys.argv[5]))
assert abs(window["loss"] - loss / rows) < 1e-5, (window, loss / rows)
assert window["accuracy"] == hits / rows, (window, hits)
