#!/usr/bin/env python3
"""Writes test/unit/Gguf/blocks.json: what 100,000 random blocks of each quantized type of GGUF are,
by PyPI's `gguf` package, as the XXH3-128 of their f32 elements (every NaN as 0x7fc00000).

Needs: pip install gguf numpy xxhash. The bytes are those of splitmix64 from the seed 0, eight of a
number, little-endian.
"""

import json
import pathlib

import gguf
import numpy
import xxhash

BLOCKS = 100_000
NAMES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL",
         "IQ4_XS", "MXFP4")


def random_bytes(count):
    state = (numpy.arange(1, (count + 7) // 8 + 1, dtype=numpy.uint64)
             * numpy.uint64(0x9e3779b97f4a7c15))
    state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return (state ^ (state >> numpy.uint64(31))).view(numpy.uint8)[:count]


hashes = {}
for name in NAMES:
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    raw = random_bytes(BLOCKS * size).reshape(BLOCKS, size)
    with numpy.errstate(all="ignore"):
        elements = gguf.quants.dequantize(raw, kind).astype(numpy.float32)
    bits = elements.view(numpy.uint32)
    bits[numpy.isnan(elements)] = 0x7fc00000
    hashes[name] = xxhash.xxh3_128_hexdigest(bits.tobytes())
out = pathlib.Path(__file__).parents[2] / "test/unit/Gguf/blocks.json"
out.write_text(json.dumps({"blocks": BLOCKS, "hashes": hashes}, indent=1) + "\n")
