// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-caches | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-pack-caches %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-DAG: [Passed] {{.*}}k_cache.0 in key panels
// REMARK-DAG: [Passed] {{.*}}v_cache.0 head by head

// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[KC:[a-z0-9]+]]: tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 1>>
// CHECK-SAME: %[[VC:[a-z0-9]+]]: tensor<1x32x2x8xf32, #sinter.head_major>
// CHECK: %[[K1:.*]] = sinter.cache_append %[[KC]]{{.*}} -> tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 1>>
// CHECK: %[[V1:.*]] = sinter.cache_append %[[VC]]{{.*}} -> tensor<1x32x2x8xf32, #sinter.head_major>
// CHECK: sinter.attention
// CHECK: return {{.*}} tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 1>>, tensor<1x32x2x8xf32, #sinter.head_major>
func.func @step(%q: tensor<1x4x4x8xf32> {sinter.input = "q"},
                %r: tensor<1x4x2x8xf32> {sinter.input = "r"},
                %start: tensor<1xi32> {sinter.input = "start"},
                %count: tensor<1xi32> {sinter.input = "count"},
                %k: tensor<1x32x2x8xf32> {sinter.state = "k_cache.0", sinter.donated = 1 : i64},
                %v: tensor<1x32x2x8xf32> {sinter.state = "v_cache.0", sinter.donated = 2 : i64})
    -> (tensor<1x4x4x8xf32> {sinter.output = "y"},
        tensor<1x32x2x8xf32> {sinter.state = "k_cache.0"},
        tensor<1x32x2x8xf32> {sinter.state = "v_cache.0"}) attributes {sinter.entry} {
  %k1 = sinter.cache_append %k, %r, %start, %count
      : (tensor<1x32x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
  %v1 = sinter.cache_append %v, %r, %start, %count
      : (tensor<1x32x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
  %y = sinter.attention %q, %k1, %v1, %start {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.35 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1xi32>) -> tensor<1x4x4x8xf32>
  return %y, %k1, %v1 : tensor<1x4x4x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>
}

// Of 8 bits keys are in wider panels, and scales head by head.
// REMARK-DAG: [Passed] {{.*}}k_cache.1 in key panels
// REMARK-DAG: [Passed] {{.*}}k_cache.1.scales head by head
// REMARK-DAG: [Passed] {{.*}}v_cache.1.scales head by head
// CHECK-LABEL: func.func @bytes
// CHECK-SAME: tensor<1x32x2x8xi8, #sinter.key_panels<width = 64, interleave = 1>>
// CHECK-SAME: tensor<1x32x2x8xi8, #sinter.head_major>
// CHECK-SAME: tensor<1x32x2x1xf32, #sinter.head_major>
// CHECK-SAME: tensor<1x32x2x1xf32, #sinter.head_major>
func.func @bytes(%q: tensor<1x4x4x8xf32> {sinter.input = "q"},
                 %k: tensor<1x32x2x8xi8> {sinter.state = "k_cache.1"},
                 %v: tensor<1x32x2x8xi8> {sinter.state = "v_cache.1"},
                 %ks: tensor<1x32x2x1xf32> {sinter.state = "k_cache.1.scales"},
                 %vs: tensor<1x32x2x1xf32> {sinter.state = "v_cache.1.scales"})
    -> (tensor<1x4x4x8xf32> {sinter.output = "y"}, tensor<1x32x2x8xi8> {sinter.state = "k_cache.1"},
        tensor<1x32x2x8xi8> {sinter.state = "v_cache.1"}, tensor<1x32x2x1xf32> {sinter.state = "k_cache.1.scales"},
        tensor<1x32x2x1xf32> {sinter.state = "v_cache.1.scales"}) attributes {sinter.entry} {
  %y = sinter.attention %q, %k, %v, %ks, %vs {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>, scale = 0.35 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x32x2x8xi8>, tensor<1x32x2x8xi8>, tensor<1x32x2x1xf32>, tensor<1x32x2x1xf32>) -> tensor<1x4x4x8xf32>
  return %y, %k, %v, %ks, %vs : tensor<1x4x4x8xf32>, tensor<1x32x2x8xi8>, tensor<1x32x2x8xi8>, tensor<1x32x2x1xf32>, tensor<1x32x2x1xf32>
}
