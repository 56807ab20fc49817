// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-precision-pipeline=dtype=bf16 --sinter-global-pipeline --sinter-layout-pipeline | sinter-opt --sinter-verify-layout | FileCheck %s

// CHECK-LABEL: func.func @entry
// CHECK: sinter.pack
// CHECK: sinter.matmul
func.func @entry(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @gradient
// CHECK-COUNT-2: sinter.pack
// CHECK: sinter.matmul {{.*}} {transpose_lhs}
func.func @gradient(%x: tensor<32x8xf32>, %g: tensor<32x16xf32>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
