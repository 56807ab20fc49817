// RUN: sinter-opt %s --sinter-quantize-caches=cache-type=int8 | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-caches=cache-type=int8 -o /dev/null %remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sinter-opt %s --sinter-quantize-caches=cache-type=fp8 | FileCheck %s --check-prefix=FP8

// REMARK-DAG: k_cache.0 is held in int8 with a scale a token and head
// REMARK-DAG: v_cache.0 is held in int8 with a scale a token and head

// A cache is two states; results keep their places, and scales are the last ones.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<1x32x2x8xi8> {sinter.donated = 1 : i64, sinter.role = #sinter.role<kv_cache>, sinter.state = "k_cache.0"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<1x32x2x8xi8> {sinter.donated = 2 : i64, sinter.role = #sinter.role<kv_cache>, sinter.state = "v_cache.0"}
// CHECK-SAME: %[[KS:[a-z0-9]+]]: tensor<1x32x2x1xf32> {sinter.donated = 3 : i64, sinter.role = #sinter.role<kv_cache>, sinter.state = "k_cache.0.scales"}
// CHECK-SAME: %[[VS:[a-z0-9]+]]: tensor<1x32x2x1xf32> {sinter.donated = 4 : i64, sinter.role = #sinter.role<kv_cache>, sinter.state = "v_cache.0.scales"}
// CHECK-SAME: -> (tensor<1x4x4x8xf32> {sinter.output = "y"}, tensor<1x32x2x8xi8> {sinter.state = "k_cache.0"}, tensor<1x32x2x8xi8> {sinter.state = "v_cache.0"}, tensor<1x32x2x1xf32> {sinter.state = "k_cache.0.scales"}, tensor<1x32x2x1xf32> {sinter.state = "v_cache.0.scales"})
// CHECK: %[[Q:.*]], %[[S:.*]] = sinter.quantize %arg1 : (tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xi8>, tensor<1x4x2x1xf32>)
// CHECK: %[[K1:.*]] = sinter.cache_append %[[K]], %[[Q]],
// CHECK: %[[KS1:.*]] = sinter.cache_append %[[KS]], %[[S]],
// CHECK: %[[V1:.*]] = sinter.cache_append %[[V]],
// CHECK: %[[VS1:.*]] = sinter.cache_append %[[VS]],
// CHECK: sinter.attention %arg0, %[[K1]], %[[V1]], %arg2, %[[KS1]], %[[VS1]] {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1>
// CHECK: return %{{.*}}, %[[K1]], %[[V1]], %[[KS1]], %[[VS1]] :

// FP8: sinter.quantize %arg1 : (tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf8E4M3FN>, tensor<1x4x2x1xf32>)
// FP8: sinter.attention {{.*}} tensor<1x32x2x8xf8E4M3FN>, tensor<1x32x2x8xf8E4M3FN>, tensor<1xi32>, tensor<1x32x2x1xf32>, tensor<1x32x2x1xf32>)
func.func @step(%q: tensor<1x4x4x8xf32> {sinter.input = "q"},
                %r: tensor<1x4x2x8xf32> {sinter.input = "r"},
                %start: tensor<1xi32> {sinter.input = "start"},
                %count: tensor<1xi32> {sinter.input = "count"},
                %k: tensor<1x32x2x8xf32> {sinter.state = "k_cache.0", sinter.role = #sinter.role<kv_cache>, sinter.donated = 1 : i64},
                %v: tensor<1x32x2x8xf32> {sinter.state = "v_cache.0", sinter.role = #sinter.role<kv_cache>, sinter.donated = 2 : i64})
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
