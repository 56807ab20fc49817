// RUN: sinter-opt %s --split-input-file --sinter-seed-shardings --sinter-partition --cse | FileCheck %s
// RUN: sinter-opt %s --split-input-file %remarks --sinter-seed-shardings --sinter-partition -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Columns of integers are split with their scales and minima; what the next product multiplies is
// gathered, as k is not split: no group is cut.
// CHECK-LABEL: func.func @groups(
// CHECK-DAG: %[[Q:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x3x8xi4>) -> tensor<3x8xi4>
// CHECK-DAG: %[[S:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x3x2xf16>) -> tensor<3x2xf16>
// CHECK-DAG: %[[M:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x3x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[UP:.*]] = sinter.matmul %arg0, %[[Q]], %[[S]] minima %[[M]] {transpose_rhs} : (tensor<1x8xf32>, tensor<3x8xi4>, tensor<3x2xf16>, tensor<3x2xf32>) -> tensor<1x3xf32>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["tensor"] %[[UP]]
// CHECK: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x6xf32>, tensor<4x6xi8>, tensor<4x1xf32>) -> tensor<1x4xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @groups(%x: tensor<1x8xf32> {sinter.input = "x"}, %q: tensor<6x8xi4> {sinter.parameter = "q"},
                    %s: tensor<6x2xf16> {sinter.parameter = "s"}, %m: tensor<6x2xf32> {sinter.parameter = "m"},
                    %dq: tensor<8x6xi8> {sinter.parameter = "dq"}, %ds: tensor<8x1xf32> {sinter.parameter = "ds"})
      -> (tensor<1x8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %q, %s minima %m {transpose_rhs} : (tensor<1x8xf32>, tensor<6x8xi4>, tensor<6x2xf16>, tensor<6x2xf32>) -> tensor<1x6xf32>
    %1 = sinter.matmul %0, %dq, %ds {transpose_rhs} : (tensor<1x6xf32>, tensor<8x6xi8>, tensor<8x1xf32>) -> tensor<1x8xf32>
    return %1 : tensor<1x8xf32>
  }
}

// -----

// Rows of bytes are rounded whole, each by every rank. Columns that do not divide are padded, and so are
// their scales.
// CHECK-LABEL: func.func @rows(
// CHECK: sinter.concat %arg1, %{{.*}} {dim = 0 : i64} : (tensor<5x8xi8>, tensor<1x8xi8>) -> tensor<6x8xi8>
// CHECK: sinter.concat %arg2, %{{.*}} {dim = 0 : i64} : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<6x1xf32>
// CHECK: %[[ROUNDED:.*]], %[[SCALES:.*]] = sinter.quantize %arg0 : (tensor<4x8xf32>) -> (tensor<4x8xi8>, tensor<4x1xf32>)
// CHECK: sinter.matmul %[[ROUNDED]], %{{.*}}, %{{.*}} rows %[[SCALES]] {transpose_rhs} : (tensor<4x8xi8>, tensor<3x8xi8>, tensor<3x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @rows(%x: tensor<4x8xf32> {sinter.input = "x"}, %q: tensor<5x8xi8> {sinter.parameter = "q"},
                  %s: tensor<5x1xf32> {sinter.parameter = "s"})
      -> (tensor<4x5xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0:2 = sinter.quantize %x : (tensor<4x8xf32>) -> (tensor<4x8xi8>, tensor<4x1xf32>)
    %1 = sinter.matmul %0#0, %q, %s rows %0#1 {transpose_rhs} : (tensor<4x8xi8>, tensor<5x8xi8>, tensor<5x1xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
    return %1 : tensor<4x5xf32>
  }
}

// -----

