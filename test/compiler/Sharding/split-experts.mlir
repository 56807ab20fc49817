// RUN: sinter-opt %s --split-input-file --sinter-split-experts | FileCheck %s

// Gates and ups in tensors of their own: a stack of each, and a product. What is done again reads
// stacks that are made again.
// CHECK-LABEL: func.func @own_tensors(
// CHECK-DAG: %[[G0:.*]] = sinter.reshape %arg2 {sinter.recompute} : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: %[[U0:.*]] = sinter.reshape %arg3 {sinter.recompute} : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: %[[G1:.*]] = sinter.reshape %arg4 {sinter.recompute} : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: %[[U1:.*]] = sinter.reshape %arg5 {sinter.recompute} : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: %[[GATES:.*]] = sinter.concat %[[G0]], %[[G1]] {dim = 0 : i64, sinter.recompute}
// CHECK-DAG: %[[G:.*]] = sinter.cast %[[GATES]] {sinter.recompute} : (tensor<2x3x8xf32>) -> tensor<2x3x8xbf16>
// CHECK-DAG: %[[UPS:.*]] = sinter.concat %[[U0]], %[[U1]] {dim = 0 : i64, sinter.recompute}
// CHECK-DAG: %[[U:.*]] = sinter.cast %[[UPS]] {sinter.recompute} : (tensor<2x3x8xf32>) -> tensor<2x3x8xbf16>
// CHECK-DAG: %[[YG:.*]] = sinter.grouped_matmul %arg0, %[[G]], %arg1 {transpose_rhs} : (tensor<4x8xbf16>, tensor<2x3x8xbf16>, tensor<3xi32>) -> tensor<4x3xf32>
// CHECK-DAG: %[[YU:.*]] = sinter.grouped_matmul %arg0, %[[U]], %arg1 {transpose_rhs}
// CHECK-NOT: sinter.slice
// CHECK: return %[[YU]], %[[YG]]
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @own_tensors(%x: tensor<4x8xbf16> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                         %a: tensor<3x8xf32> {sinter.parameter = "g0"}, %b: tensor<3x8xf32> {sinter.parameter = "u0"},
                         %c: tensor<3x8xf32> {sinter.parameter = "g1"}, %d: tensor<3x8xf32> {sinter.parameter = "u1"})
      -> (tensor<4x3xf32> {sinter.output = "u"}, tensor<4x3xf32> {sinter.output = "g"}) attributes {sinter.entry} {
    %0 = sinter.concat %a, %b, %c, %d {dim = 0 : i64, sinter.recompute} : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<12x8xf32>
    %1 = sinter.cast %0 {sinter.recompute} : (tensor<12x8xf32>) -> tensor<12x8xbf16>
    %2 = sinter.reshape %1 {sinter.recompute} : (tensor<12x8xbf16>) -> tensor<2x6x8xbf16>
    %3 = sinter.grouped_matmul %x, %2, %o {transpose_rhs} : (tensor<4x8xbf16>, tensor<2x6x8xbf16>, tensor<3xi32>) -> tensor<4x6xf32>
    %4 = sinter.slice %3 {offsets = array<i64: 0, 3>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %5 = sinter.slice %3 {offsets = array<i64: 0, 0>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    return %4, %5 : tensor<4x3xf32>, tensor<4x3xf32>
  }
}

// -----

// One tensor, gates above ups, which divide: its parts are read, with their scales. The rounding of a
// part is that of the whole.
// CHECK-LABEL: func.func @one_tensor(
// CHECK-DAG: %[[G:.*]] = sinter.slice %arg2 {offsets = array<i64: 0, 0, 0>} : (tensor<2x8x8xi8>) -> tensor<2x4x8xi8>
// CHECK-DAG: %[[GS:.*]] = sinter.slice %arg3 {offsets = array<i64: 0, 0, 0>} : (tensor<2x8x1xf32>) -> tensor<2x4x1xf32>
// CHECK-DAG: sinter.grouped_matmul %arg0, %[[G]], %arg1 scales %[[GS]] {transpose_rhs}
// CHECK-DAG: %[[U:.*]] = sinter.slice %arg2 {offsets = array<i64: 0, 4, 0>}
// CHECK-DAG: %[[US:.*]] = sinter.slice %arg3 {offsets = array<i64: 0, 4, 0>}
// CHECK-DAG: sinter.grouped_matmul %arg0, %[[U]], %arg1 scales %[[US]] {transpose_rhs}
// CHECK-DAG: %[[W:.*]] = sinter.slice %arg4 {offsets = array<i64: 0, 0, 4>} : (tensor<2x8x8xf32>) -> tensor<2x8x4xf32>
// CHECK-DAG: %[[C:.*]] = sinter.cast %[[W]] : (tensor<2x8x4xf32>) -> tensor<2x8x4xbf16>
// CHECK-DAG: sinter.grouped_matmul %arg5, %[[C]], %arg1 : (tensor<4x8xbf16>, tensor<2x8x4xbf16>, tensor<3xi32>) -> tensor<4x4xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 4>} {
  func.func @one_tensor(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                        %q: tensor<2x8x8xi8> {sinter.parameter = "q"}, %s: tensor<2x8x1xf32> {sinter.parameter = "s"},
                        %w: tensor<2x8x8xf32> {sinter.parameter = "w"}, %y: tensor<4x8xbf16> {sinter.input = "y"})
      -> (tensor<4x4xf32> {sinter.output = "a"}, tensor<4x4xf32> {sinter.output = "b"},
          tensor<4x4xf32> {sinter.output = "c"}, tensor<4x4xf32> {sinter.output = "d"}) attributes {sinter.entry} {
    %0 = sinter.grouped_matmul %x, %q, %o scales %s {transpose_rhs} : (tensor<4x8xf32>, tensor<2x8x8xi8>, tensor<3xi32>, tensor<2x8x1xf32>) -> tensor<4x8xf32>
    %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %2 = sinter.slice %0 {offsets = array<i64: 0, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %3 = sinter.cast %w : (tensor<2x8x8xf32>) -> tensor<2x8x8xbf16>
    %4 = sinter.grouped_matmul %y, %3, %o : (tensor<4x8xbf16>, tensor<2x8x8xbf16>, tensor<3xi32>) -> tensor<4x8xf32>
    %5 = sinter.slice %4 {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %6 = sinter.slice %4 {offsets = array<i64: 0, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    return %1, %2, %5, %6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Gradients: of gates' and of ups', of which an expert's is a box; the sum over both remains one, of the
// stacks put together.
// CHECK-LABEL: func.func @gradients(
// CHECK-DAG: %[[DG:.*]] = sinter.cast %arg2 : (tensor<4x3xf32>) -> tensor<4x3xbf16>
// CHECK-DAG: %[[OG:.*]] = sinter.grouped_outer %[[DG]], %arg0, %arg1 : (tensor<4x3xbf16>, tensor<4x8xbf16>, tensor<3xi32>) -> tensor<2x3x8xf32>
// CHECK-DAG: %[[DU:.*]] = sinter.cast %arg3
// CHECK-DAG: %[[OU:.*]] = sinter.grouped_outer %[[DU]], %arg0, %arg1
// CHECK-DAG: %[[B0:.*]] = sinter.slice %[[OG]] {offsets = array<i64: 0, 0, 0>} : (tensor<2x3x8xf32>) -> tensor<1x3x8xf32>
// CHECK-DAG: %[[D0:.*]] = sinter.reshape %[[B0]] : (tensor<1x3x8xf32>) -> tensor<3x8xf32>
// CHECK-DAG: %[[B3:.*]] = sinter.slice %[[OU]] {offsets = array<i64: 1, 0, 0>}
// CHECK-DAG: %[[D3:.*]] = sinter.reshape %[[B3]]
// CHECK-DAG: %[[ALL:.*]] = sinter.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x3x8xbf16>, tensor<2x3x8xbf16>) -> tensor<2x6x8xbf16>
// CHECK-DAG: %[[DX:.*]] = sinter.grouped_matmul %{{.*}}, %[[ALL]], %arg1 : (tensor<4x6xbf16>, tensor<2x6x8xbf16>, tensor<3xi32>) -> tensor<4x8xf32>
// CHECK: return %[[DX]], %[[D0]], %[[D3]]
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @gradients(%x: tensor<4x8xbf16> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                       %dg: tensor<4x3xf32> {sinter.input = "dg"}, %du: tensor<4x3xf32> {sinter.input = "du"},
                       %a: tensor<3x8xbf16> {sinter.state = "g0"}, %b: tensor<3x8xbf16> {sinter.state = "u0"},
                       %c: tensor<3x8xbf16> {sinter.state = "g1"}, %d: tensor<3x8xbf16> {sinter.state = "u1"})
      -> (tensor<4x8xf32> {sinter.output = "dx"}, tensor<3x8xf32> {sinter.output = "d0"}, tensor<3x8xf32> {sinter.output = "d3"})
      attributes {sinter.entry} {
    %0 = sinter.concat %dg, %du {dim = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
    %1 = sinter.cast %0 : (tensor<4x6xf32>) -> tensor<4x6xbf16>
    %2 = sinter.concat %a, %b, %c, %d {dim = 0 : i64} : (tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>) -> tensor<12x8xbf16>
    %3 = sinter.reshape %2 : (tensor<12x8xbf16>) -> tensor<2x6x8xbf16>
    %4 = sinter.grouped_matmul %1, %3, %o : (tensor<4x6xbf16>, tensor<2x6x8xbf16>, tensor<3xi32>) -> tensor<4x8xf32>
    %5 = sinter.grouped_outer %1, %x, %o : (tensor<4x6xbf16>, tensor<4x8xbf16>, tensor<3xi32>) -> tensor<2x6x8xf32>
    %6 = sinter.reshape %5 : (tensor<2x6x8xf32>) -> tensor<12x8xf32>
    %7 = sinter.slice %6 {offsets = array<i64: 0, 0>} : (tensor<12x8xf32>) -> tensor<3x8xf32>
    %8 = sinter.slice %6 {offsets = array<i64: 9, 0>} : (tensor<12x8xf32>) -> tensor<3x8xf32>
    return %4, %7, %8 : tensor<4x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  }
}
