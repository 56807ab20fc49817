// RUN: sinter-opt %s --sinter-quantize-activations | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-activations -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// Groups, minima, four bits, numbers, a scale for several columns, and rows that might overflow.

// REMARK-COUNT-4: a product multiplies numbers: its weights are no int8 with a scale a column
// REMARK: a product multiplies numbers: its sums might overflow

// CHECK-NOT: sinter.quantize
func.func @decode(%x: tensor<1x32xf32>, %q: tensor<16x32xi8>, %groups: tensor<16x2xf32>,
                  %scales: tensor<16x1xf32>, %halves: tensor<16x32xi4>, %one: tensor<1x1xf32>,
                  %w: tensor<16x32xf32>)
    -> (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %q, %groups {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xi8>, tensor<16x2xf32>) -> tensor<1x16xf32>
  %1 = sinter.matmul %x, %q, %scales minima %scales {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xi8>, tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<1x16xf32>
  %2 = sinter.matmul %x, %halves, %scales {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xi4>, tensor<16x1xf32>) -> tensor<1x16xf32>
  %3 = sinter.matmul %x, %q, %one {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xi8>, tensor<1x1xf32>) -> tensor<1x16xf32>
  %4 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xf32>) -> tensor<1x16xf32>
  return %0, %1, %2, %3, %4 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>
}

func.func @long(%x: tensor<1x131072xf32>, %q: tensor<1x131072xi8>, %s: tensor<1x1xf32>) -> tensor<1x1xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %q, %s {transpose_rhs} : (tensor<1x131072xf32>, tensor<1x131072xi8>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
