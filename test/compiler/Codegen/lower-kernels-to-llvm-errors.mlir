// RUN: sinter-opt %s --sinter-lower-kernels-to-llvm --verify-diagnostics

module {
// expected-error @below {{expected a module with a target (sinter.target)}}
module @kernels {
}
}
