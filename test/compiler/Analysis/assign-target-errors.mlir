// RUN: not sinter-opt %s --sinter-assign-target=target=gpu 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not sinter-opt %s --sinter-assign-target=target=cpu:m68k 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not sinter-opt %s --sinter-assign-target=target=cuda:sm_13 2>&1 | FileCheck %s --check-prefix=ARCHITECTURE

// KIND: error: target "gpu": it is none that Sinter knows; give cpu, cpu:NAME as in cpu:x86-64-v4, or cuda:ARCHITECTURE as in cuda:sm_90
// NAME: error: target "cpu:m68k": "m68k" is no 64-bit x86 processor that LLVM knows; give a name
// ARCHITECTURE: error: target "cuda:sm_13": "sm_13" is no architecture that Sinter describes; give sm_80, sm_90, sm_100 or sm_120
module {}
