"""Writes a program for a grid as a person would: a parameter split by rows, and the first layer's tokens.

Usage: shard_values.py IN OUT GRID AXIS PARAMETER"""
import re
import sys

source, target, grid, axis, parameter = sys.argv[1:]
text = open(source).read()
if grid:
    text = text.replace("module attributes {", f"module attributes {{sinter.grid = #sinter.grid<{grid}>, ", 1)
    text, found = re.subn(
        rf'sinter\.parameter = "{re.escape(parameter)}"',
        rf'sinter.parameter = "{parameter}", sinter.sharding = #sinter.sharding<[["{axis}"], []]>', text)
    assert found, parameter
# The first sum of three dimensions, and all that reads it in its function.
match = re.search(r"^ *(%\w+) = sinter\.add .* -> (tensor<\d+x\d+x\d+xf32>)[^\n]*\n", text, re.M)
value, kind = match.groups()
split = f'  %split = sinter.shard {value} {{sharding = #sinter.sharding<[[], ["{axis}"], []]>}} : ({kind}) -> {kind}\n'
end = text.find("func.func", match.end())
end = len(text) if end < 0 else end
body = re.sub(re.escape(value) + r"\b", "%split", text[match.end() : end])
open(target, "w").write(text[: match.end()] + split + body + text[end:])
