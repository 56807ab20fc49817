"""The budget that an error asks for is one that can be met: meet-budget.py ERROR.txt PLAN..."""

import re
import subprocess
import sys

needed = re.search(r"needs (\d+) bytes", open(sys.argv[1]).read()).group(1)
subprocess.run(sys.argv[2:] + ["--memory-budget", needed], check=True)
