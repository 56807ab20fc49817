"""check-part.py REPORT DIR LIMIT: the layers that are not quantized are those of which the report
says that they add more than LIMIT to the loss, and config.json lists them."""

import json
import sys

report = json.load(open(sys.argv[1]))
ignored = json.load(open(sys.argv[2] + "/config.json"))["quantization_config"]["ignore"]
names = json.load(open(sys.argv[2] + "/model.safetensors.index.json"))["weight_map"]
limit = float(sys.argv[3])
wide = [layer["name"] for layer in report["layers"] if not layer["quantized"]]
assert 0 < len(wide) < len(report["layers"]), wide
assert sorted(ignored) == sorted(wide + ["lm_head"]), ignored
for layer in report["layers"]:
    assert layer["quantized"] == (layer["added_loss"] <= limit), layer
    assert (layer["name"] + ".weight" in names) != layer["quantized"], layer
    assert (layer["name"] + ".weight_packed" in names) == layer["quantized"], layer
