// RUN: sinter-opt %s --sinter-assign-compute-type | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-compute-type="compute-type=f32 cache-type=bf16" | FileCheck %s

// Products that are f32 already, and functions that are no entries, stay as they are; so do states
// that are read to be written again, whatever the type of caches.

// CHECK-LABEL: func.func @entry
// CHECK-NOT: sinter.cast
func.func @entry(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @other
// CHECK-NOT: sinter.cast
func.func @other(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %y = sinter.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %y : tensor<4x16xbf16>
}

// CHECK-LABEL: func.func @update
// CHECK-SAME: %arg0: tensor<4x8xf32> {sinter.donated = 0 : i64, sinter.state = "w"}
// CHECK-SAME: -> (tensor<4x8xf32>
func.func @update(%w: tensor<4x8xf32> {sinter.state = "w", sinter.donated = 0 : i64},
                  %g: tensor<4x8xf32> {sinter.input = "g"}, %r: tensor<f32> {sinter.input = "r"})
    -> (tensor<4x8xf32> {sinter.state = "w"}) attributes {sinter.entry} {
  %0 = sinter.sgd %w, %g, %r, %r {momentum = 0.0, resultSegmentSizes = array<i32: 1, 0, 0>, weight_decay = 0.0}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// What the graph rounds stays rounded.
// CHECK-LABEL: func.func @rounded
// CHECK: sinter.cast {{.*}} -> tensor<4x8xbf16>
// CHECK: %[[X:.*]] = sinter.cast {{.*}} -> tensor<4x8xf32>
// CHECK: sinter.matmul %[[X]]
func.func @rounded(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %n = sinter.cast %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %r = sinter.cast %n : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %y = sinter.matmul %r, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
