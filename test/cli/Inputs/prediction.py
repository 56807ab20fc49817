"""Adds up the parts of a prediction that `sinter plan --json` made."""

import json
import sys

prediction = json.load(sys.stdin)["prediction"]
parts = prediction["compute_ms"] + prediction["wait_ms"] + sum(prediction["exposed_ms"].values())
rows = prediction["timeline"]["rows"]
print(f"{prediction['ranks']} ranks, along {' '.join(prediction['exposed_ms'])}, {len(rows)} row")
ends = [span[1] for row in rows for span in row["spans"]]
starts = [span[0] for span in rows[0]["spans"]]
assert starts == sorted(starts) and all(0 < ms for ms in prediction["exposed_ms"].values())
close = abs(parts - prediction["step_ms"]) < 1e-6 and abs(max(ends) / 1e3 - prediction["step_ms"]) < 1e-5
print("sums agree" if close else (parts, max(ends), prediction["step_ms"]))
