"""What the machine can do at most, as `sinter-limits` measures it, and what it does at the moment.

A limit is the fastest that was ever seen on this machine: what nothing passes. A shared machine's
clock and memory drift by half within minutes, and what is measured meanwhile drifts alike; so each
work also has the moment that it was measured in, from right before and right after it.
"""

from harness import run_json


class Machine:
    def __init__(self, sinter, threads):
        self.command = [sinter.parent / "sinter-limits", threads]
        self.last = None

    def measure(self):
        """{"machine", "threads", "limits": {kind: rate}, "now": {kind: rate}}, or None."""
        found = run_json(self.command)
        self.last = found or self.last
        return found

    def share(self, kind, rate, limit):
        """The part of its limit that a work's rate is. Work that passed it has shown that the limit
        was measured in a slow moment: it is raised to that, here and where limits are kept."""
        if rate > limit:
            run_json([*self.command, f"{kind}={rate}"])
        return rate / max(rate, limit)


class Moment:
    """What the machine did around a work: the larger of what it did before and after it."""

    def __init__(self, before, after):
        self.now = {kind: max(rate, after["now"][kind]) for kind, rate in before["now"].items()}
        self.limits = after["limits"]

    def share(self, kind, rate):
        return rate / max(rate, self.now[kind])


def best_of(rounds):
    """The larger of several rounds' shares, work by work, of {work: share}."""
    best = {}
    for shares in rounds:
        for work, share in shares.items():
            best[work] = max(share, best.get(work, 0))
    return best
