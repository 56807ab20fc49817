"""Checks by what `profile --json` divides products of bytes: check-byte-limits.py KEPT prepare leaves no
other limit in limits.json, check-byte-limits.py KEPT PROFILE OPERATIONS what was then profiled."""

import json
import sys

file = sys.argv[1]
if sys.argv[2] == "prepare":
    kept = json.load(open(file))
    for limits in kept.values():
        for kind in limits:
            if kind != "int8_flops_per_second":
                limits[kind]["rate"] = 9e17  # the fastest that was seen counts
    json.dump(kept, open(file, "w"))
else:
    profile, operations = json.load(open(sys.argv[2])), float(sys.argv[3])
    limits = profile["limits"]
    assert limits["f32_gflops"] > 8e8 > limits["int8_gflops"] > 0, limits
    roofline = sum(row["roofline_ms"] for row in profile["rows"])
    expected = operations / limits["int8_gflops"] * 1e-6
    assert abs(roofline - expected) < 1e-3 * expected, (roofline, expected)
    print("limits of bytes hold")
