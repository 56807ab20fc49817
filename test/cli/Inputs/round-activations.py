"""Says in a config.json of compressed-tensors that activations are rounded to 8 bits, token by token."""

import json
import pathlib
import sys

path = pathlib.Path(sys.argv[1])
config = json.loads(path.read_text())
for group in config["quantization_config"]["config_groups"].values():
    group["input_activations"] = {"num_bits": 8, "type": "int", "symmetric": True, "dynamic": True, "strategy": "token"}
path.write_text(json.dumps(config))
