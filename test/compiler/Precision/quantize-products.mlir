// RUN: sinter-opt %s --sinter-differentiate --sinter-assign-target=target=cpu:x86-64-v3 --sinter-quantize-products --cse | FileCheck %s
// RUN: sinter-opt %s --sinter-differentiate --sinter-assign-target=target=cuda:sm_80 --sinter-quantize-products --cse | FileCheck %s
// RUN: sinter-opt %s --sinter-differentiate --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-products --cse | FileCheck %s --check-prefix=FP8
// RUN: sinter-opt %s --sinter-differentiate --sinter-assign-target=target=cuda:sm_90 --sinter-quantize-products -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: 3 products of train multiply fp8: 3 values are rounded to it

// An activation and a weight are rounded once, with one scale each, for the product and for both of its
// gradients; what comes back is e5m2. The head, and both of its gradients, multiply numbers.
// CHECK-LABEL: func.func @train
// CHECK-SAME: %[[W:[^ ]*]]: tensor<8x6xf32> {{[^,]*}}, %[[HEAD:[^ ]*]]: tensor<6x5xf32>
// CHECK: %[[WROWS:.*]] = sinter.reduce max %{{.*}} : (tensor<8x6xf32>) -> tensor<8xf32>
// CHECK: %[[WMOST:.*]] = sinter.reduce max %[[WROWS]] : (tensor<8xf32>) -> tensor<f32>
// CHECK: %[[WSCALE:.*]] = sinter.mul
// CHECK: %[[WFACTOR:.*]] = sinter.div
// CHECK: %[[WFACTORS:.*]] = sinter.broadcast %[[WFACTOR]] {dims = array<i64>} : (tensor<f32>) -> tensor<8x6xf32>
// CHECK: %[[WSCALED:.*]] = sinter.mul %[[W]], %[[WFACTORS]]
// CHECK: %[[WQ:.*]] = sinter.cast %[[WSCALED]] : (tensor<8x6xf32>) -> tensor<8x6xf8E4M3FN>
// CHECK: sinter.reduce max %{{.*}} : (tensor<8x8xf32>) -> tensor<8xf32>
// CHECK: %[[XQ:.*]] = sinter.cast %{{.*}} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf8E4M3FN>
// CHECK: %[[XWIDE:.*]] = sinter.cast %[[XQ]] : (tensor<2x4x8xf8E4M3FN>) -> tensor<2x4x8xf32>
// CHECK: %[[WWIDE:.*]] = sinter.cast %[[WQ]] : (tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32>
// CHECK: %[[SUMS:.*]] = sinter.matmul %[[XWIDE]], %[[WWIDE]] : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
// CHECK: %[[BOTH:.*]] = sinter.mul %{{.*}}, %[[WSCALE]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[SPREAD:.*]] = sinter.broadcast %[[BOTH]] {dims = array<i64>} : (tensor<f32>) -> tensor<2x4x6xf32>
// CHECK: %[[Y:.*]] = sinter.mul %[[SUMS]], %[[SPREAD]]
// CHECK: sinter.matmul %[[Y]], %[[HEAD]]
// CHECK: sinter.matmul %{{.*}}, %[[HEAD]] {transpose_rhs}
// CHECK: %[[GQ:.*]] = sinter.cast %{{.*}} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf8E5M2>
// CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<8x6xf32>, tensor<8x5xf32>)
// CHECK: %[[GWIDE:.*]] = sinter.cast %[[GQ]] : (tensor<2x4x6xf8E5M2>) -> tensor<2x4x6xf32>
// CHECK: sinter.matmul %[[GWIDE]], %[[WWIDE]] {transpose_rhs} : (tensor<2x4x6xf32>, tensor<8x6xf32>) -> tensor<2x4x8xf32>
// CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_lhs} : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>

// Bytes themselves where there are products of them, both sides rows along k.
// FP8-LABEL: func.func @train
// FP8: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} rows %{{.*}} {transpose_rhs} : (tensor<2x4x8xf8E4M3FN>, tensor<6x8xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x4x6xf32>
// FP8: sinter.matmul %{{.*}}, %{{.*}} : (tensor<2x4x6xf32>, tensor<6x5xf32>)
// FP8: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} rows %{{.*}} {transpose_rhs} : (tensor<2x4x6xf8E5M2>, tensor<8x6xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x4x8xf32>
// FP8: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} rows %{{.*}} {transpose_rhs} : (tensor<8x8xf8E4M3FN>, tensor<6x8xf8E5M2>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<8x6xf32>
func.func @train(%in: tensor<2x4x8xf32> {sinter.input = "x"}, %b: tensor<2x4x8xf32> {sinter.parameter = "b"}, %w: tensor<8x6xf32> {sinter.parameter = "w"},
                 %head: tensor<6x5xf32> {sinter.parameter = "head"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %x = sinter.add %in, %b : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %0 = sinter.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %1 = sinter.matmul %0, %head : (tensor<2x4x6xf32>, tensor<6x5xf32>) -> tensor<2x4x5xf32>
  %2 = sinter.exp %1 : (tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
  %3 = sinter.reshape %2 : (tensor<2x4x5xf32>) -> tensor<40xf32>
  %4 = sinter.reduce sum %3 : (tensor<40xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}
