"""What was planned is what the run measured of itself: check-plan.py PLAN.json LOG.jsonl"""

import json
import sys

plan = json.load(open(sys.argv[1]))
measured = [json.loads(line)["peak_bytes"] for line in open(sys.argv[2])]
assert measured and len(set(measured)) == 1, measured
assert plan["peak_bytes"] == measured[0], (plan["peak_bytes"], plan["spaces"], measured[0])
