// RUN: not sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-caches 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not sinter-opt %s --sinter-quantize-caches=cache-type=bf16 2>&1 | FileCheck %s --check-prefix=TYPE

// GPU: error: expected a processor as the target: there are no kernels for a GPU that read caches of int8
// TYPE: error: expected a type of caches int8 or fp8, got bf16
module {}
