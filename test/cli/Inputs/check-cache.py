"""check-cache.py FOLDER COMMAND... -- OTHER...: with a limit for two files, a third one drives out
the one that was not used for longest."""

import os
import pathlib
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
split = sys.argv.index("--")
command, other = sys.argv[2:split], sys.argv[split + 1 :]


def run(words, limit):
    env = dict(os.environ, SINTER_CACHE_DIR=str(folder), SINTER_CACHE_LIMIT=str(limit))
    subprocess.run(words, env=env, check=True, capture_output=True)
    return set(folder.glob("*.sinter"))


def weigh(where):
    return sum(path.stat().st_size for path in where.rglob("*") if path.is_file())


# What the third takes, kernels and all.
alone = folder.with_name("alone")
subprocess.run(other, env=dict(os.environ, SINTER_CACHE_DIR=str(alone)), check=True, capture_output=True)
third = weigh(alone)
shutil.rmtree(folder / "code")
mine = folder / "notes.sinter"
mine.write_text("not the cache's")
aside = folder / ("0" * 32 + ".sinter.abcdef")
aside.write_text("of a process that was killed")
files = set(folder.glob("*.sinter")) - {mine}
assert len(files) == 2, files
for age, path in enumerate([aside, *files], 1):
    os.utime(path, (age * 1e6, age * 1e6))
old = set(files)

# Used again, so it is the newest: the other one is to go.
assert run(command, 1 << 30) - {mine} == files
newest = max(files, key=lambda path: path.stat().st_mtime)
assert newest.stat().st_mtime > 1e9, "what was used was not touched"
limit = newest.stat().st_size + third + 1000
left = run(other, limit) - {mine}
assert newest in left and len(left) == 2 and left != old, (left, old)
assert mine.exists() and not aside.exists()
