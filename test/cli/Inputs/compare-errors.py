"""compare-errors.py EXACT A B FACTOR: the squared error of A, a file of float32, is at most FACTOR times
that of B."""

import struct
import sys


def load(path):
    data = open(path, "rb").read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


exact, a, b = (load(path) for path in sys.argv[1:4])
ours, theirs = (sum((x - y) ** 2 for x, y in zip(exact, other)) for other in (a, b))
assert ours <= float(sys.argv[4]) * theirs, (ours, theirs)
