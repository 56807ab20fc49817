#!/usr/bin/env python3
"""Checks the house rules that a script can check; prints each breach as file:line: what to do.

    tools/dev/lint.py [--list]

--list prints the rules. Looks at the files that git tracks or would track. Exits with 1 on a
breach.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = {".cpp", ".h", ".cuh", ".td", ".pdll", ".fbs"}
TEXT = CODE | {".py", ".sh", ".cmake", ".txt", ".md", ".mlir", ".json"}
RULES = {}

# Each folder includes only those before it, and itself; one that is not listed belongs to the
# longest listed prefix of its path.
ORDER = [
    "runtime/Base",
    "runtime/Memory",  # regions of memory and what a process has of it
    "runtime/Weights",  # files of tensors
    "runtime/Data",  # files of tokens
    "runtime/Format",
    "runtime/Trace",
    "runtime/Collective",  # ranks; devices run collectives
    "runtime/Cluster",  # what steps of ranks are predicted to take
    "runtime/Device",
    "runtime/Device/Cpu",
    "runtime/Device/Cuda",
    "runtime/Session",
    "runtime/Checkpoint",
    "runtime/Train",
    "runtime/Generate",
    "runtime/Serve",
    "frontends/Jinja",
    "frontends/Gguf",
    "frontends/Spec",
    "frontends/Quantized",
    "frontends/Weights",
    "frontends/Tokenizer",
    "dialects/Interfaces",
    "dialects/Sinter",
    "dialects/Plan",
    "dialects/Check",
    "compiler/Analysis",
    "compiler/Reference",
    "compiler/Import",
    "compiler/Autodiff",
    "compiler/Precision",
    "compiler/Sharding",
    "compiler/Global",
    "compiler/Layout",
    "compiler/Fusion",
    "compiler/Codegen/Loops",
    "compiler/Codegen/Cpu",
    "compiler/Codegen/Cuda",
    "compiler/Families",
    "compiler/Schedule",
    "compiler/Memory",
    "compiler/Executable",
    "compiler/Pipelines",
    "frontends/Graph",
    "sinter",
    "tools/cli",
    "tools",
]


def rule(function):
    RULES[function.__name__] = function
    return function


class Tree:
    """The files of the repository and what is wrong with them."""

    def __init__(self):
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        self.paths = [pathlib.Path(p) for p in sorted(set(listed)) if (ROOT / p).is_file()]
        self.known = set(self.paths)
        self.breaches = []
        self.contents = {}

    def files(self, *suffixes, under=""):
        return [p for p in self.paths if p.suffix in suffixes and str(p).startswith(under)]

    def lines(self, path):
        if path not in self.contents:
            text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
            self.contents[path] = text.splitlines()
        return self.contents[path]

    def text(self, path):
        return "\n".join(self.lines(path)) + "\n"

    def breach(self, path, line, message):
        self.breaches.append((str(path), line, message))

    def each_line(self, paths, pattern, message):
        """A breach wherever `pattern` is found; `message` may use {0}, the text found."""
        expression = re.compile(pattern)
        for path in paths:
            for number, line in enumerate(self.lines(path), 1):
                if found := expression.search(line):
                    self.breach(path, number, message.format(found.group(0)))


def kebab(name):
    """FormFusions -> form-fusions, LowerKernelsToLLVM -> lower-kernels-to-llvm."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def passes_of(text):
    """Every pass that the text of a Passes.td defines: (class name, flag, body, line)."""
    for match in re.finditer(r'^def\s+(\w+)\s*:\s*Pass<\s*"([^"]+)"', text, re.M):
        end = text.find("\n}", match.end())
        line = text.count("\n", 0, match.start()) + 1
        yield match.group(1), match.group(2), text[match.end():end], line


def passes(tree):
    """Every pass of a Passes.td: (td path, line, class name, flag, body)."""
    for path in tree.files(".td"):
        if path.name == "Passes.td":
            for name, flag, body, line in passes_of(tree.text(path)):
                yield path, line, name, flag, body


@rule
def pass_names(tree):
    """def FooBarPass -> FooBar.cpp -> sinter-foo-bar -> test/compiler/<Phase>/foo-bar.mlir."""
    for path, line, name, flag, _ in passes(tree):
        if not name.endswith("Pass"):
            tree.breach(path, line, f"name the definition {name}Pass")
        base = name.removesuffix("Pass")
        prefix = "example-" if path.parts[0] == "examples" else "sinter-"
        if flag != prefix + kebab(base):
            tree.breach(path, line, f"the flag of {name} is {prefix}{kebab(base)}, not {flag}")
        if path.parts[0] == "compiler":
            if path.parent / (base + ".cpp") not in tree.known:
                tree.breach(path, line, f"{name} lives in {path.parent / base}.cpp")
            test = pathlib.Path("test/compiler") / path.parts[1] / kebab(base)
            if not any(re.fullmatch(rf"{test}(-.*)?\.mlir", str(p)) for p in tree.known):
                tree.breach(path, line, f"{name} is tested in {test}.mlir")


