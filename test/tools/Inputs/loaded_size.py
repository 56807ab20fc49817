"""What a program and the shared libraries that it loads take on disk: loaded_size.py PROGRAM MOST_MB

The system's C and C++ libraries and its loader do not count: every program has them. Prints each file
and the sum; status 1 where that is above MOST_MB times 10^6 bytes.
"""

import os
import re
import subprocess
import sys

SYSTEM = r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so"


def find_libraries(program):
    listing = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "not found" in listing:
        sys.exit(f"a library of {program} is missing:\n{listing}")
    paths = re.findall(r"(/\S+) \(0x", listing)
    return [path for path in paths if not re.match(SYSTEM, os.path.basename(path))]


def main():
    program, most = sys.argv[1], float(sys.argv[2])
    total = 0
    for path in [program] + find_libraries(program):
        size = os.path.getsize(os.path.realpath(path))
        total += size
        print(f"{size / 1e6:8.2f} MB  {os.path.basename(path)}")
    print(f"{total / 1e6:8.2f} MB  in all, of at most {most:g}")
    return total > most * 1e6


if __name__ == "__main__":
    sys.exit(main())
