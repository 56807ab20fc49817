// RUN: sinter-opt %s --sinter-isolate-ops --verify-diagnostics

func.func @foreign(%x: tensor<2xf32>) -> tensor<2xf32> attributes {sinter.entry} {
  // expected-error @below {{expected an op that can be a kernel}}
  %0 = arith.negf %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
