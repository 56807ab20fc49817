// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-assign-compute-type=compute-type=bf16 --split-input-file | FileCheck %s --check-prefixes=ALL,TILES
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:cooperlake --sinter-assign-compute-type=compute-type=bf16 --split-input-file | FileCheck %s --check-prefixes=ALL,WIDE
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-assign-compute-type=compute-type=f16 --split-input-file | FileCheck %s --check-prefixes=ALL,WIDE
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-assign-compute-type=compute-type=f32 --split-input-file | FileCheck %s --check-prefixes=ALL,WIDE

// Matrix units of a processor multiply bf16, of whole steps of 32.
// ALL-LABEL: func.func @attention
// TILES: sinter.attention {{.*}} : (tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>) -> tensor<1x64x2x64xf32>
// WIDE: sinter.attention {{.*}} : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>) -> tensor<1x64x2x64xf32>
func.func @attention(%q: tensor<1x64x2x64xf32>) -> tensor<1x64x2x64xf32> attributes {sinter.entry} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>) -> tensor<1x64x2x64xf32>
  return %0 : tensor<1x64x2x64xf32>
}

// -----

// The logsumexp and delta stay f32.
// ALL-LABEL: func.func @gradient
// TILES: sinter.attention_grad {{.*}} : (tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2xf32>, tensor<1x64x2xf32>) -> (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>)
// WIDE: sinter.attention_grad {{.*}} : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>,
func.func @gradient(%q: tensor<1x64x2x64xf32>, %l: tensor<1x64x2xf32>) -> tensor<1x64x2x64xf32> attributes {sinter.entry} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2xf32>, tensor<1x64x2xf32>)
    -> (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>)
  return %0#0 : tensor<1x64x2x64xf32>
}

// -----

// A head of 80 is no whole steps.
// ALL-LABEL: func.func @part_of_a_step
// ALL: sinter.attention {{.*}} : (tensor<1x64x2x80xf32>, tensor<1x64x2x80xf32>, tensor<1x64x2x80xf32>) -> tensor<1x64x2x80xf32>
func.func @part_of_a_step(%q: tensor<1x64x2x80xf32>) -> tensor<1x64x2x80xf32> attributes {sinter.entry} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x64x2x80xf32>, tensor<1x64x2x80xf32>, tensor<1x64x2x80xf32>) -> tensor<1x64x2x80xf32>
  return %0 : tensor<1x64x2x80xf32>
}
