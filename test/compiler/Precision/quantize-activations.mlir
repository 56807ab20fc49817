// RUN: sinter-opt %s --sinter-quantize-activations | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-activations -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: 2 products of decode sum integers: rows of 1 values are rounded to 8 bits

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
