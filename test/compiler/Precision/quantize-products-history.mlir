// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-products="scales=history history=4" | FileCheck %s
// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-products="scales=history history=4 margin=3" | FileCheck %s --check-prefix=MARGIN

// The activation, the weight and the gradient have a row each; what the backward pass computes again
// has that of what it is. The scales are there before anything is computed, and so no reduction stands
// between a value and its bytes.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[X:[^ ]*]]: tensor<4x8xf32> {{{[^}]*}}}, %[[W:[^ ]*]]: tensor<8x6xf32>
// CHECK-SAME: %[[HISTORY:[^ ]*]]: tensor<3x4xf32> {sinter.donated = 1 : i64, sinter.state = "amax_history.w"}
// CHECK: %[[MAXIMA:.*]] = sinter.reduce max %[[HISTORY]] : (tensor<3x4xf32>) -> tensor<3xf32>
// CHECK: %[[ROW:.*]] = sinter.slice %[[MAXIMA]] {offsets = array<i64: 0>}
// CHECK: %[[MAXIMUM:.*]] = sinter.reshape %[[ROW]]
// CHECK: %[[LARGEST:.*]] = sinter.constant dense<4.480000e+02>
// CHECK: %[[FACTOR:.*]] = sinter.div %[[LARGEST]], %[[MAXIMUM]]
// CHECK: sinter.where_finite %[[FACTOR]], %[[MAXIMUM]], %
// CHECK: %[[ONE:.*]] = sinter.constant dense<1.000000e+00>
// CHECK: %[[XFACTOR:.*]] = sinter.where_finite %[[FACTOR]], %[[FACTOR]], %[[ONE]]
// CHECK: %[[GLARGEST:.*]] = sinter.constant dense<5.734400e+04>
// CHECK: %[[GFACTOR:.*]] = sinter.div %[[GLARGEST]]
// CHECK: sinter.where_finite %[[GFACTOR]], %[[GFACTOR]], %
// CHECK: %[[A:.*]] = sinter.tanh %[[X]]
// CHECK-NEXT: %[[FACTORS:.*]] = sinter.broadcast %[[XFACTOR]]
// CHECK-NEXT: %[[SCALED:.*]] = sinter.mul %[[A]], %[[FACTORS]]
// CHECK: %[[BELOW:.*]] = sinter.minimum %[[SCALED]]
// CHECK: %[[CLAMPED:.*]] = sinter.maximum %[[BELOW]]
// CHECK: %[[KEPT:.*]] = sinter.where_finite %[[A]], %[[CLAMPED]], %[[SCALED]]
// CHECK: sinter.cast %[[KEPT]] : (tensor<4x8xf32>) -> tensor<4x8xf8E4M3FN>
// CHECK: sinter.reduce max %{{.*}} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[AMAX:.*]] = sinter.reduce max %{{.*}} : (tensor<4xf32>) -> tensor<f32>
// CHECK: %[[AGAIN:.*]] = sinter.tanh %[[X]] {sinter.recompute}
// CHECK-NEXT: %[[SAME:.*]] = sinter.broadcast %[[XFACTOR]]
// CHECK-NEXT: sinter.mul %[[AGAIN]], %[[SAME]]
// CHECK: %[[FIRST:.*]] = sinter.reshape %[[AMAX]]
// CHECK: %[[ALL:.*]] = sinter.concat %[[FIRST]], %{{.*}}, %{{.*}} {dim = 0 : i64}
// CHECK: %[[FINITE:.*]] = sinter.where_finite %[[ALL]], %[[ALL]], %
// CHECK: %[[LAST:.*]] = sinter.reshape %[[FINITE]] : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK: %[[YOUNGER:.*]] = sinter.slice %[[HISTORY]] {offsets = array<i64: 0, 0>} : (tensor<3x4xf32>) -> tensor<3x3xf32>
// CHECK: %[[NEXT:.*]] = sinter.concat %[[LAST]], %[[YOUNGER]] {dim = 1 : i64}
// CHECK: return %{{.*}}, %[[NEXT]]

