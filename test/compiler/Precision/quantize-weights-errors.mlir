// RUN: not sinter-opt %s --sinter-quantize-weights="weights=int3" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not sinter-opt %s --sinter-quantize-weights="weights=int4 group=-1" 2>&1 | FileCheck %s --check-prefix=GROUP

// TYPE: error: expected weights of int8, int4 or fp8 in groups of at least 1, or 0 for all, got int3 in groups of 32
// GROUP: error: expected weights of int8, int4 or fp8 in groups of at least 1, or 0 for all, got int4 in groups of -1
module {}
