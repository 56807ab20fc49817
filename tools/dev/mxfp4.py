"""Experts of gpt-oss as MXFP4, for make_reference_models.py."""

import json

import torch
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors


def pack_experts(model):
    """Gives experts the numbers of random MXFP4, whose tensors it returns."""
    packed = {}
    for name, weight in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        count, inputs, outputs = weight.shape
        blocks = torch.randint(0, 256, (count, outputs, inputs // 32, 16), dtype=torch.uint8)
        scales = torch.randint(122, 126, blocks.shape[:-1], dtype=torch.uint8)
        with torch.no_grad():
            weight.copy_(convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))
        packed |= {name + "_blocks": blocks, name + "_scales": scales}
    return packed


def write_packed(out, packed):
    """A checkpoint with these in the place of what they stand for."""
    tensors = load_file(out / "model.safetensors")
    for name in packed:
        tensors.pop(name.rsplit("_", 1)[0], None)
    save_file(tensors | packed, out / "model.safetensors")
    config = json.loads((out / "config.json").read_text())
    config["quantization_config"] = {"modules_to_not_convert": ["lm_head"], "quant_method": "mxfp4"}
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
