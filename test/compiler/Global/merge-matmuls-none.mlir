// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] NotMerged | {{.*}}Function=used_differently | Remark="2 products of one left-hand side stay apart: their results are used differently"
// REMARK-NOT: Merged

// One result is only rearranged, the other has an epilogue.
// CHECK-LABEL: func.func @used_differently
// CHECK-COUNT-2: sinter.matmul
func.func @used_differently(%x: tensor<4x8xf32>, %wa: tensor<8x16xf32> {sinter.parameter = "a"},
                            %wb: tensor<8x16xf32> {sinter.parameter = "b"})
    -> (tensor<64xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %a = sinter.matmul %x, %wa : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = sinter.matmul %x, %wb : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %r = sinter.reshape %a : (tensor<4x16xf32>) -> tensor<64xf32>
  %g = sinter.gelu %b : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r, %g : tensor<64xf32>, tensor<4x16xf32>
}

// A right-hand side that is no parameter would have to be packed in every step.
// CHECK-LABEL: func.func @computed_weights
// CHECK-COUNT-2: sinter.matmul
func.func @computed_weights(%x: tensor<4x8xf32>, %wa: tensor<8x16xf32> {sinter.input = "a"},
                            %wb: tensor<8x16xf32> {sinter.input = "b"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %a = sinter.matmul %x, %wa : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = sinter.matmul %x, %wb : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %a, %b : tensor<4x16xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @transposed_rows
// CHECK-COUNT-2: sinter.matmul
func.func @transposed_rows(%x: tensor<8x4xf32>, %wa: tensor<8x16xf32> {sinter.parameter = "a"},
                           %wb: tensor<8x16xf32> {sinter.parameter = "b"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %a = sinter.matmul %x, %wa {transpose_lhs} : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = sinter.matmul %x, %wb {transpose_lhs} : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %a, %b : tensor<4x16xf32>, tensor<4x16xf32>
}
