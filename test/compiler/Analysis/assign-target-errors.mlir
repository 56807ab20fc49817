// RUN: not sinter-opt %s --sinter-assign-target=target=gpu 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not sinter-opt %s --sinter-assign-target=target=cpu:m68k 2>&1 | FileCheck %s --check-prefix=NAME

// KIND: error: target "gpu": it is none that Sinter knows; give cpu, or cpu:NAME as in cpu:x86-64-v4
// NAME: error: target "cpu:m68k": "m68k" is no 64-bit x86 processor that LLVM knows; give a name
module {}
