// RUN: sinter-opt %s --sinter-assign-compute-type=compute-type=bf16 | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-compute-type="compute-type=f32 cache-type=bf16" | FileCheck %s --check-prefix=F32
// RUN: sinter-opt %s --sinter-assign-compute-type=compute-type=bf16 %remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sinter-opt %s --sinter-assign-compute-type=compute-type=f16 | FileCheck %s --check-prefix=F16

// One cast of the rows serves both products; a widened weight is used as it was stored.
// REMARK: remark: [Passed] ComputeType | Category:sinter-precision | Remark="2 matrix products of products in bf16, accumulated in f32

// CHECK-LABEL: func.func @products
// CHECK-DAG: %[[X16:.*]] = sinter.cast %arg0 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK-DAG: %[[U16:.*]] = sinter.cast %arg2 : (tensor<8x16xf32>) -> tensor<8x16xbf16>
// CHECK-NOT: sinter.cast
// CHECK: sinter.matmul %[[X16]], %arg1 : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
// CHECK: sinter.matmul %[[X16]], %[[U16]] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>

// F32-LABEL: func.func @products
// F32-COUNT-1: sinter.cast {{.*}} -> tensor<8x16xf32>
// F32-NOT: sinter.cast
// F32-LABEL: func.func @gradients

// Rounded to f16 and widened: the product is one of f32.
// F16-LABEL: func.func @products
// F16-DAG: %[[X16:.*]] = sinter.cast %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf16>
// F16-DAG: %[[X:.*]] = sinter.cast %[[X16]] : (tensor<4x8xf16>) -> tensor<4x8xf32>
// F16-DAG: %[[U16:.*]] = sinter.cast %arg2 : (tensor<8x16xf32>) -> tensor<8x16xf16>
// F16-DAG: %[[U:.*]] = sinter.cast %[[U16]] : (tensor<8x16xf16>) -> tensor<8x16xf32>
// F16: sinter.matmul %[[X]], %{{.*}} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
// F16: sinter.matmul %[[X]], %[[U]] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
func.func @products(%x: tensor<4x8xf32> {sinter.input = "x"},
                    %w: tensor<8x16xbf16> {sinter.parameter = "w"},
                    %u: tensor<8x16xf32> {sinter.parameter = "u"})
    -> (tensor<4x16xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %wide = sinter.cast %w : (tensor<8x16xbf16>) -> tensor<8x16xf32>
  %a = sinter.matmul %x, %wide : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %b = sinter.matmul %x, %u : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = sinter.add %a, %b : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Gradients are summed in f32 and rounded afterwards.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[Q:.*]], %[[K:.*]], %[[V:.*]] = sinter.attention_grad {{.*}} -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
// CHECK-DAG: sinter.cast %[[Q]] : (tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xbf16>
// CHECK-DAG: sinter.cast %[[K]]
// CHECK-DAG: sinter.cast %[[V]]
func.func @gradients(%q: tensor<1x4x2x8xbf16> {sinter.input = "q"},
                     %l: tensor<1x4x2xf32> {sinter.input = "l"})
    -> (tensor<1x4x2x8xbf16> {sinter.output = "dq"}, tensor<1x4x2x8xbf16> {sinter.output = "dk"},
        tensor<1x4x2x8xbf16> {sinter.output = "dv"}) attributes {sinter.entry} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>)
  return %0#0, %0#1, %0#2 : tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>
}

// Kernels read scales as they are stored; minima and rows are widened.
// F32-LABEL: func.func @scales
// F32-DAG: %[[X:.*]] = sinter.cast %arg0 : (tensor<4x64xbf16>) -> tensor<4x64xf32>
// F32-DAG: %[[M:.*]] = sinter.cast %arg3 : (tensor<16x2xf16>) -> tensor<16x2xf32>
// F32: sinter.matmul %[[X]], %arg1, %arg2 minima %[[M]] {{.*}} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf16>, tensor<16x2xf32>) -> tensor<4x16xf32>
func.func @scales(%x: tensor<4x64xbf16> {sinter.input = "x"},
                  %w: tensor<16x64xi4> {sinter.parameter = "w"},
                  %s: tensor<16x2xf16> {sinter.parameter = "s"},
                  %m: tensor<16x2xf16> {sinter.parameter = "m"})
    -> (tensor<4x16xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s minima %m {transpose_rhs}
     : (tensor<4x64xbf16>, tensor<16x64xi4>, tensor<16x2xf16>, tensor<16x2xf16>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// The state changes from argument to result; the rows are rounded as they are written.
// F32-LABEL: func.func @states
// F32-SAME: tensor<1x32x2x8xbf16> {sinter.donated = 0 : i64
// F32-SAME: -> (tensor<1x32x2x8xbf16>
// F32: sinter.cache_append {{.*}} : (tensor<1x32x2x8xbf16>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xbf16>
func.func @states(%k: tensor<1x32x2x8xf32> {sinter.state = "k_cache.0", sinter.donated = 0 : i64},
                  %rows: tensor<1x4x2x8xf32> {sinter.input = "x"},
                  %start: tensor<1xi32> {sinter.input = "start"},
                  %count: tensor<1xi32> {sinter.input = "count"})
    -> (tensor<1x32x2x8xf32> {sinter.state = "k_cache.0"}) attributes {sinter.entry} {
  %k1 = sinter.cache_append %k, %rows, %start, %count
      : (tensor<1x32x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
  return %k1 : tensor<1x32x2x8xf32>
}

// A value that products read under two shapes is rounded once.
// CHECK-LABEL: func.func @shapes
// CHECK-DAG: %[[X16:.*]] = sinter.cast %arg0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
// CHECK-DAG: sinter.cast %arg1
// CHECK-NOT: sinter.cast
// CHECK: sinter.matmul %[[X16]], %{{.*}} : (tensor<2x4x8xbf16>, tensor<8x16xbf16>) -> tensor<2x4x16xf32>
// CHECK: %[[R:.*]] = sinter.reshape %[[X16]] : (tensor<2x4x8xbf16>) -> tensor<8x8xbf16>
// CHECK: sinter.matmul %[[R]], %{{.*}} {transpose_lhs} : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xf32>
func.func @shapes(%x: tensor<2x4x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.input = "w"})
    -> (tensor<2x4x16xf32> {sinter.output = "y"}, tensor<8x16xf32> {sinter.output = "d"}) attributes {sinter.entry} {
  %y = sinter.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %r = sinter.reshape %x : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
  %d = sinter.matmul %r, %w {transpose_lhs} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y, %d : tensor<2x4x16xf32>, tensor<8x16xf32>
}