// A rank rounds its own columns alone, of a fused matrix those of each part.
// CHECK-LABEL: func.func @rounded(
// CHECK: %[[K:.*]] = sinter.slice %arg1 {offsets = array<i64: 0, 4>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
// CHECK: %[[OWN:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x8x2xf32>) -> tensor<8x2xf32>
// CHECK: %[[ROWS:.*]] = sinter.transpose %[[OWN]]
// CHECK: %[[LARGEST:.*]] = sinter.reduce max %{{.*}} : (tensor<2x2x4xf32>) -> tensor<2x2xf32>
// CHECK: sinter.matmul %arg0, %{{.*}}, %[[LARGEST]] {transpose_rhs} : (tensor<1x8xf32>, tensor<2x8xi8>, tensor<2x2xf32>) -> tensor<1x2xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @rounded(%x: tensor<1x8xf32> {sinter.input = "x"}, %w: tensor<8x8xf32> {sinter.parameter = "w"})
      -> (tensor<1x4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.slice %w {offsets = array<i64: 0, 4>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %2 = sinter.reshape %1 : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
    %3 = sinter.neg %2 : (tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
    %4 = sinter.maximum %2, %3 : (tensor<4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
    %5 = sinter.reduce max %4 : (tensor<4x2x4xf32>) -> tensor<4x2xf32>
    %6 = sinter.broadcast %5 {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<4x2x4xf32>
    %7 = sinter.div %2, %6 : (tensor<4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
    %8 = sinter.cast %7 : (tensor<4x2x4xf32>) -> tensor<4x2x4xi8>
    %9 = sinter.reshape %8 : (tensor<4x2x4xi8>) -> tensor<4x8xi8>
    %10 = sinter.matmul %x, %9, %5 {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xi8>, tensor<4x2xf32>) -> tensor<1x4xf32>
    return %10 : tensor<1x4xf32>
  }
}

// -----

// Blocks of columns are split where the ranks get equal numbers of them, else none is cut: of one row
// every rank computes all, of eight each its own. One scale of all is everybody's.
// CHECK-LABEL: func.func @blocks(
// CHECK: sinter.matmul %arg0, %{{.*}}, %{{.*}} : (tensor<1x8xf32>, tensor<8x6xf8E4M3FN>, tensor<2x1xf32>) -> tensor<1x6xf32>
// CHECK: sinter.matmul %arg0, %arg4, %arg5 : (tensor<1x8xf32>, tensor<8x12xf8E4M3FN>, tensor<2x3xf32>) -> tensor<1x12xf32>
// CHECK: sinter.matmul %{{.*}}, %arg4, %arg5 : (tensor<4x8xf32>, tensor<8x12xf8E4M3FN>, tensor<2x3xf32>) -> tensor<4x12xf32>
// CHECK: sinter.matmul %arg0, %{{.*}}, %arg6 : (tensor<1x8xf32>, tensor<8x6xf8E4M3FN>, tensor<1x1xf32>) -> tensor<1x6xf32>
// REMARK-COUNT-1: every rank computes all of sinter.matmul: 12, 3, 12 elements of its tensors belong together, and do not divide over 2 ranks of the axis tensor
// REMARK-NOT: belong together
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @blocks(%x: tensor<1x8xf32> {sinter.input = "x"}, %many: tensor<8x8xf32> {sinter.input = "many"},
                    %q: tensor<8x12xf8E4M3FN> {sinter.parameter = "q"}, %s: tensor<2x2xf32> {sinter.parameter = "s"},
                    %odd: tensor<8x12xf8E4M3FN> {sinter.parameter = "odd"}, %three: tensor<2x3xf32> {sinter.parameter = "three"},
                    %one: tensor<1x1xf32> {sinter.parameter = "one"})
      -> (tensor<1x12xf32> {sinter.output = "a"}, tensor<1x12xf32> {sinter.output = "b"}, tensor<8x12xf32> {sinter.output = "c"},
          tensor<1x12xf32> {sinter.output = "d"}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %q, %s : (tensor<1x8xf32>, tensor<8x12xf8E4M3FN>, tensor<2x2xf32>) -> tensor<1x12xf32>
    %1 = sinter.matmul %x, %odd, %three : (tensor<1x8xf32>, tensor<8x12xf8E4M3FN>, tensor<2x3xf32>) -> tensor<1x12xf32>
    %2 = sinter.matmul %many, %odd, %three : (tensor<8x8xf32>, tensor<8x12xf8E4M3FN>, tensor<2x3xf32>) -> tensor<8x12xf32>
    %3 = sinter.matmul %x, %q, %one : (tensor<1x8xf32>, tensor<8x12xf8E4M3FN>, tensor<1x1xf32>) -> tensor<1x12xf32>
    return %0, %1, %2, %3 : tensor<1x12xf32>, tensor<1x12xf32>, tensor<8x12xf32>, tensor<1x12xf32>
  }
}

// -----

// Of a table of integers that is the head, too, ranks have rows: those that a rank does not hold are
// zeros, and the sum of the ranks' is exact.
// CHECK-LABEL: func.func @tied(
// CHECK: %[[START:.*]] = sinter.all_slice ["tensor"] %{{.*}} : (tensor<2x1xi32>) -> tensor<1xi32>
// CHECK: %[[FOUND:.*]] = sinter.embedding %[[Q:.*]], %arg2, %[[START]] : (tensor<128x8xi8>, tensor<3xi32>, tensor<1xi32>) -> tensor<3x8xi8>
// CHECK: %[[ALL:.*]] = sinter.all_gather ["tensor"] %[[FOUND]] : (tensor<3x8xi8>) -> tensor<2x3x8xi8>
// CHECK: sinter.sum_parts %[[ALL]] : (tensor<2x3x8xi8>) -> tensor<3x8xi8>
// CHECK: sinter.embedding %[[S:.*]], %arg2, %[[START]] : (tensor<128x1xf16>, tensor<3xi32>, tensor<1xi32>) -> tensor<3x1xf16>
// CHECK: sinter.sum_parts
// CHECK: sinter.matmul %{{.*}}, %[[Q]], %[[S]] {transpose_rhs}
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @tied(%q: tensor<255x8xi8> {sinter.parameter = "q"}, %s: tensor<255x1xf16> {sinter.parameter = "s"},
                  %ids: tensor<3xi32> {sinter.input = "ids"}) -> (tensor<3x255xf32> {sinter.output = "y"}) attributes {sinter.entry} {
    %0 = sinter.embedding %q, %ids : (tensor<255x8xi8>, tensor<3xi32>) -> tensor<3x8xi8>
    %1 = sinter.cast %0 : (tensor<3x8xi8>) -> tensor<3x8xf32>
    %2 = sinter.embedding %s, %ids : (tensor<255x1xf16>, tensor<3xi32>) -> tensor<3x1xf16>
    %3 = sinter.reshape %2 : (tensor<3x1xf16>) -> tensor<3xf16>
    %4 = sinter.cast %3 : (tensor<3xf16>) -> tensor<3xf32>
    %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x8xf32>
    %6 = sinter.mul %1, %5 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %7 = sinter.matmul %6, %q, %s {transpose_rhs} : (tensor<3x8xf32>, tensor<255x8xi8>, tensor<255x1xf16>) -> tensor<3x255xf32>
    return %7 : tensor<3x255xf32>
  }
}
