// RUN: sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16" | FileCheck %s
// RUN: sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16 accumulate=2" | FileCheck %s --check-prefix=SPLIT
// RUN: sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16 optimizer=sgd" | FileCheck %s --check-prefix=SGD
// RUN: sinter-opt %s --sinter-apply-optimizer="state-dtype=bf16 optimizer=muon momentum=0.9" | FileCheck %s --check-prefix=MUON
// RUN: sinter-opt %s --sinter-apply-optimizer="optimizer=muon momentum=0.9" | FileCheck %s --check-prefix=WIDE

// States of bf16 beside parameters of f32. The seed is the step's, each parameter has a tag.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[SEED:[^:]*]]: tensor<2xi32> {sinter.input = "seed"}
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x8xf32> {{.[^}]*}}sinter.state = "w"}
// CHECK-SAME: %[[MW:[^:]*]]: tensor<4x8xbf16> {{.[^}]*}}sinter.state = "adamw.m.w"}
// CHECK-SAME: %[[VW:[^:]*]]: tensor<4x8xbf16> {{.[^}]*}}sinter.state = "adamw.v.w"}
// CHECK-SAME: tensor<8xbf16> {{.[^}]*}}sinter.state = "adamw.v.b"}
// CHECK-NOT: "seed"
// CHECK: %[[TAGW:.*]] = sinter.constant dense<[{{.*}}]> : tensor<2xi32>
// CHECK: sinter.adamw %[[W]], %{{.*}}, %[[MW]], %[[VW]], {{.*}}, %[[SEED]], %[[TAGW]]
// CHECK: %[[TAGB:.*]] = sinter.constant dense<[{{.*}}]> : tensor<2xi32>
// CHECK: sinter.adamw {{.*}}, %[[SEED]], %[[TAGB]]

// Sums of gradients stay what they are; the update has a seed of its own.
// SPLIT-LABEL: func.func @accumulate(
// SPLIT-SAME: tensor<4x8xf32> {{.[^}]*}}sinter.state = "gradient.w"}
// SPLIT-LABEL: func.func @update(
// SPLIT-SAME: tensor<4x8xbf16> {{.[^}]*}}sinter.state = "adamw.m.w"}
// SPLIT-SAME: tensor<2xi32> {sinter.input = "seed"}

// Velocities need no random numbers.
// SGD-LABEL: func.func @train_step(
// SGD-SAME: tensor<4x8xbf16> {{.[^}]*}}sinter.state = "sgd.velocity.w"}
// SGD: sinter.sgd {{.*}} -> (tensor<4x8xf32>, tensor<4x8xbf16>)

// What is made orthogonal is the momentum before it is rounded.
// MUON-LABEL: func.func @train_step(
// MUON-SAME: %[[B:[^:]*]]: tensor<4x8xbf16> {{.[^}]*}}sinter.state = "muon.momentum.w"}
// MUON: %[[BEFORE:.*]] = sinter.cast %[[B]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// MUON: %[[MOMENTUM:.*]] = sinter.add %[[BEFORE]]
// MUON-NEXT: sinter.sub %[[MOMENTUM]]
// MUON: %[[GUARDED:.*]] = sinter.where_finite %{{.*}}, %[[MOMENTUM]], %[[BEFORE]]
// MUON: %[[NEXT:.*]] = sinter.cast %[[GUARDED]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// MUON: sinter.adamw
// MUON: return {{.*}}%[[NEXT]]
// WIDE-NOT: sinter.cast
func.func @train_step(%s: tensor<2xi32> {sinter.input = "seed"},
                      %w: tensor<4x8xf32> {sinter.parameter = "w"},
                      %b: tensor<8xf32> {sinter.parameter = "b"})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<4x8xf32> {sinter.gradient = "w"},
        tensor<8xf32> {sinter.gradient = "b"}) attributes {sinter.entry} {
  %0 = sinter.reduce sum %b : (tensor<8xf32>) -> tensor<f32>
  %1 = sinter.dropout %w, %s {probability = 0.5, stream = 0 : i64} : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  return %0, %1, %b : tensor<f32>, tensor<4x8xf32>, tensor<8xf32>
}
