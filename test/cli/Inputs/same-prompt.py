"""same-prompt.py IDS TEXT COMMAND...: COMMAND with --tokens and the ids of the file IDS prints TEXT."""

import subprocess
import sys

ids, text, *command = sys.argv[1:]
with open(ids) as file:
    tokens = file.read().strip()
with open(text) as file:
    expected = file.read()
printed = subprocess.run(command + ["--tokens", tokens], check=True, capture_output=True, text=True)
assert printed.stdout == expected, (printed.stdout, expected)
