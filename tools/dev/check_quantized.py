#!/usr/bin/env python3
"""Loads what `sinter quantize` wrote with transformers, by PyPI's compressed-tensors, and compares.

    check_quantized.py SINTER DIR...

Every layer that the directory's config.json says is quantized must be so in the loaded model, and the
logits of both in float32 must agree to 1e-4 of their largest: roundings of float32, through a model
of a few layers. Where activations are quantized, which Sinter computes in the products' type, what
the logits differ by is printed alone.

Needs: pip install compressed-tensors numpy torch transformers
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers

TOKENS = [1, 17, 5, 40, 33, 8, 21, 60, 2, 11]


def check(sinter, folder):
    quantization = json.loads((folder / "config.json").read_text())["quantization_config"]
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    quantized = [name for name, module in model.named_modules()
                 if getattr(module, "quantization_scheme", None) is not None]
    linear = [name for name, module in model.named_modules()
              if isinstance(module, torch.nn.Linear) and name not in quantization["ignore"]]
    assert quantized == linear and quantized, (folder, len(quantized), len(linear))
    with torch.no_grad():
        theirs = model(torch.tensor([TOKENS])).logits[0].float().numpy()
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary) / "logits.npy"
        subprocess.run([sinter, "logits", folder, "--dtype", "f32", "-o", out, "--tokens",
                        ",".join(map(str, TOKENS))], check=True, capture_output=True)
        ours = numpy.load(out)
    difference = abs(ours - theirs).max() / abs(theirs).max()
    group = quantization["config_groups"]["group_0"]
    print(f"{folder}: {len(quantized)} layers, logits differ by {difference:.2e} of the largest")
    assert group["input_activations"] or difference < 1e-4


for argument in sys.argv[2:]:
    check(sys.argv[1], pathlib.Path(argument))
