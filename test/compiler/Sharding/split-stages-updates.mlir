// RUN: sinter-opt %s --sinter-split-stages=microbatches=4 | FileCheck %s

// An optimizer that looks at all gradients before it changes a parameter: what it found comes back
// from the last stage. Where one op takes that and another only what a rank has of a state, both are
// of the state's stage: nothing goes to the last stage again.

// CHECK-LABEL: func.func @update.0.forward(
// CHECK: sinter.reduce sum
// CHECK: sinter.all_slice

// What is sent is the scale, not as many copies of it as a parameter has elements.
// CHECK-LABEL: func.func @update.0.backward(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {sinter.receive = array<i64: 1, 2>}
// CHECK: sinter.broadcast %[[SCALE]]
// CHECK: %[[SCALED:.*]] = sinter.mul
// CHECK: sinter.where_finite %{{.*}}, %[[SCALED]], %{{.*}}

// CHECK-LABEL: func.func @update.1.forward(
// CHECK: %[[SUM:.*]] = sinter.add
// CHECK: sinter.broadcast %[[SUM]]
// CHECK: sinter.where_finite
// CHECK: return %[[SUM]], %{{.*}}
module attributes {sinter.grid = #sinter.grid<data = 2, pipeline = 2>} {
  func.func @evaluate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                      %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                      %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}) attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    return %z : tensor<4x4xf32>
  }
  func.func @update(%w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                    %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                    %g0: tensor<4x4xf32> {sinter.state = "gradient.w.0", sinter.role = #sinter.role<gradient>},
                    %g1: tensor<4x4xf32> {sinter.state = "gradient.w.1", sinter.role = #sinter.role<gradient>},
                    %m0: tensor<2x4x4xf32> {sinter.state = "momentum.w.0", sinter.role = #sinter.role<optimizer>})
      -> (tensor<4x4xf32> {sinter.state = "w.0"}, tensor<4x4xf32> {sinter.state = "w.1"}) attributes {sinter.entry} {
    %r0 = sinter.reduce sum %g0 : (tensor<4x4xf32>) -> tensor<4xf32> loc(fused<"optimizer">["w.0"])
    %n0 = sinter.reduce sum %r0 : (tensor<4xf32>) -> tensor<f32> loc(fused<"optimizer">["w.0"])
    %r1 = sinter.reduce sum %g1 : (tensor<4x4xf32>) -> tensor<4xf32> loc(fused<"optimizer">["w.1"])
    %n1 = sinter.reduce sum %r1 : (tensor<4xf32>) -> tensor<f32> loc(fused<"optimizer">["w.1"])
    %n = sinter.add %n0, %n1 : (tensor<f32>, tensor<f32>) -> tensor<f32> loc(fused<"optimizer">["w.1"])
    %all = sinter.broadcast %n {dims = array<i64>} : (tensor<f32>) -> tensor<4x4xf32> loc(fused<"optimizer">["w.1"])
    %s0 = sinter.mul %g0, %all : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"optimizer">["w.0"])
    %m = sinter.all_slice ["data"] %m0 : (tensor<2x4x4xf32>) -> tensor<4x4xf32> loc("w.0")
    %next0 = sinter.where_finite %all, %s0, %m : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"optimizer">["w.0"])
    %next1 = sinter.where_finite %all, %g1, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"optimizer">["w.1"])
    return %next0, %next1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