@rule
def pass_docs(tree):
    """Every pass has a summary, a description and in it an example that runs (pass_examples.py)."""
    for path, line, name, _, body in passes(tree):
        if not re.search(r'let summary = "[^"]', body):
            tree.breach(path, line, f"{name} has no summary")
        description = re.search(r"let description = \[\{(.*?)\}\]", body, re.S)
        if not description or len(description.group(1).split()) < 10:
            tree.breach(path, line, f"describe {name}: purpose, postcondition, an example")
        elif "    // =>\n" not in description.group(1):
            tree.breach(path, line, f"{name} has no example that runs (tools/dev/pass_examples.py)")


@rule
def sizes(tree):
    """A pass is at most 400 lines, a source file 800, a lit test 300."""
    pass_files = {p.parent / (n.removesuffix("Pass") + ".cpp") for p, _, n, _, _ in passes(tree)}
    for path in tree.files(*CODE, ".py", ".mlir"):
        limit = 400 if path in pass_files else 300 if path.suffix == ".mlir" else 800
        if len(tree.lines(path)) > limit:
            count = len(tree.lines(path))
            tree.breach(path, limit + 1, f"{count} lines, the budget is {limit}: split it")


def folder(path):
    """The entry of ORDER that a path belongs to, or the path's folder where there is none."""
    found = [entry for entry in ORDER if path.startswith(entry + "/")]
    return max(found, key=len, default=path.rpartition("/")[0])


@rule
def include_order(tree):
    """A folder includes only folders before it (ORDER in lint.py): there is no circle."""
    place = {entry: number for number, entry in enumerate(ORDER)}
    tops = tuple({entry.partition("/")[0] + "/" for entry in ORDER})
    expression = re.compile(r'^\s*#?include "([^"]+/[^"]+)"')
    for path in tree.files(*CODE, ".def", ".inc"):
        own = folder(str(path))
        if not str(path).startswith(tops):
            continue
        if own not in place:
            tree.breach(path, 1, f"{own} has no place in ORDER (tools/dev/lint.py)")
            continue
        for number, line in enumerate(tree.lines(path), 1):
            found = expression.search(line)
            other = folder(found.group(1)) if found else own
            if place.get(other, -1) > place[own]:
                tree.breach(path, number, f"{own} comes before {other} and cannot include it")


@rule
def documented_paths(tree):
    """What README.md, CONTRIBUTING.md and docs/ name of the repository exists, and so do their links."""
    known = {str(parent) for path in tree.paths for parent in [path, *path.parents]}
    tops = "|".join(sorted({re.escape(path.parts[0]) for path in tree.paths if len(path.parts) > 1}))
    name = re.compile(rf"(?<![\w./<-])((?:{tops})/[\w./-]*[\w/])(?![\w*<{{])")
    link = re.compile(r"\]\(([^)#:%]+)(?:#[^)]*)?\)")
    for path in [p for p in tree.files(".md") if len(p.parts) == 1 or p.parts[0] == "docs"]:
        for number, line in enumerate(tree.lines(path), 1):
            for found in name.findall(line):
                if found.rstrip("/") not in known:
                    tree.breach(path, number, f"{found} does not exist")
            for target in link.findall(line):
                if not (ROOT / path.parent / target).exists():
                    tree.breach(path, number, f"the link to {target} leads nowhere")


@rule
def headers(tree):
    """Headers begin with #pragma once and open no namespace for others."""
    paths = tree.files(".h")
    tree.each_line(paths, r"^using namespace\b", "no `using namespace` in a header")
    for path in paths:
        if "#pragma once" not in tree.lines(path):
            tree.breach(path, 1, "#pragma once is missing")


@rule
def accessors(tree):
    """What reads a member is getX(), or isX() or hasX(), except where all containers have another name."""
    paths = [p for p in tree.files(".cpp", ".h") if p.parts[0] not in {"test", "kernels_templates"}]
    inline = (r"^\s+[\w:<>,*& ]+[ &*]"
              r"(?!(?:(?:get|is|has)[A-Z]\w*|get|size|begin|end|data)\()(\w+\(\)) const \{ return \w+; \}")
    tree.each_line(paths, inline, "{0}: getX()")


@rule
def command_line_options(tree):
    """Global command line options stand in tools/ only."""
    paths = [p for p in tree.files(".cpp", ".h") if p.parts[0] != "tools"]
    tree.each_line(paths, r"\bcl::(opt|list|alias|bits)\b",
                   "{0} outside tools/: make it a pass option")


