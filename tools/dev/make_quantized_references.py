#!/usr/bin/env python3
"""Writes test/unit/Quantized/layers/<name>/{config.json, model.safetensors, expected.safetensors}: one
quantized layer each, and what it is dequantized, in the type of its scales.

compressed-tensors' layers are packed and unpacked by PyPI's `compressed-tensors`, AWQ's are read by
its converter. GPTQ's are packed and read here, by the loops of AutoGPTQ 0.7
(auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py, `pack` and `forward`), as is transformers' fp8 by
its definition: each block of the weight times one scale. Of MXFP4 transformers reads random bytes.

Needs: pip install compressed-tensors numpy safetensors torch transformers
"""

import json
import pathlib

import numpy
import torch
from compressed_tensors.compressors import (FloatQuantizationCompressor, IntQuantizationCompressor,
                                            PackedQuantizationCompressor)
from compressed_tensors.entrypoints.convert.converters import AutoAWQConverter
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams
from safetensors.torch import save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

OUT = pathlib.Path(__file__).parents[2] / "test/unit/Quantized/layers"
LAYER = "layers.0.proj"


def write(name, quantization, tensors, expected):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(
        json.dumps({"quantization_config": quantization}, indent=1) + "\n")
    prefixed = {f"{LAYER}.{key}": value.contiguous() for key, value in tensors.items()}
    save_file(prefixed, folder / "model.safetensors")
    save_file({f"{LAYER}.weight": expected.contiguous()}, folder / "expected.safetensors")


