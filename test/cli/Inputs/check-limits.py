"""Checks what `bench --json` and `profile --json` say of limits: check-limits.py BENCH PROFILE KEPT."""

import json
import sys

bench, profile, kept = (json.load(open(file)) for file in sys.argv[1:])
for report in (bench, profile):
    limits = report["limits"]
    assert limits.keys() == {"f32_gflops", "bf16_gflops", "int8_gflops", "int4_gflops", "memory_gb_per_s",
                             "shared_cache_gb_per_s", "private_caches_gb_per_s"}, limits
    # Of memories those that are read: a cache that holds all is as fast as the program's memory gets.
    memories = ["memory_gb_per_s", "shared_cache_gb_per_s", "private_caches_gb_per_s"]
    read = [limits[memory] for memory in memories if limits[memory] is not None]
    assert read == sorted(read) and read[-1] == limits["private_caches_gb_per_s"], limits
    assert all(rate > 0 for name, rate in limits.items() if name not in memories or rate is not None), limits
assert 0 < bench["roofline_fraction"] <= 1, bench
assert bench["held_in"] in ("private_caches", "shared_cache", "memory"), bench
assert bench["held_in"] == "memory" or bench["limits"]["memory_gb_per_s"] is None, bench
for row in profile["rows"]:
    assert 0 <= row["roofline_ms"] <= row["ms"] * (1 + 1e-9), row
assert any(row["roofline_ms"] > 0 for row in profile["rows"]), profile
# What is kept is no less than what was divided by: the fastest counts.
(machine,) = kept
assert "threads" in machine, kept
assert kept[machine]["f32_flops_per_second"]["rate"] >= 0.999e9 * bench["limits"]["f32_gflops"], kept
print("limits hold")
