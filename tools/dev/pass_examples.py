#!/usr/bin/env python3
"""Runs the example of every pass: what its description says comes out must come out.

    tools/dev/pass_examples.py [--opt build/bin/sinter-opt] [--load-pass-plugin FILE] [Passes.td ...]

Without files: those of compiler/. An example is a block of code in the pass's description:

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-transpose-weights
    func.func @before(...) ...
    // =>
    func.func @after(...) ...
    ```

The command may be left out where it is the pass's flag alone. What stands behind the arrow is compared
with the output, both printed canonically. `...` there stands for any text: then the output must contain
the rest, in this order, under consistent names of values. `error: ...` is what the pass must fail with.
Exits with 1 if an example is wrong or a pass has none.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys

import lint

ALIAS = re.compile(r"^([#!]\w+) = (.*)\n", re.M)
VALUE = re.compile(r"(%[\w-]+)")


class Wrong(Exception):
    pass


def examples(body):
    """The command or None, the input and the expected output of each example of a pass."""
    for block in re.findall(r"^ *```mlir\n(.*?)^ *```$", body, re.M | re.S):
        before, arrow, after = block.partition("// =>\n")
        if arrow:
            command = re.match(r" *// sinter-opt ((.*\\\n)*.*)\n", before)
            yield command and shlex.split(re.sub(r"\\\n *//", "", command.group(1))), before, after


def inline_aliases(text):
    """`text` with `#map`, `!rows` and the like written out."""
    aliases = ALIAS.findall(text)
    text = ALIAS.sub("", text)
    for alias, value in reversed(aliases):
        text = re.sub(re.escape(alias) + r"\b", lambda _: value, text)
    return text


def pattern(expected):
    """A regular expression for text with `...`; in a function a name stands for one value."""
    result, function, seen = "", 0, {}
    for part in re.split(r"(\.\.\.|%[\w-]+|\s+|\w+|.)", expected.strip()):
        if part == "...":
            result += r"[\s\S]*?"
        elif VALUE.fullmatch(part):
            known = seen.get((function, part))
            group = seen.setdefault((function, part), f"v{len(seen)}")
            result += rf"(?P={group})" if known else rf"(?P<{group}>%[\w-]+)"
        elif part.isspace():
            result += r"\s+"
        else:
            function += part == "func"
            result += re.escape(part)
    return re.sub(r"(\\s\+)?\[\\s\\S\]\*\?(\\s\+)?", r"[\\s\\S]*?", result)


def check(opt, flag, command, before, after):
    def run(arguments, text):
        return subprocess.run([*opt, *arguments], input=text, capture_output=True, text=True)

    # A plugin's pass has no flag of its own.
    command = command or [f"--pass-pipeline=builtin.module({flag})"]
    found = run(command, before)
    if after.strip().startswith("error: "):
        if after.strip() not in found.stderr:
            raise Wrong(f"expected it to fail with\n{after}\ngot\n{found.stderr or found.stdout}")
        return
    if found.returncode != 0:
        raise Wrong(found.stderr)
    output = inline_aliases(found.stdout)
    aliases = "".join(f"{alias} = {value}\n" for alias, value in ALIAS.findall(re.sub("^ +", "", before, flags=re.M)))
    expected = aliases + "".join(line.removeprefix("    ") for line in after.splitlines(True))
    if "..." in expected:
        matches = re.search(pattern(inline_aliases(expected)), output)
    else:
        # The target stands in both modules.
        printed = run([a for a in command if a.startswith("--sinter-assign-target")], expected)
        if printed.returncode != 0:
            raise Wrong(printed.stderr)
        expected = printed.stdout
        matches = inline_aliases(expected) == output
    if not matches:
        raise Wrong(f"expected\n{expected}\ngot\n{output}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default=str(lint.ROOT / "build/bin/sinter-opt"))
    parser.add_argument("--load-pass-plugin")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    opt = [arguments.opt]
    if arguments.load_pass_plugin:
        opt.append(f"--load-pass-plugin={arguments.load_pass_plugin}")
    files = arguments.files or sorted((lint.ROOT / "compiler").rglob("Passes.td"))
    ran, wrong = 0, 0
    for file in files:
        for name, flag, body, line in lint.passes_of(file.read_text()):
            found = list(examples(body))
            problem = None if found else "has no example that runs"
            for example in found:
                ran += 1
                try:
                    check(opt, flag, *example)
                except Wrong as error:
                    problem = f"has a wrong example: {error}"
            wrong += problem is not None
            print(f"{file}:{line}: {name} {problem}" if problem else f"ok {flag}")
    print(f"{ran} examples ran, {wrong} passes are wrong or have none")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