// MARGIN: %[[MAXIMA:.*]] = sinter.reduce max
// MARGIN: %[[MAXIMUM:.*]] = sinter.reshape
// MARGIN: %[[ROOM:.*]] = sinter.constant dense<8.000000e+00>
// MARGIN: %[[MAGNITUDE:.*]] = sinter.mul %[[MAXIMUM]], %[[ROOM]]
// MARGIN: sinter.div %{{.*}}, %[[MAGNITUDE]]
func.func @train_step(%x: tensor<4x8xf32> {sinter.input = "x"},
                      %w: tensor<8x6xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>, sinter.donated = 0 : i64},
                      %head: tensor<6x5xf32> {sinter.state = "head", sinter.role = #sinter.role<parameter>},
                      %dy: tensor<4x6xf32> {sinter.input = "dy"})
    -> (tensor<8x6xf32> {sinter.state = "w"}) attributes {sinter.entry} {
  %a = sinter.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("layer")
  %0 = sinter.matmul %a, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("layer")
  %1 = sinter.matmul %0, %head : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32> loc("head")
  %g = sinter.mul %0, %dy : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32> loc(fused<"backward">["layer"])
  %dx = sinter.matmul %g, %w {transpose_rhs} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32> loc(fused<"backward">["layer"])
  %again = sinter.tanh %x {sinter.recompute} : (tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused<"recompute">["layer"])
  %dw = sinter.matmul %again, %g {transpose_lhs} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32> loc(fused<"backward">["layer"])
  %next = sinter.sub %w, %dw : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32> loc(fused<"optimizer">["w"])
  return %next : tensor<8x6xf32>
}

// -----

// Where a step has many microbatches their maxima are a state, and the ranks along data have one each.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: %[[HISTORY:[^ ]*]]: tensor<3x4xf32> {sinter.state = "amax_history.w"}
// CHECK-SAME: %[[SOFAR:[^ ]*]]: tensor<3xf32> {sinter.donated = 1 : i64, sinter.state = "amax.w"}
// CHECK: %[[NEXT:.*]] = sinter.maximum %[[SOFAR]], %
// CHECK: return %{{.*}}, %[[NEXT]]
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[SOFAR:[^ ]*]]: tensor<3xf32> {sinter.donated = 2 : i64, sinter.state = "amax.w"}
// CHECK-SAME: %[[HISTORY:[^ ]*]]: tensor<3x4xf32> {sinter.donated = 1 : i64, sinter.state = "amax_history.w"}
// CHECK: %[[GATHERED:.*]] = sinter.all_gather ["data"] %[[SOFAR]] : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: %[[RANKS:.*]] = sinter.transpose %[[GATHERED]]
// CHECK: %[[ALL:.*]] = sinter.reduce max %[[RANKS]] : (tensor<3x2xf32>) -> tensor<3xf32>
// CHECK: %[[LAST:.*]] = sinter.reshape %[[ALL]]
// CHECK: %[[NEXT:.*]] = sinter.concat %[[LAST]], %
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: return %{{.*}}, %[[NEXT]], %[[ZERO]]
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @accumulate(%x: tensor<4x8xf32> {sinter.input = "x"},
                        %w: tensor<8x6xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>},
                        %head: tensor<6x5xf32> {sinter.state = "head", sinter.role = #sinter.role<parameter>},
                        %dy: tensor<4x6xf32> {sinter.input = "dy"})
      -> (tensor<8x6xf32> {sinter.output = "dw"}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %1 = sinter.matmul %0, %head : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %g = sinter.mul %0, %dy : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32> loc(fused<"backward">["layer"])
    %dx = sinter.matmul %g, %w {transpose_rhs} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32> loc(fused<"backward">["layer"])
    %dw = sinter.matmul %x, %g {transpose_lhs} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32> loc(fused<"backward">["layer"])
    return %dw : tensor<8x6xf32>
  }
  func.func @update(%w: tensor<8x6xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>, sinter.donated = 0 : i64})
      -> (tensor<8x6xf32> {sinter.state = "w"}) attributes {sinter.entry} {
    %next = sinter.neg %w : (tensor<8x6xf32>) -> tensor<8x6xf32> loc(fused<"optimizer">["w"])
    return %next : tensor<8x6xf32>
  }
}