def ranges(weight, args):
    """The least and the largest of each part of the weight that has a scale."""
    rows, columns = weight.shape
    if args.strategy == "tensor":
        return weight.min().reshape(1), weight.max().reshape(1)
    if args.strategy == "channel":
        return weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
    if args.strategy == "group":
        parts = weight.reshape(rows, columns // args.group_size, args.group_size)
        return parts.amin(-1), parts.amax(-1)
    height, width = args.block_structure
    padded = torch.nn.functional.pad(weight, (0, -columns % width, 0, -rows % height))
    parts = padded.reshape(padded.shape[0] // height, height, padded.shape[1] // width, width)
    return parts.amin((1, 3)), parts.amax((1, 3))


def compressed(name, compressor, shape, dtype, activations=None, **arguments):
    torch.manual_seed(len(name))
    args = QuantizationArgs(**arguments)
    weight = torch.randn(shape).to(dtype)
    scale, zero = calculate_qparams(*ranges(weight, args), args)
    scheme = QuantizationScheme(targets=["Linear"], weights=args, input_activations=activations)
    state = {"weight": weight, "weight_scale": scale.to(dtype)}
    if not args.symmetric:
        state["weight_zero_point"] = zero
    stored = compressor.compress(state, scheme)
    expected = compressor.decompress(stored, scheme)["weight"]
    assert expected.dtype == dtype and (expected - weight).abs().max() < 0.5
    format = {PackedQuantizationCompressor: "pack-quantized",
              IntQuantizationCompressor: "int-quantized",
              FloatQuantizationCompressor: "float-quantized"}[compressor]
    config = QuantizationConfig(config_groups={"group_0": scheme}, format=format,
                                quantization_status="compressed", ignore=["lm_head"])
    write(name, config.model_dump(mode="json"), stored, expected)


def unpack_dense(words, bits, count):
    """[count, n] codes of [words, n], packed along the first dimension, from the lowest bit on."""
    wide = words.astype(numpy.uint32).astype(object)
    stream = sum(wide[i] << (32 * i) for i in range(len(wide)))
    return numpy.stack([(stream >> (bits * i)) & ((1 << bits) - 1)
                        for i in range(count)]).astype(numpy.int64)


def pack_dense(codes, bits):
    stream = sum(codes[i].astype(object) << (bits * i) for i in range(len(codes)))
    words = -(-len(codes) * bits // 32)
    packed = numpy.stack([(stream >> (32 * i)) & 0xffffffff for i in range(words)])
    return packed.astype(numpy.uint32).view(numpy.int32)


def gptq(name, bits, group, version, ordered):
    random = numpy.random.default_rng(bits)
    inputs, outputs = 64, 32
    groups = inputs // group
    codes = random.integers(0, 1 << bits, (inputs, outputs))
    zeros = random.integers(1, 1 << bits, (groups, outputs))  # what is subtracted
    scales = (random.random((groups, outputs)) * 0.1 + 0.01).astype(numpy.float16)
    index = numpy.arange(inputs) // group
    if not ordered:
        random.shuffle(index)
    less = 1 if version == "gptq" else 0
    tensors = {
        "qweight": pack_dense(codes, bits),
        "qzeros": pack_dense((zeros - less).T, bits).T.copy(),
        "scales": scales,
        "g_idx": index.astype(numpy.int32),
        "bias": numpy.zeros(outputs, numpy.float16),
    }
    assert (unpack_dense(tensors["qweight"].view(numpy.uint32), bits, inputs) == codes).all()
    weight = scales[index].astype(numpy.float32) * (codes - zeros[index])
    expected = weight.astype(numpy.float16).T
    write(name, {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": not ordered,
                 "sym": False, "damp_percent": 0.1, "checkpoint_format": version},
          {key: torch.from_numpy(value) for key, value in tensors.items()},
          torch.from_numpy(expected.copy()))


def awq():
    random = numpy.random.default_rng(0)
    inputs, outputs, group = 64, 32, 32
    tensors = {
        "qweight": torch.from_numpy(random.integers(-2**31, 2**31, (inputs, outputs // 8))).int(),
        "qzeros": torch.from_numpy(random.integers(-2**31, 2**31, (inputs // group,
                                                                   outputs // 8))).int(),
        "scales": torch.from_numpy(random.random((inputs // group, outputs)) * 0.1).half(),
    }
    config = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True,
              "version": "gemm", "modules_to_not_convert": None}
    converter = AutoAWQConverter.from_autoawq_config(config)
    converted = converter.process({f"{LAYER}.{key}": value for key, value in tensors.items()})
    state = {key.removeprefix(LAYER + "."): value for key, value in converted.items()}
    scheme = converter._build_quant_config().config_groups["config_group_0"]
    expected = PackedQuantizationCompressor.decompress(state, scheme)["weight"]
    write("awq", config, tensors, expected)


def fp8():
    torch.manual_seed(0)
    weight = torch.randn(40, 72).to(torch.float8_e4m3fn)
    scales = torch.rand(3, 5) + 0.01
    whole = scales.repeat_interleave(16, 0).repeat_interleave(16, 1)[:40, :72]
    write("fp8", {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
                  "weight_block_size": [16, 16]},
          {"weight": weight, "weight_scale_inv": scales}, weight.float() * whole)


def mxfp4():
    torch.manual_seed(0)
    blocks = torch.randint(0, 256, (3, 20, 2, 16), dtype=torch.uint8)
    scales = torch.randint(0, 250, (3, 20, 2), dtype=torch.uint8)
    expected = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    write("mxfp4", {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
          {"weight_blocks": blocks, "weight_scales": scales}, expected)


PACKED, INT, FLOAT = (PackedQuantizationCompressor, IntQuantizationCompressor,
                      FloatQuantizationCompressor)
TOKENS = QuantizationArgs(num_bits=8, strategy="token", dynamic=True)
FLOAT_TOKENS = QuantizationArgs(num_bits=8, type="float", strategy="token", dynamic=True)

compressed("packed-int4-group", PACKED, (24, 64), torch.bfloat16, num_bits=4, strategy="group",
           group_size=16)
compressed("packed-int4-group-zeros", PACKED, (27, 64), torch.float16, num_bits=4, strategy="group",
           group_size=32, symmetric=False)
compressed("packed-int3-channel", PACKED, (9, 37), torch.float32, num_bits=3, strategy="channel")
compressed("packed-int8-group", PACKED, (24, 64), torch.bfloat16, num_bits=8, strategy="group",
           group_size=32)
compressed("int8-channel", INT, (24, 40), torch.bfloat16, TOKENS, num_bits=8, strategy="channel")
compressed("int8-tensor-zeros", INT, (24, 40), torch.float32, TOKENS, num_bits=8, strategy="tensor",
           symmetric=False)
compressed("fp8-channel", FLOAT, (24, 40), torch.bfloat16, FLOAT_TOKENS, num_bits=8, type="float",
           strategy="channel")
compressed("fp8-block", FLOAT, (24, 40), torch.bfloat16, FLOAT_TOKENS, num_bits=8, type="float",
           strategy="block", block_structure=[16, 16])
gptq("gptq-int4", 4, 32, "gptq", ordered=True)
gptq("gptq-int3-shuffled", 3, 16, "gptq_v2", ordered=False)
gptq("gptq-int8", 8, 64, "gptq", ordered=True)
awq()
fp8()
mxfp4()
