"""compare-npy.py A B TOLERANCE: two files of float32 differ by at most TOLERANCE of A's largest."""

import struct
import sys


def load(path):
    data = open(path, "rb").read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


a, b = load(sys.argv[1]), load(sys.argv[2])
assert len(a) == len(b)
difference = max(abs(x - y) for x, y in zip(a, b)) / max(abs(x) for x in a)
assert difference <= float(sys.argv[3]), difference
