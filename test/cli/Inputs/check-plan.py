"""What was planned is what the run planned, which held no more: check-plan.py PLAN.json RUN.json"""

import json
import sys

plan, run = (json.load(open(path)) for path in sys.argv[1:])
assert plan["planned_bytes"] == run["planned_bytes"], (plan["planned_bytes"], plan["spaces"], run)
assert 0 < run["peak_bytes"] <= run["planned_bytes"], run
