// RUN: sinter-opt %s --sinter-verify-fusion --split-input-file --verify-diagnostics

func.func @loose(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only kernels, collectives, fusions that are commands, reshapes and constants in an entry after Fusion}}
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

// expected-error @below {{got one of attention with 0 of its own and 1 of others}}
func.func private @gradient(%q: tensor<1x4x2x4xf32>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x4xf32>
    attributes {sinter.kernel = "attention"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>)
  return %0#0 : tensor<1x4x2x4xf32>
}

// -----

// expected-error @below {{expected a kernel of rows without an op that another family is made around, or of another family with one of its own, got one of gemm with 0 of its own and 0 of others}}
func.func private @no_product(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{got one of rows with 0 of its own and 1 of others}}
func.func private @sample_in_rows(%l: tensor<1x8xf32>, %f: tensor<1xf32>, %i: tensor<1xi32>, %s: tensor<1x2xi32>) -> tensor<1xi32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i
      : (tensor<1x8xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// -----

// expected-error @below {{expected a family that is launched, got pack}}
func.func private @pack(%x: tensor<8x64xf32>) -> tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>> attributes {sinter.kernel = "pack"} {
  %0 = sinter.pack %x : (tensor<8x64xf32>) -> tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
  return %0 : tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
}

// -----

// expected-error @below {{expected a family of kernels as sinter.kernel, got "columns"}}
func.func private @unknown_family(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "columns"} {
  return %x : tensor<8xf32>
}
