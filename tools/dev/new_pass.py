#!/usr/bin/env python3
"""Writes what a new pass needs: its definition, its source, its tests.

    tools/dev/new_pass.py Fusion FoldDoubleRelu "relu(relu(x)) is relu(x)"

The first argument is a folder under compiler/ (Fusion, Codegen/Cpu), the second the pass' name, verb
first, without "Pass"; the third its summary. Afterwards: write the tests and the example, which runs too
(tools/dev/pass_examples.py), then the pass, then put it into the folder's Pipeline.cpp.
"""

import pathlib
import re
import sys

from lint import ROOT, kebab

DEFINITION = '''def {name}Pass : Pass<"{flag}", "mlir::ModuleOp"> {{
  let summary = "{summary}";
  let description = [{{
    Say what it does, and what holds afterwards.

    ```mlir
    func.func @before() {{
      return
    }}
    // =>
    func.func @after() {{
      return
    }}
    ```
  }}];
  let dependentDialects = ["sinter::SinterDialect"];
}}

'''

SOURCE = '''//===- {name}.cpp - {summary} {dashes}===//

#include "compiler/{folder}/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"

namespace sinter {{
#define GEN_PASS_DEF_{upper}PASS
#include "compiler/{folder}/Passes.h.inc"
}} // namespace sinter

using namespace mlir;

namespace {{

struct {name}Pass : sinter::impl::{name}PassBase<{name}Pass> {{
  using {name}PassBase::{name}PassBase;

  void runOnOperation() override {{}}
}};

}} // namespace
'''

TEST = '''// RUN: sinter-opt %s --{flag} | FileCheck %s

// CHECK-LABEL: func.func @example(
// CHECK-NEXT:    return
func.func @example(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  return %x : tensor<4x8xf32>
}}
'''


def stop(message):
    sys.exit(f"new_pass: {message}")


def edit(path, pattern, replacement):
    text = path.read_text()
    changed, count = re.subn(pattern, lambda match: replacement(match), text, count=1, flags=re.S)
    if not count:
        stop(f"{path} has no place for the pass; add it by hand")
    path.write_text(changed)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, name, summary = sys.argv[1:]
    where = ROOT / "compiler" / folder
    if not (where / "Passes.td").exists():
        stop(f"compiler/{folder} has no Passes.td")
    if not re.fullmatch(r"([A-Z][a-z0-9]*)+", name) or name.endswith("Pass"):
        stop(f"'{name}' should be like FoldDoubleRelu")
    source = where / (name + ".cpp")
    if source.exists():
        stop(f"{source} is there already")
    flag = "sinter-" + kebab(name)
    dashes = "-" * max(3, 60 - len(name) - len(summary))
    values = dict(folder=folder, name=name, summary=summary, flag=flag, upper=name.upper(),
                  dashes=dashes)

    edit(where / "Passes.td", r"(\n)(#endif[^\n]*\n)\Z",
         lambda m: "\n" + DEFINITION.format(**values) + m.group(2))
    edit(where / "CMakeLists.txt", r"(sinter_add_compiler_library\(\w+\s+)([^)]*?\.cpp)(?!\S)",
         lambda m: m.group(1) + name + ".cpp " + m.group(2))
    source.write_text(SOURCE.format(**values))
    tests = ROOT / "test/compiler" / folder
    tests.mkdir(parents=True, exist_ok=True)
    test = tests / (kebab(name) + ".mlir")
    test.write_text(TEST.format(**values))
    for path in (where / "Passes.td", where / "CMakeLists.txt", source, test):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
