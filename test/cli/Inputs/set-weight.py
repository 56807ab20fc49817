"""Writes some bytes into the middle of a tensor: set-weight.py FILE.safetensors TENSOR HEXADECIMAL"""

import json
import struct
import sys

path, name, value = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3])
with open(path, "r+b") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    begin, end = json.loads(file.read(size))[name]["data_offsets"]
    elements = (end - begin) // len(value)
    file.seek(8 + size + begin + elements // 2 * len(value))
    file.write(value)
