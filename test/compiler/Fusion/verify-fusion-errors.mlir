// RUN: sinter-opt %s --sinter-verify-fusion --split-input-file --verify-diagnostics

func.func @loose(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only kernels, collectives, library products, packings, reshapes and constants in an entry after Fusion}}
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @not_outlined(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only kernels, collectives}}
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{got "attention" with 0 products, 0 attentions and 1 gradients of attention}}
func.func private @gradient(%q: tensor<1x4x2x4xf32>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x4xf32>
    attributes {sinter.kernel = "attention"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>)
  return %0#0 : tensor<1x4x2x4xf32>
}

// -----

// expected-error @below {{expected a kernel of kind rows, gemm with one product, attention with one attention or attention_grad with one attention's gradient, got "gemm" with 0 products, 0 attentions and 0 gradients of attention}}
func.func private @no_product(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
