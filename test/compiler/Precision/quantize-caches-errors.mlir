// RUN: not sinter-opt %s --sinter-quantize-caches=cache-type=bf16 2>&1 | FileCheck %s

// CHECK: error: expected a type of caches int8 or fp8, got bf16
module {}
