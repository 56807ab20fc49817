"""A profile's rows add up, by stage too: check-stages.py PROFILE.json STAGE,... COLUMN,..."""

import json
import sys

profile = json.load(open(sys.argv[1]))
expected, columns = sys.argv[2].split(","), sys.argv[3].split(",")
for rows in (profile["rows"], profile["stages"]):
    assert abs(sum(row["fraction"] for row in rows) - 1) < 1e-9, rows
    assert abs(sum(row["ms"] for row in rows) - profile["ms"]) < 1e-6 * profile["ms"], rows
stages = profile["stages"]
assert [row["stage"] for row in stages[:-1]] == expected, stages
assert stages[-1]["stage"] == "" and stages[-1]["op"] == "(between commands)", stages[-1]
for stage in stages[:-1]:
    parts = [row for row in profile["rows"] if row["stage"] == stage["stage"]]
    assert parts and sum(row["count"] for row in parts) == stage["count"], stage
    assert abs(sum(row["ms"] for row in parts) - stage["ms"]) < 1e-6 * profile["ms"], stage
for row in profile["rows"][:-1]:
    for column in ("op", "layer"):
        assert column in columns or row[column] == "", row
assert any(row[column] for row in profile["rows"] for column in columns), profile["rows"]
