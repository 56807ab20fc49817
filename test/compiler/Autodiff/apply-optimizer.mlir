// RUN: sinter-opt %s --sinter-apply-optimizer | FileCheck %s
// RUN: sinter-opt %s --sinter-apply-optimizer="no-decay=w grad-clip=0 optimizer=sgd nesterov=true" | FileCheck %s --check-prefix=SGD
// RUN: sinter-opt %s --sinter-apply-optimizer="optimizer=sgd momentum=0" | FileCheck %s --check-prefix=PLAIN
// RUN: sinter-opt %s --sinter-apply-optimizer="optimizer=adafactor" | FileCheck %s --check-prefix=ADAFACTOR

// Parameters become states in place, gradients of one type add into one sum a row, only matrices
// decay, and what was an output before stays one.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32> {sinter.input = "x"}
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32> {sinter.donated = 2 : i64, sinter.role = #sinter.role<parameter>, sinter.state = "w"}
// CHECK-SAME: %[[B:.*]]: tensor<8xf32> {sinter.donated = 8 : i64, sinter.role = #sinter.role<parameter>, sinter.state = "b"}
// CHECK-SAME: %[[U:.*]]: tensor<4x8xf32> {sinter.donated = 5 : i64, sinter.role = #sinter.role<parameter>, sinter.state = "u"}
// CHECK-SAME: %[[MW:.*]]: tensor<4x8xf32> {sinter.donated = 3 : i64, sinter.role = #sinter.role<optimizer>, sinter.state = "adamw.m.w"}
// CHECK-SAME: %[[VW:.*]]: tensor<4x8xf32> {sinter.donated = 4 : i64, sinter.role = #sinter.role<optimizer>, sinter.state = "adamw.v.w"}
// CHECK-SAME: %[[RATE:[^:]*]]: tensor<f32> {sinter.input = "learning_rate"}
// CHECK-SAME: %[[C1:[^:]*]]: tensor<f32> {sinter.input = "bias_correction1"}
// CHECK-SAME: %[[C2:[^:]*]]: tensor<f32> {sinter.input = "bias_correction2"}
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<f32> {sinter.output = "grad_norm"}, tensor<4x8xf32> {sinter.state = "w"}
// CHECK-SAME: tensor<8xf32> {sinter.state = "adamw.v.b"})
// CHECK: %[[GW:.*]] = sinter.mul %[[X]], %[[U]]
// CHECK: %[[S0:.*]] = sinter.square_sum %[[GW]] : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK: %[[S1:.*]] = sinter.square_sum %{{.*}}, %[[S0]] : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[S2:.*]] = sinter.square_sum %{{.*}} : (tensor<8xf32>) -> tensor<f32>
// CHECK: %[[S3:.*]] = sinter.reduce sum %[[S1]]
// CHECK: %[[TOTAL:.*]] = sinter.add %[[S3]], %[[S2]]
// CHECK: %[[NORM:.*]] = sinter.sqrt %[[TOTAL]]
// CHECK: %[[CLIP:.*]] = sinter.minimum
// CHECK: %[[SCALE:.*]] = sinter.where_finite %[[NORM]], %[[CLIP]], %[[NORM]]
// CHECK: %[[NW:.*]], %[[NMW:.*]], %{{.*}} = sinter.adamw %[[W]], %[[GW]], %[[MW]], %[[VW]], %[[SCALE]], %[[RATE]], %[[C1]], %[[C2]]
// CHECK-SAME: weight_decay = 1.000000e-01
// CHECK: sinter.adamw %[[U]]
// CHECK-SAME: weight_decay = 1.000000e-01
// CHECK: sinter.adamw %[[B]]
// CHECK-SAME: weight_decay = 0.000000e+00
// CHECK: return %{{.*}}, %[[NORM]], %[[NW]], %[[NMW]]

// What does not train reads the same memory.
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"}) -> (tensor<f32> {sinter.output = "loss"})

// SGD-LABEL: func.func @train_step(
// SGD-SAME: sinter.state = "sgd.velocity.w"
// SGD-NOT: bias_correction
// SGD-NOT: sinter.minimum
// SGD: sinter.sgd %arg1, {{.*}}momentum = 9.000000e-01 : f64, nesterov{{.*}}weight_decay = 0.000000e+00
// SGD: sinter.sgd %arg3, {{.*}}weight_decay = 1.000000e-01
// SGD: sinter.sgd %arg2, {{.*}}weight_decay = 0.000000e+00

// PLAIN-LABEL: func.func @train_step(
// PLAIN-NOT: velocity
// PLAIN: sinter.sgd {{.*}}momentum = 0.000000e+00 : f64, resultSegmentSizes = array<i32: 1, 0, 0>

// ADAFACTOR-LABEL: func.func @train_step(
// ADAFACTOR-SAME: tensor<4xf32> {sinter.donated = {{.*}}, sinter.state = "adafactor.row.w"}
// ADAFACTOR-SAME: tensor<8xf32> {sinter.donated = {{.*}}, sinter.state = "adafactor.column.w"}
// ADAFACTOR-SAME: tensor<f32> {sinter.input = "update"}
// ADAFACTOR-SAME: tensor<8xf32> {sinter.donated = {{.*}}, sinter.state = "adafactor.v.b"}
// ADAFACTOR-NOT: learning_rate
func.func @train_step(%x: tensor<4x8xf32> {sinter.input = "x"},
                      %w: tensor<4x8xf32> {sinter.parameter = "w"},
                      %b: tensor<8xf32> {sinter.parameter = "b"},
                      %u: tensor<4x8xf32> {sinter.parameter = "u"})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<4x8xf32> {sinter.gradient = "w"},
        tensor<4x8xf32> {sinter.gradient = "u"}, tensor<8xf32> {sinter.gradient = "b"})
    attributes {sinter.entry} {
  %0 = sinter.reduce sum %b : (tensor<8xf32>) -> tensor<f32>
  %1 = sinter.mul %x, %u : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.mul %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2, %b : tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>
}

func.func @evaluate(%w: tensor<4x8xf32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry} {
  %0 = sinter.square_sum %w : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
