"""close-output.py COMMAND...: reads a little of what a command prints, then nothing any more; the command
ends by SIGPIPE, long before it would be done."""

import signal
import subprocess
import sys

SECONDS = 20
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
    assert len(process.stdout.read(8)) == 8
    process.stdout.close()
    status = process.wait(timeout=SECONDS)
    assert status == -signal.SIGPIPE, (status, process.stderr.read())
