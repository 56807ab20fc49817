"""check-fp8-blocks.py MODEL QUANTIZED: the layers of QUANTIZED, by `sinter quantize --scheme fp8-blocks` of the
float32 MODEL, have a scale for each 128 x 128 numbers, the largest of them over 448, and the nearest e4m3."""

import glob
import json
import struct
import sys


def load(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry, data[8 + length + entry["data_offsets"][0]:
                               8 + length + entry["data_offsets"][1]])
            for name, entry in header.items()}


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def number(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    size = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0 ** -9
    return -size if code & 0x80 else size


NUMBERS = [number(code) for code in range(256)]
GAPS = [2.0 ** (max(code >> 3 & 15, 1) - 10) for code in range(256)]  # to the next number

source, stored = load(sys.argv[1] + "/model.safetensors"), {}
for path in glob.glob(sys.argv[2] + "/*.safetensors"):
    stored.update(load(path))
weights = json.load(open(sys.argv[2] + "/config.json"))["quantization_config"]["config_groups"]["group_0"]["weights"]
assert weights["strategy"] == "block" and weights["block_structure"] == [128, 128], weights
checked = 0
for name, (entry, data) in source.items():
    if "proj" not in name:
        assert stored[name][1] == data, name
        continue
    rows, columns = entry["shape"]
    across = -(-columns // 128)
    assert stored[name][0]["dtype"] == "F8_E4M3" and stored[name][0]["shape"] == [rows, columns]
    assert stored[name + "_scale"][0]["shape"] == [-(-rows // 128), across]
    values, codes, scales = floats(data), stored[name][1], floats(stored[name + "_scale"][1])
    largest = [0.0] * len(scales)
    for row in range(rows):
        for column in range(columns):
            at = row // 128 * across + column // 128
            value, code = values[row * columns + column], codes[row * columns + column]
            largest[at] = max(largest[at], abs(value))
            off = abs(value / scales[at] - NUMBERS[code])
            assert off <= GAPS[code] * 0.5000001, (name, row, column)
    for most, scale in zip(largest, scales):
        assert abs(most / 448 - scale) <= scale * 1e-6, (name, most, scale)
    checked += 1
assert checked == 7, checked
