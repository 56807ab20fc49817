"""Running commands against a deadline, and collecting what came of them."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

# Characters of a command's output, and of its errors, that the log has.
MOST_LOGGED = 20000


class Done:
    """A command that was run: its exit status (None where it ran out of time) and what it said."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    @property
    def good(self):
        return self.status == 0

    @property
    def reason(self):
        """Why it failed, in one line."""
        if self.status is None:
            return f"out of time after {self.seconds:.0f} s"
        lines = (self.err.strip() or self.out.strip() or "no output").splitlines()
        words = f"signal {-self.status}, " if self.status < 0 else ""
        return words + lines[-1][:160]

    def read_json(self):
        """The object in its last line of output, or None."""
        for line in reversed(self.out.splitlines()):
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    return found
        return None


class Check:
    """One run of gpu-check. Parts share its time: each may take its share of what is left, so that
    one that hangs or is slow costs the others nothing."""

    def __init__(self, minutes, file=None, dry=False, log=None):
        self.end = self.part_end = time.monotonic() + 60 * minutes
        self.file, self.dry, self.log = file, dry, log
        self.part = ""
        self.results = []
        self.heading = {}
        self.lock = threading.Lock()
        self.running = set()

    # Time

    def left(self):
        """Seconds that the current part has."""
        return max(0.0, min(self.end, self.part_end) - time.monotonic())

    def run_part(self, name, body, share):
        """Runs body(self), which may take this share (0 to 1) of the time that is left. Whatever it
        raises is a result like any other."""
        now = time.monotonic()
        self.part, self.part_end = name, now + share * max(0.0, self.end - now)
        print(f"-- {name}, at most {self.left() / 60:.1f} minutes", flush=True)
        try:
            body(self)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.note(name, "failed", f"{type(error).__name__}: {error}")

    # Results

    def note(self, name, outcome, detail="", **figures):
        """A result: passed, failed, measured, skipped, or late where there was no time for it."""
        if self.dry:
            return
        with self.lock:
            self.results.append({"part": self.part, "name": name, "outcome": outcome,
                                 "detail": detail, **figures})
            print(f"{self.part:10} {outcome:8} {name:44} {detail}", flush=True)
            self.save()

    def save(self):
        """Writes all results so far; a file is there whatever happens later."""
        if not self.file or self.dry:
            return
        aside = pathlib.Path(f"{self.file}.partial")
        aside.write_text(json.dumps({**self.heading, "results": self.results}, indent=1))
        os.replace(aside, self.file)

    def failed(self):
        return any(result["outcome"] == "failed" for result in self.results)

    # Commands

    def run(self, command, seconds=120, environment=None):
        """Runs a command for at most so many seconds, less where the part has less. What it started
        ends with it."""
        words = [str(word) for word in command]
        if self.dry:
            changed = " ".join(f"{key}={value}" for key, value in (environment or {}).items())
            print(f"{self.part:10} {seconds:4.0f} s  {changed + ' ' if changed else ''}"
                  f"{' '.join(words)}", flush=True)
            return Done(None, "", "", 0)
        seconds = min(seconds, self.left())
        if seconds <= 0:
            return Done(None, "", "", 0)
        start = time.monotonic()
        # Files and no pipes: a process that outlives the command would keep a pipe open.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                           env={**os.environ, **(environment or {})},
                                           start_new_session=True)
            except OSError as error:
                return Done(127, "", str(error), 0)
            self.running.add(process)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.running.discard(process)
                end_group(process)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        done = Done(status, *texts, time.monotonic() - start)
        self.keep(words, done)
        return done

    def keep(self, words, done):
        """Adds to the log what a command that did not end well said."""
        if not self.log or done.good:
            return
        with self.lock, self.log.open("a") as log:
            log.write(f"$ {' '.join(words)}\nstatus {done.status}, {done.seconds:.1f} s\n"
                      f"{done.out[-MOST_LOGGED:]}{done.err[-MOST_LOGGED:]}\n")

    def run_all(self, jobs, workers):
        """Calls each of the functions, several side by side."""
        if self.dry:
            workers = 1
        pool = ThreadPoolExecutor(max_workers=workers)
        try:
            for future in [pool.submit(job) for job in jobs]:
                future.result()
        except BaseException:
            # Whoever stops this waits for nothing that runs.
            self.end = 0.0
            for process in list(self.running):
                end_group(process)
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def end_group(process):
    """Ends what is left of a command. A process that waits for a GPU may take long to go; nobody
    waits for it for ever."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
