// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-isolate-ops --sinter-outline-kernels | FileCheck %s --check-prefix=GPU
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-isolate-ops --sinter-outline-kernels | FileCheck %s --check-prefix=CPU

// What CUDA C++ calls a function of its own is no kernel's name.
// GPU: sinter.call_kernel @exp_kernel(
// CPU: sinter.call_kernel @exp(
func.func @entry(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.entry} {
  %y = sinter.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
