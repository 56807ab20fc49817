// RUN: sinter-opt %s --sinter-form-fusions --verify-diagnostics
// RUN: sinter-opt %s --sinter-select-library-gemm --verify-diagnostics

// What asks the cost model needs a target.
// expected-error @below {{expected the module to say what it is compiled for (sinter.target)}}
module {}
