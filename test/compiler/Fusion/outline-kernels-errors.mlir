// RUN: sinter-opt %s --sinter-outline-kernels --verify-diagnostics

func.func @unknown_family(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected a fusion of a family of kernels, got columns}}
  %0 = sinter.fusion columns(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
