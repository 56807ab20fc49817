"""Runs a command that cannot make a file longer than some bytes, as on a full disk, and exits with its
status.

    limit-files.py BYTES COMMAND...
"""

import os
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