@rule
def lit_tests(tree):
    """A lit test runs something and checks what comes out."""
    checks = re.compile(r"FileCheck|verify-(diagnostics|roundtrip|pass)|\b(diff|cmp|not) ")
    for path in tree.files(".mlir", under="test/") + tree.files(".mlir", under="examples/"):
        if "Inputs" in path.parts:
            continue
        text = tree.text(path)
        runs = "\n".join(re.findall(r"RUN:(.*)", text))
        if not runs:
            tree.breach(path, 1, "no RUN line")
        elif not checks.search(runs) and "check.expect" not in text:
            tree.breach(path, 1, "the RUN lines check nothing")
        prefixes = re.findall(r"FileCheck[^|\n]*?--?check-prefix(?:es)?[= ]([\w,-]+)", runs)
        prefixes = ",".join(prefixes).split(",") if prefixes else ["CHECK"]
        if "FileCheck" in runs:
            for prefix in prefixes:
                if not re.search(rf"\b{re.escape(prefix)}(-[A-Z]+(-\d+)?)?(\{{\w+\}})?:", text):
                    tree.breach(path, 1, f"FileCheck finds no {prefix} line")


@rule
def diagnostics_tested(tree):
    """A third of the lit tests are about what goes wrong: -verify-diagnostics, or a command that fails."""
    tests = [p for p in tree.files(".mlir", ".test", under="test/") if "Inputs" not in p.parts]
    failing = re.compile(r"-verify-diagnostics|RUN:.*\bnot ")
    found = sum(1 for path in tests if failing.search(tree.text(path)))
    if 3 * found < len(tests):
        tree.breach("test", 1, f"{found} of {len(tests)} lit tests expect a diagnostic, at least a third should")


@rule
def machine_paths(tree):
    """Nothing names a folder of somebody's machine."""
    own = pathlib.Path("tools/dev/lint.py")
    tree.each_line([p for p in tree.files(*TEXT) if p != own],
                   r"(?<![\w.])/(work|home|root|Users)/\w+|/tmp/venv", "{0} exists on one machine only")


@rule
def unfinished(tree):
    """Nothing is left for later in a comment."""
    own = pathlib.Path("tools/dev/lint.py")
    paths = [p for p in tree.files(*TEXT) if p != own and p.suffix not in {".json", ".txt"}]
    tree.each_line(paths, r"\b(TODO|FIXME|XXX|HACK)\b", "{0}: do it, or leave it out")


@rule
def layout(tree):
    """No tabs, no blanks at line ends, 100 columns in C++, 120 elsewhere, a last newline."""
    paths = tree.files(*(TEXT - {".json", ".txt", ".md"}))
    tree.each_line(paths, r"\t", "tab")
    tree.each_line(paths, r"[ \t]+$", "blanks at the end of the line")
    for path in tree.files(*CODE, ".py", ".sh"):
        budget = 100 if path.suffix in {".cpp", ".h"} else 120
        inside_raw_string = False  # IR of a test: an op is one line, however long its types
        for number, line in enumerate(tree.lines(path), 1):
            raw = inside_raw_string
            if 'R"(' in line:
                inside_raw_string = True
            if ')"' in line:
                inside_raw_string = False
            if len(line) > budget and "http" not in line and not raw:
                tree.breach(path, number, f"{len(line)} columns, the budget is {budget}")
    for path in paths:
        data = (ROOT / path).read_bytes()
        if data and (not data.endswith(b"\n") or data.endswith(b"\n\n")):
            tree.breach(path, len(tree.lines(path)), "end the file with one newline")


@rule
def phases_listed(tree):
    """Every folder of compiler/ with a Pipeline.cpp stands in Phases.def and has Passes.td and .h."""
    phases = pathlib.Path("compiler/Pipelines/Phases.def")
    listed = tree.text(phases) if phases in tree.known else None
    for path in tree.files(".cpp", under="compiler/"):
        if path.name != "Pipeline.cpp" or path.parts[1] == "Pipelines":
            continue
        for need in ("Passes.td", "Passes.h"):
            if path.parent / need not in tree.known:
                tree.breach(path, 1, f"{path.parent / need} is missing")
        phase = path.parts[1]
        if listed is not None and not re.search(rf"\b{phase}\b", listed):
            tree.breach(path, 1, f"{phase} is missing in {phases}")


def main():
    if "--list" in sys.argv[1:]:
        for name, function in RULES.items():
            print(f"{name}: {function.__doc__}")
        return 0
    tree = Tree()
    for function in RULES.values():
        function(tree)
    for path, line, message in sorted(tree.breaches):
        print(f"{path}:{line}: {message}")
    print(f"lint: {len(RULES)} rules, {len(tree.paths)} files, {len(tree.breaches)} breaches")
    return 1 if tree.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
