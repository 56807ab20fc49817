"""check-kernels.py FOLDER COMMAND... -- VALUE OTHER: two values of an option's make two executables,
but the second adds fewer kernels than the first; it prints what it does without a cache."""

import os
import pathlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
split = sys.argv.index("--")
command, values = sys.argv[2:split], sys.argv[split + 1 :]
env = dict(os.environ, SINTER_CACHE_DIR=str(folder))


def run(value, *options):
    made = subprocess.run([*command, value, *options], env=env, check=True, capture_output=True)
    return made.stdout, len(list(folder.glob("code/*.o")))


_, first = run(values[0])
text, both = run(values[1])
assert 0 < both - first < first, (first, both)
assert len(list(folder.glob("*.sinter"))) == 2
assert run(values[1], "--no-cache") == (text, both)
print(f"{first} kernels, then {both - first} more")
