// RUN: sinter-opt %s --sinter-quantize-activations | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-activations -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: 2 products of decode multiply int8: rows of 1 values are rounded to it
// RUN: sinter-opt %s --sinter-quantize-activations=activations=fp8 | FileCheck %s --check-prefix=FP8

// Processors sum integers by groups, too.
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-quantize-activations | FileCheck %s --check-prefix=GROUPS
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-quantize-activations -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-activations | FileCheck %s --check-prefix=GPU

// WORDS: a product multiplies numbers: its weights are no integers in groups of whole words

// GPU-LABEL: func.func @groups
// GPU-NOT: sinter.quantize
// GPU-LABEL: func.func @decode

// GROUPS-LABEL: func.func @groups
// GROUPS: %[[Q:.*]], %[[R:.*]] = sinter.quantize %arg0
// GROUPS: sinter.matmul %[[Q]], %arg1, %arg2 minima %arg2 rows %[[R]] {transpose_rhs}
// GROUPS: sinter.matmul %[[Q]], %arg3, %arg2 rows %[[R]] {transpose_rhs}
// GROUPS: sinter.matmul %arg0, %arg3, %arg4 {transpose_rhs}
func.func @groups(%x: tensor<3x24xf32>, %a: tensor<16x24xi4>, %s: tensor<16x6xf32>, %b: tensor<16x24xi8>, %t: tensor<16x4xf32>)
    -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %s minima %s {transpose_rhs} : (tensor<3x24xf32>, tensor<16x24xi4>, tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<3x16xf32>
  %1 = sinter.matmul %x, %b, %s {transpose_rhs} : (tensor<3x24xf32>, tensor<16x24xi8>, tensor<16x6xf32>) -> tensor<3x16xf32>
  %2 = sinter.matmul %x, %b, %t {transpose_rhs} : (tensor<3x24xf32>, tensor<16x24xi8>, tensor<16x4xf32>) -> tensor<3x16xf32>
  return %0, %1, %2 : tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>
}

// Rows of the weights' own type; others stay.
// FP8-LABEL: func.func @decode
// FP8-NOT: sinter.quantize
// FP8-LABEL: func.func @floats
// FP8: %[[Q:.*]], %[[R:.*]] = sinter.quantize %arg0 : (tensor<3x32xf32>) -> (tensor<3x32xf8E4M3FN>, tensor<3x1xf32>)
// FP8: sinter.matmul %[[Q]], %arg1, %arg2 rows %[[R]] {transpose_rhs}

// What two products multiply is quantized once, where it is defined.
// CHECK-LABEL: func.func @decode
// CHECK: %[[Q:.*]], %[[R:.*]] = sinter.quantize %arg0 : (tensor<2x3x32xf32>) -> (tensor<2x3x32xi8>, tensor<2x3x1xf32>)
// CHECK: sinter.matmul %[[Q]], %arg1, %arg2 rows %[[R]] {transpose_rhs} : (tensor<2x3x32xi8>, tensor<16x32xi8>, tensor<16x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
// CHECK: sinter.matmul %[[Q]], %arg3, %arg4 rows %[[R]] : (tensor<2x3x32xi8>, tensor<32x8xi8>, tensor<1x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
func.func @decode(%x: tensor<2x3x32xf32>, %a: tensor<16x32xi8>, %as: tensor<16x1xf32>,
                  %b: tensor<32x8xi8>, %bs: tensor<1x8xf32>)
    -> (tensor<2x3x16xf32>, tensor<2x3x8xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as {transpose_rhs} : (tensor<2x3x32xf32>, tensor<16x32xi8>, tensor<16x1xf32>) -> tensor<2x3x16xf32>
  %1 = sinter.matmul %x, %b, %bs : (tensor<2x3x32xf32>, tensor<32x8xi8>, tensor<1x8xf32>) -> tensor<2x3x8xf32>
  return %0, %1 : tensor<2x3x16xf32>, tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @floats
// CHECK-NOT: sinter.quantize
func.func @floats(%x: tensor<3x32xf32>, %w: tensor<16x32xf8E4M3FN>, %s: tensor<16x1xf32>) -> tensor<3x16xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<3x32xf32>, tensor<16x32xf8E4M3FN>, tensor<16x1xf32>) -> tensor<3x16xf32>
  return %0 : tensor<3x16xf32>
}
