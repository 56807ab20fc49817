"""check-codes.py MODEL QUANTIZED METHOD: the layers of QUANTIZED, by `sinter quantize --scheme
int4-weights` or int8-weights of the float32 MODEL, hold the codes and scales that METHOD asks for
(sinter/WeightQuantizer.h), computed here one weight after the other."""

import glob
import json
import math
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


def numbers(tensor, kind):
    return struct.unpack(f"<{len(tensor[1]) // struct.calcsize(kind)}{kind}", tensor[1])


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


model, folder, method = sys.argv[1:]
source = load(model + "/model.safetensors")
config = json.load(open(folder + "/config.json"))["quantization_config"]
weights = config["config_groups"]["group_0"]["weights"]
bits, group = weights["num_bits"], weights["group_size"]
largest = 2 ** (bits - 1) - 1
stored = {}
for path in sorted(glob.glob(folder + "/*.safetensors")):
    stored.update(load(path))
assert sorted(json.load(open(folder + "/model.safetensors.index.json"))["weight_map"]) == sorted(stored)


def code(weight, scale):
    return min(max(round(f32(weight / scale)), -largest - 1), largest)


def error(part, scale):
    return math.fsum((weight - code(weight, scale) * scale) ** 2 for weight in part)


checked = 0
for name, tensor in source.items():
    layer = name.removesuffix(".weight")
    if layer + ".weight_packed" not in stored:
        assert stored[name][1] == tensor[1], name
        assert "proj" not in name, name
        continue
    rows, columns = numbers(stored[layer + ".weight_shape"], "q")
    assert [rows, columns] == tensor[0]["shape"], name
    words = numbers(stored[layer + ".weight_packed"], "I")
    scales = numbers(stored[layer + ".weight_scale"], "f")
    values = numbers(tensor, "f")
    in_row = len(words) // rows
    assert in_row == -(-columns * bits // 32)
    for row in range(rows):
        line = sum(words[row * in_row + i] << (32 * i) for i in range(in_row))
        for first in range(0, columns, group):
            part = values[row * columns + first:row * columns + first + group]
            scale = scales[(row * columns + first) // group]
            whole = f32(max(abs(value) for value in part) / largest)
            if method == "max":
                assert scale == whole, (name, row, first)
            else:
                best = min(error(part, f32(f32(whole * p) / 64)) for p in range(32, 65))
                assert error(part, scale) <= best * (1 + 1e-4), (name, row, first)
            for i, value in enumerate(part):
                found = (line >> (bits * (first + i)) & (2 ** bits - 1)) - largest - 1
                assert found == code(value, scale), (name, row, first + i)
    checked += 1
assert checked == 14, checked
