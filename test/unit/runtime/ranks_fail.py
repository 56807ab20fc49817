#!/usr/bin/env python3
"""Lets ranks fail, and looks at what the others say of it.

    ranks_fail.py TRIAL FOLDER [--mpiexec MPIEXEC] [--kills N] [--seed N]

TRIAL is RanksTrial. A random rank of 2 to 4 is killed or stopped at a random moment, N times; then
each other way to fail comes once. Within 5 seconds every other rank must have ended with status 3 and
one line that names the rank, its host, the step and the command; and `--ranks` itself with that status.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

LIMIT = 5
# mpiexec itself would end all ranks as soon as one has; here each is to end by itself.
ALONE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_orte_enable_recovery": "1",
    "OMPI_MCA_orte_abort_on_non_zero_status": "0",
    "OMPI_MCA_orte_execute_quiet": "1",
    "OMPI_MCA_btl": "self,vader",
}
# Notes a rank's status and when it ended, which mpiexec does not tell.
WRAPPER = ('"$@" 2>"$FOLDER/errors.$OMPI_COMM_WORLD_RANK"; status=$?; '
           'echo "$status $(date +%s.%N)" >"$FOLDER/end.tmp.$OMPI_COMM_WORLD_RANK"; '
           'mv "$FOLDER/end.tmp.$OMPI_COMM_WORLD_RANK" "$FOLDER/end.$OMPI_COMM_WORLD_RANK"')


class Failed(Exception):
    pass


def check(holds, message):
    if not holds:
        raise Failed(message)


def read_pid(path):
    """That of a rank, which writes it when it begins."""
    deadline = time.time() + 60
    while not path.exists() or not path.read_text().endswith("\n"):
        check(time.time() < deadline, "the ranks do not start")
        time.sleep(0.02)
    return int(path.read_text())


class Job:
    """Ranks of their own, each of which is left to end by itself."""

    def __init__(self, arguments, ranks, *options):
        self.ranks, self.folder = ranks, arguments.folder / "job"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        command = [arguments.mpiexec, "-n", ranks, "sh", "-c", WRAPPER, "sh", arguments.trial,
                   "--pids", self.folder, *options]
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        env={**os.environ, **ALONE, "FOLDER": str(self.folder)})

    def pid(self, rank):
        return read_pid(self.folder / str(rank))

    def fault_time(self):
        path, deadline = self.folder / "fault", time.time() + 60
        while not path.exists():
            check(time.time() < deadline, "the faulty rank never gets there")
            time.sleep(0.02)
        return path.stat().st_mtime

    def status(self, rank, deadline):
        path = self.folder / f"end.{rank}"
        while not path.exists():
            check(time.time() < deadline, f"rank {rank} goes on")
            time.sleep(0.02)
        status, ended = path.read_text().split()
        return int(status), float(ended)

    def errors(self, rank):
        # Open MPI may have a word on memory of a process that is gone before it is known to be.
        return re.sub(r"\[\S+:\d+\] Read -1, expected \d+, errno = \d+\n", "",
                      (self.folder / f"errors.{rank}").read_text())

    def end(self, *pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(timeout=30)


def check_others(job, victim, begin, why, limit=LIMIT):
    """The longest that another rank needed."""
    longest = 0
    for rank in range(job.ranks):
        if rank == victim:
            continue
        status, ended = job.status(rank, begin + limit + 5)
        errors = job.errors(rank)
        prefix = f"rank {rank}: " if rank else ""
        pattern = (re.escape(f"{prefix}RanksTrial: error: rank {victim} on {socket.gethostname()}: ") +
                   why + r".*\n")
        check(status == 3, f"rank {rank} ends with status {status}: {errors}")
        check(re.fullmatch(pattern, errors), f"rank {rank} says: {errors!r}, not {pattern}")
        check(ended - begin < limit, f"rank {rank} needs {ended - begin:.1f} s")
        longest = max(longest, ended - begin)
    return longest


PLACE = r"at step \d+(, command [012] of train_step \((fill|matmul, model\.layers\.3|collective, layer\.0)\))?"


def kill(arguments, number, generator):
    ranks = generator.randint(2, 4)
    victim = generator.randrange(ranks)
    how = generator.choice([signal.SIGKILL, signal.SIGSTOP])
    job = Job(arguments, ranks)
    pids = [job.pid(rank) for rank in range(ranks)]
    try:
        time.sleep(0.5 + generator.random())
        begin = time.time()
        os.kill(pids[victim], how)
        why = (r"has ended without a word \(killed, crashed or out of memory\), last seen "
               if how == signal.SIGKILL else
               r"is silent for \d\.\d s \(stopped, swapping, or its network is down\), last seen ")
        longest = check_others(job, victim, begin, why + PLACE)
    finally:
        job.end(*pids)
    print(f"{number}: rank {victim} of {ranks}, {how.name}: {longest:.2f} s", flush=True)


def fault(arguments, kind, victim, why, own_status, own_error):
    job = Job(arguments, 3, "--fault", kind, "--faulty", victim)
    pids = []
    try:
        if kind != "program":
            pids = [job.pid(rank) for rank in range(3)]
        begin = time.time()
        if why:
            begin = job.fault_time()
            # Who gets no processor is not stuck: on a machine that others use it takes longer to tell.
            is_busy = os.getloadavg()[0] > 1.5 * os.cpu_count()
            longest = check_others(job, victim, begin, why, 60 if kind == "stuck" and is_busy else LIMIT)
            print(f"{kind} of rank {victim}: {longest:.2f} s", flush=True)
        status, _ = job.status(victim, time.time() + LIMIT)
        check(status == own_status, f"the faulty rank ends with status {status}")
        check(own_error in job.errors(victim), f"the faulty rank says {job.errors(victim)!r}")
        if not why:
            lines = "".join(job.errors(rank) for rank in range(3))
            check(lines.count("\n") == 1, f"the ranks say: {lines}")
    finally:
        job.end(*pids)


def started(arguments, *options):
    """`--ranks` as people use it: status and standard error."""
    begin = time.time()
    result = subprocess.run([str(part) for part in [arguments.trial, *options]], text=True,
                            capture_output=True, timeout=60)
    return result, time.time() - begin


def check_started(arguments):
    result, _ = started(arguments, "--ranks", 2, "--steps", 20)
    check(result.returncode == 0 and result.stdout == "20 steps\n" and result.stderr == "",
          f"two ranks: {result}")
    result, _ = started(arguments, "--ranks", 3, "--fault", "stuck", "--faulty", 2)
    check(result.returncode == 3, f"a stuck rank: {result}")
    check("rank 2 on " in result.stderr and "is stuck for" in result.stderr, f"{result}")
    result, _ = started(arguments, "--ranks", 3, "--fault", "program", "--faulty", 2)
    check(result.returncode == 1 and result.stderr.count("\n") == 1, f"{result}")
    environment = {**os.environ, "PATH": "/nowhere"}
    result = subprocess.run([arguments.trial, "--ranks", "2"], text=True, capture_output=True,
                            env=environment)
    check(result.returncode == 1 and result.stderr ==
          "sinter: error: --ranks 2: there is no mpiexec to start them; install openmpi-bin\n",
          f"{result}")


def check_signals(arguments):
    """What ends `--ranks` ends its ranks; one that is killed or stopped ends it with status 3."""
    for how, to_rank in ((signal.SIGTERM, False), (signal.SIGKILL, False), (signal.SIGKILL, True),
                         (signal.SIGSTOP, True)):
        folder = arguments.folder / "signals"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        process = subprocess.Popen([str(arguments.trial), "--ranks", "2", "--pids", str(folder)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        pids = [read_pid(folder / str(rank)) for rank in range(2)]
        if to_rank:
            os.kill(pids[1], how)
        else:
            process.send_signal(how)
        errors = process.communicate(timeout=30)[1]
        if to_rank:
            check(process.returncode == 3 and "rank 1 on " in errors,
                  f"{how.name} of a rank: {process.returncode} {errors}")
        deadline = time.time() + 10
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
            check(time.time() < deadline, f"ranks survive {how.name}")
            time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trial", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    try:
        check_started(arguments)
        check_signals(arguments)
        fault(arguments, "stuck", 1,
              r"is stuck for \d+\.\d s at step 100, command 1 of train_step \(matmul, model\.layers\.3\)",
              3, "is stuck")
        fault(arguments, "error", 2, r"has ended with an error at step 100: step 100: the loss is nan",
              1, "rank 2: sinter: error: step 100: the loss is nan; look at the data\n")
        fault(arguments, "error", 0, r"has ended with an error at step 100: step 100: the loss is nan",
              1, "sinter: error: step 100: the loss is nan; look at the data\n")
        # All ranks find out together, and one of them says it.
        fault(arguments, "program", 2, None, 1, "")
        for number in range(arguments.kills):
            kill(arguments, number, generator)
    except Failed as failed:
        sys.exit(f"ranks_fail.py: {failed}")
    print("every rank ended as it should")


main()
