// RUN: sinter-opt %s --sinter-quantize-weights | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-weights="weights=int8" -o - | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-weights="weights=int8" -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// A table, a k that is no multiple of the group, what is trained, and what is no weight. A weight
// that stays in one entry stays in all.

// REMARK-DAG: 't' stays as it is: it is a table, too
// REMARK-DAG: 'odd' stays as it is: k is no multiple of the group
// REMARK-DAG: 'router' stays as it is: it chooses experts
// REMARK-DAG: 'narrow' stays as it is: an expert's columns are no whole panels
// REMARK-DAG: 'shared' stays as it is: it is the last product's

// CHECK-NOT: xi8>
// CHECK: func.func @table
func.func @table(%ids: tensor<1xi32>, %t: tensor<64x32xf32> {sinter.parameter = "t"},
                 %odd: tensor<32x40xf32> {sinter.parameter = "odd"},
                 %shared: tensor<32x32xf32> {sinter.parameter = "shared"})
    -> tensor<1x32xf32> attributes {sinter.entry} {
  %0 = sinter.embedding %t, %ids : (tensor<64x32xf32>, tensor<1xi32>) -> tensor<1x32xf32>
  %1 = sinter.matmul %0, %t {transpose_rhs} : (tensor<1x32xf32>, tensor<64x32xf32>) -> tensor<1x64xf32>
  %2 = sinter.slice %1 {offsets = array<i64: 0, 0>} : (tensor<1x64xf32>) -> tensor<1x40xf32>
  %3 = sinter.matmul %2, %odd {transpose_rhs} : (tensor<1x40xf32>, tensor<32x40xf32>) -> tensor<1x32xf32>
  %4 = sinter.matmul %3, %shared {transpose_rhs} : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
  return %4 : tensor<1x32xf32>
}

// CHECK: func.func @inner
func.func @inner(%x: tensor<1x32xf32>, %shared: tensor<32x32xf32> {sinter.parameter = "shared"},
                 %s: tensor<32x32xf32> {sinter.state = "s"})
    -> tensor<1x32xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %shared {transpose_rhs} : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
  %1 = sinter.matmul %0, %s {transpose_rhs} : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
  return %1 : tensor<1x32xf32>
}
// CHECK: func.func @experts
func.func @experts(%x: tensor<2x32xf32>, %router: tensor<3x32xf32> {sinter.parameter = "router"},
                   %narrow: tensor<3x24x32xf32> {sinter.parameter = "narrow"})
    -> tensor<4x24xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %router {transpose_rhs} : (tensor<2x32xf32>, tensor<3x32xf32>) -> tensor<2x3xf32>
  %1 = sinter.sigmoid %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %values, %ids = sinter.top_k %1 : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %order, %tokens, %places, %offsets = sinter.route %ids : (tensor<2x2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<4xi32>)
  %rows = sinter.dispatch %x, %tokens, %places : (tensor<2x32xf32>, tensor<4xi32>, tensor<2x2xi32>) -> tensor<4x32xf32>
  %y = sinter.grouped_matmul %rows, %narrow, %offsets {transpose_rhs} : (tensor<4x32xf32>, tensor<3x24x32xf32>, tensor<4xi32>) -> tensor<4x24xf32>
  return %y : tensor<4x24xf32>
}
// CHECK-NOT: xi8>
