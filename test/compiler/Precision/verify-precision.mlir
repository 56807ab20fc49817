// RUN: sinter-opt %s --sinter-precision-pipeline=dtype=bf16 | sinter-opt --sinter-verify-precision --sinter-verify-global | FileCheck %s

// Types alone are chosen: nothing has a layout, no weight is merged or packed.
// CHECK-LABEL: func.func @entry
// CHECK-COUNT-2: sinter.matmul {{.*}} {transpose_rhs} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xf32>
func.func @entry(%x: tensor<4x8xf32>, %v: tensor<16x8xf32> {sinter.parameter = "v"},
                 %w: tensor<16x8xf32> {sinter.parameter = "w"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %y = sinter.matmul %x, %v {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %z = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return %y, %z : tensor<4x16xf32>, tensor<4x16xf32>
}
