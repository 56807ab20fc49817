// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-caches | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-caches %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Missed] {{.*}}cache.0 stays dense: it is not read only as keys or only as values
// REMARK: [Missed] {{.*}}cache.1 stays dense

// One tensor as keys and as values, and one that is read by another op too.
// CHECK-NOT: #sinter.key_panels
// CHECK-NOT: #sinter.head_major
func.func @step(%q: tensor<1x4x2x8xf32>, %start: tensor<1xi32>,
                %both: tensor<1x4x2x8xf32> {sinter.state = "cache.0", sinter.donated = 1 : i64},
                %read: tensor<1x4x2x8xf32> {sinter.state = "cache.1", sinter.donated = 2 : i64})
    -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32> {sinter.state = "cache.0"},
        tensor<1x4x2x8xf32> {sinter.state = "cache.1"}) attributes {sinter.entry} {
  %y = sinter.attention %q, %both, %both, %start {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1xi32>) -> tensor<1x4x2x8xf32>
  %z = sinter.attention %q, %read, %q {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %s = sinter.add %z, %read : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %t = sinter.add %y, %s : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %t, %both, %read : tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>
}
