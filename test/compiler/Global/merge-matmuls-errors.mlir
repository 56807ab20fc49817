// RUN: sinter-opt %s --sinter-merge-matmuls --verify-diagnostics

// What asks the cost model needs a target.
// expected-error @below {{expected the module to say what it is compiled for (sinter.target)}}
module {}
