// RUN: sinter-opt %s --sinter-verify-fusion --split-input-file --verify-diagnostics

func.func @loose(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only kernels, library products, packings, reshapes and constants in an entry after Fusion}}
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @not_outlined(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only kernels, library products}}
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{expected a kernel of kind rows, gemm with one product, attention with one attention or attention_grad with one attention's gradient, got "gemm" with 0 products, 0 attentions and 0 gradients of attention}}
func.func private @no_product(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
