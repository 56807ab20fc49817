// RUN: not sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-activations 2>&1 | FileCheck %s

// CHECK: error: expected a processor as the target: there are no kernels for a GPU that sum integers
module {}
