// RUN: sinter-opt %s --sinter-differentiate | FileCheck %s

// The loss stays; every parameter has a gradient of its type, and the mark is gone.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {sinter.input = "x"}, %[[W:.*]]: tensor<8x2xf32> {sinter.parameter = "w"}, %{{.*}}: tensor<3xf32> {sinter.parameter = "unused"})
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<8x2xf32> {sinter.gradient = "w"}, tensor<3xf32> {sinter.gradient = "unused"})
// CHECK-SAME: attributes {sinter.entry} {
// CHECK: %[[Y:.*]] = sinter.matmul %[[X]], %[[W]]
// CHECK: %[[E:.*]] = sinter.exp %[[Y]]
// CHECK: %[[LOSS:.*]] = sinter.reduce sum %{{.*}} : (tensor<8xf32>) -> tensor<f32>
// CHECK: %[[SEED:.*]] = sinter.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[DE:.*]] = sinter.reshape %{{.*}} : (tensor<8xf32>) -> tensor<4x2xf32>
// CHECK: %[[DY:.*]] = sinter.mul %[[DE]], %[[E]]
// The input has no gradient: one product only.
// CHECK: %[[DW:.*]] = sinter.matmul %[[X]], %[[DY]] {transpose_lhs}
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: return %[[LOSS]], %[[DW]], %[[ZERO]]
func.func @train_step(%x: tensor<4x8xf32> {sinter.input = "x"},
                      %w: tensor<8x2xf32> {sinter.parameter = "w"},
                      %unused: tensor<3xf32> {sinter.parameter = "unused"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = sinter.exp %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = sinter.reshape %1 : (tensor<4x2xf32>) -> tensor<8xf32>
  %3 = sinter.reduce sum %2 : (tensor<8xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// All gradients are multiplied by the scale of the loss, where there is one.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME: %{{.*}}: tensor<4xf32> {sinter.parameter = "w"}, %[[SCALE:.*]]: tensor<f32> {sinter.input = "loss_scale"}
// CHECK: %[[G:.*]] = sinter.broadcast %[[SCALE]]
// CHECK: return %{{.*}}, %[[G]]
func.func @scaled(%w: tensor<4xf32> {sinter.parameter = "w"},
                  %scale: tensor<f32> {sinter.input = "loss_scale"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %0 = sinter.reduce sum %w : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Slices that tile a parameter give one concatenation.
// CHECK-LABEL: func.func @tiles
// CHECK: sinter.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
func.func @tiles(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %0 = sinter.slice %w {offsets = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
  %1 = sinter.slice %w {offsets = array<i64: 0>} : (tensor<4xf32>) -> tensor<1xf32>
  %2 = sinter.reduce sum %0 : (tensor<3xf32>) -> tensor<f32>
  %3 = sinter.reduce sum %1 : (tensor<1xf32>) -> tensor<f32>
  %4 = sinter.mul %2, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// What is fixed has none: the gradient of what it is multiplied by goes on.
// CHECK-LABEL: func.func @fixed
// CHECK-SAME: %[[W:.*]]: tensor<4xf32> {sinter.parameter = "w"}, %[[S:.*]]: tensor<4xf32> {sinter.fixed, sinter.parameter = "s"}
// CHECK: sinter.reduce
// CHECK: %[[G:.*]] = sinter.mul %{{.*}}, %[[S]]
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: return %{{.*}}, %[[G]], %[[ZERO]]
func.func @fixed(%w: tensor<4xf32> {sinter.parameter = "w"},
                 %s: tensor<4xf32> {sinter.parameter = "s", sinter.fixed})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %0 = sinter.mul %w, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
