"""The batch that was found fits, one row more would not: check-find.py FOUND.json BUDGET PLAN...

PLAN is a command that plans without a budget; --batch is added to it."""

import json
import subprocess
import sys

found, budget = json.load(open(sys.argv[1])), int(sys.argv[2])
plan = sys.argv[3:] + ["--json", "--batch", str(found["batch"] + 1)]
more = json.loads(subprocess.run(plan, check=True, stdout=subprocess.PIPE).stdout)
assert found["planned_bytes"] <= budget < found["next_planned_bytes"], (budget, found["planned_bytes"])
assert found["next_planned_bytes"] <= more["planned_bytes"], (more["planned_bytes"], found)
assert 3 <= found["plans"] <= 20, found["plans"]
