// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-form-fusions | FileCheck %s

// What all rows need, the mean of all, is there before the kernel that spreads it over them.
// CHECK-LABEL: func.func @relative_rows
// CHECK: %[[ROWS:.*]] = sinter.fusion rows(%{{.*}}) -> (tensor<4096xf32>)
// CHECK: %[[ALL:.*]] = sinter.reduce mean %[[ROWS]]
// CHECK: sinter.fusion rows(%[[ALL]], %[[ROWS]],
// CHECK-NOT: sinter.reduce
// CHECK: return
func.func @relative_rows(%g: tensor<4096x64xf32>) -> tensor<4096x64xf32> attributes {sinter.entry} {
  %0 = sinter.mul %g, %g : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
  %1 = sinter.reduce mean %0 : (tensor<4096x64xf32>) -> tensor<4096xf32>
  %2 = sinter.reduce mean %1 : (tensor<4096xf32>) -> tensor<f32>
  %3 = sinter.broadcast %2 {dims = array<i64>} : (tensor<f32>) -> tensor<4096xf32>
  %4 = sinter.div %1, %3 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %6 = sinter.mul %g, %5 : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
  return %6 : tensor<4096x64xf32>
}

// A sum over rows of 32 normalized rows each would normalize for every element.
// CHECK-LABEL: func.func @sum_of_longer_rows
// CHECK-NOT: sinter.fusion
// CHECK: %[[N:.*]] = sinter.rms_norm
// CHECK: sinter.fusion rows(%[[N]]
// CHECK: sinter.column_sum
func.func @sum_of_longer_rows(%x: tensor<4x32x64xf32>, %w: tensor<64xf32>)
    -> (tensor<4x32x64xf32>, tensor<2048xf32>) attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5}
     : (tensor<4x32x64xf32>, tensor<64xf32>) -> tensor<4x32x64xf32>
  %1 = sinter.reshape %0 : (tensor<4x32x64xf32>) -> tensor<4x2048xf32>
  %2 = sinter.column_sum %1 : (tensor<4x2048xf32>) -> tensor<2048xf32>
  return %0, %2 : tensor<4x32x64xf32>, tensor<2048xf32>
}
