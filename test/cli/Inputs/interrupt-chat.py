"""interrupt-chat.py SINTER MODEL [OPTIONS]: at a terminal Ctrl-C ends an answer, after which the conversation goes
on, and where no answer is being given, the conversation."""

import os
import pty
import select
import sys
import time

sinter, model, *options = sys.argv[1:]
TOKENS = 60000  # many seconds' worth
child, terminal = pty.fork()
if child == 0:
    os.execvp(sinter, [sinter, "chat", model, "--temperature", "1", "--max-seq", str(TOKENS),
                       "--max-new-tokens", str(TOKENS), "--template", "zephyr", *options])

seen = ""


def read_until(found):
    global seen
    seen, deadline = "", time.time() + 120
    while not found(seen):
        assert time.time() < deadline, seen[-500:]
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")


def say(text):
    os.write(terminal, text.encode())


read_until(lambda text: text.endswith("> "))
for message in ("Who is there?\n", "Speak again\n"):
    say(message)
    read_until(lambda text: len(text) > 200)
    say("\x03")
    read_until(lambda text: text.endswith("\n> "))
say("\x03")
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
