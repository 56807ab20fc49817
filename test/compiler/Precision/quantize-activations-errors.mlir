// RUN: not sinter-opt %s --sinter-quantize-activations=activations=int4 2>&1 | FileCheck %s

// CHECK: error: expected activations of int8 or fp8, got int4
module {}
