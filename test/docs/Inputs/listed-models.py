"""Fails where docs/models.md lacks a model_type or a general.architecture, or has one too many:
listed-models.py REPOSITORY"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
read = lambda path: (root / path).read_text()
known = set(re.findall(r'FAMILY\("(\w+)"', read("frontends/Spec/Families/Families.def")))
known |= set(re.findall(r'^ +\{"([\w-]+)", "\w+", ',
                       read("frontends/Gguf/GgufArchitectures.cpp").split("// The table")[1], re.M))
for name in ("GgufGemma4", "GgufQwen35", "GgufStateSpaces"):
    known |= set(re.findall(r'"(gemma4|qwen35|qwen35moe|qwen3next|mamba2|nemotron_h|nemotron_h_moe)"',
                            read(f"frontends/Gguf/{name}.cpp")))
known |= set(re.findall(r'\{"(\w+)", "\w+"\}', read("frontends/Spec/Decoder.cpp")))
text = read("docs/models.md")
listed = set(re.findall(r"`([\w-]+)`", text.split("## Files")[0]))
missing = known - listed
surplus = {name for name in listed if re.fullmatch(r"[a-z0-9_-]+", name)} - known - {"model_type"}
assert not missing and not surplus, f"missing: {sorted(missing)}, not known: {sorted(surplus)}"
