"""Runs a command, sends it a signal once a file has some lines, or, of 0 lines, once
anything of that name is there, and exits with its status.

    stop.py SIGNAL FILE LINES COMMAND...
"""

import pathlib
import signal
import subprocess
import sys
import time

number = getattr(signal, sys.argv[1])
file, lines = pathlib.Path(sys.argv[2]), int(sys.argv[3])
process = subprocess.Popen(sys.argv[4:])
while process.poll() is None:
    if file.exists() and (lines == 0 or file.read_text().count("\n") >= lines):
        process.send_signal(number)
        break
    time.sleep(0.005)
sys.exit(process.wait())
