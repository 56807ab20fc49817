// RUN: sinter-opt %s --sinter-hoist-parameters | FileCheck %s
// RUN: sinter-opt %s --sinter-hoist-parameters %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] Hoisted | {{.*}}Function=prefill | Remark="2 values of
// REMARK: [Passed] Hoisted | {{.*}}Function=decode | Remark="1 values of

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// Both entries pack the same weight: it is preprocessed once. The scale of the norm is computed once.
// CHECK-LABEL: func.func @preprocess
// CHECK-SAME: sinter.parameter = "n"
// CHECK-SAME: sinter.parameter = "w"
// CHECK-SAME: -> (tensor<8xf32> {sinter.preprocessed = "p0"}, tensor<8x16xf32, {{.*}}> {sinter.preprocessed = "p1"}) attributes {sinter.entry}
// CHECK: sinter.add
// CHECK-COUNT-1: sinter.pack
// CHECK-NOT: sinter.pack

// CHECK-LABEL: func.func @prefill
// CHECK-NOT: sinter.parameter
// CHECK-DAG: sinter.preprocessed = "p0"
// CHECK-DAG: sinter.preprocessed = "p1"
// CHECK-NOT: sinter.pack
// CHECK: sinter.rms_norm
// CHECK: sinter.matmul
func.func @prefill(%x: tensor<4x8xf32> {sinter.input = "x"},
                   %w: tensor<8x16xf32> {sinter.parameter = "w"},
                   %n: tensor<8xf32> {sinter.parameter = "n"}) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %one = sinter.constant dense<1.0> : tensor<8xf32>
  %scale = sinter.add %n, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = sinter.rms_norm %x, %scale {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %p = sinter.pack %w : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
  %z = sinter.matmul %y, %p : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  return %z : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @decode
// CHECK-SAME: sinter.preprocessed = "p1"
// CHECK-NOT: sinter.pack
func.func @decode(%x: tensor<1x8xf32> {sinter.input = "x"},
                  %w: tensor<8x16xf32> {sinter.parameter = "w"}) -> tensor<1x16xf32>
    attributes {sinter.entry} {
  %p = sinter.pack %w : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
  %z = sinter.matmul %x, %p : (tensor<1x8xf32>, tensor<8x16xf32, #panels>) -> tensor<1x16xf32>
  return %z : tensor<1x16xf32>
}
