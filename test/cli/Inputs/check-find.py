"""The batch that was found fits, one row more would not: check-find.py FOUND.json BUDGET PLAN...

PLAN is a command that plans without a budget; --batch is added to it."""

import json
import subprocess
import sys

found, budget = json.load(open(sys.argv[1])), int(sys.argv[2])
plan = sys.argv[3:] + ["--json", "--batch", str(found["batch"] + 1)]
more = json.loads(subprocess.run(plan, check=True, stdout=subprocess.PIPE).stdout)
assert found["peak_bytes"] <= budget < found["next_peak_bytes"], (budget, found["peak_bytes"])
assert found["next_peak_bytes"] <= more["peak_bytes"], (more["peak_bytes"], found)
assert 3 <= found["plans"] <= 20, found["plans"]
