// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-narrow-results --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-narrow-results --sinter-form-fusions --split-input-file | FileCheck %s --check-prefix=FUSED
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-narrow-results --split-input-file %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// A product with its bias is rounded once; the bias is rounded, too, for the library adds one of the
// result's type.
// REMARK: remark: [Passed] NarrowResults | Category:sinter-layout | Function=biased | Remark="1 products and attentions keep their results as narrow as what they multiply"
// CHECK-LABEL: func.func @biased
// CHECK: %[[B16:.*]] = sinter.cast %arg2 : (tensor<1024xf32>) -> tensor<1024xbf16>
// CHECK: %[[B:.*]] = sinter.cast %[[B16]] : (tensor<1024xbf16>) -> tensor<1024xf32>
// CHECK: %[[SPREAD:.*]] = sinter.broadcast %[[B]]
// CHECK: %[[SUM:.*]] = sinter.add %{{.*}}, %[[SPREAD]]
// CHECK: %[[NARROW:.*]] = sinter.cast %[[SUM]] : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
// CHECK: %[[WIDE:.*]] = sinter.cast %[[NARROW]] : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
// CHECK: sinter.gelu %[[WIDE]]
// One product with its bias of bf16, and what reads bf16.
// FUSED-LABEL: func.func @biased
// FUSED: %[[B:.*]] = sinter.cast %arg2 : (tensor<1024xf32>) -> tensor<1024xbf16>
// FUSED: sinter.fusion gemm(%arg0, %arg1, %[[B]] : tensor<4096x256xbf16>, tensor<256x1024xbf16>, tensor<1024xbf16>) -> (tensor<4096x1024xbf16>)
// FUSED: sinter.fusion rows({{.*}} : tensor<4096x1024xbf16>) -> (tensor<4096x1024xf32>)
func.func @biased(%x: tensor<4096x256xbf16> {sinter.input = "x"}, %w: tensor<256x1024xbf16> {sinter.input = "w"},
                  %b: tensor<1024xf32> {sinter.input = "b"})
    -> (tensor<4096x1024xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4096x256xbf16>, tensor<256x1024xbf16>) -> tensor<4096x1024xf32>
  %1 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<1024xf32>) -> tensor<4096x1024xf32>
  %2 = sinter.add %0, %1 : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %3 = sinter.gelu %2 {tanh} : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  return %3 : tensor<4096x1024xf32>
}

// -----

// Attention reads parts of a product's rows where they are; its result is rounded by its kernel.
// CHECK-LABEL: func.func @attention
// CHECK: %[[NARROW:.*]] = sinter.cast %{{.*}} : (tensor<2x16x48xf32>) -> tensor<2x16x48xbf16>
// CHECK-NOT: sinter.cast
// CHECK-COUNT-3: sinter.slice %[[NARROW]]
// CHECK: %[[RESULT:.*]], %{{.*}} = sinter.attention
// CHECK: %[[ROUNDED:.*]] = sinter.cast %[[RESULT]] : (tensor<2x16x1x16xf32>) -> tensor<2x16x1x16xbf16>
// CHECK: %[[WIDE:.*]] = sinter.cast %[[ROUNDED]]
// CHECK: sinter.mul %[[WIDE]], %[[WIDE]]
// FUSED-LABEL: func.func @attention
// FUSED: %[[QKV:.*]] = sinter.fusion gemm({{.*}} -> (tensor<2x16x48xbf16>)
// FUSED: sinter.fusion attention(%[[QKV]] : tensor<2x16x48xbf16>)
func.func @attention(%x: tensor<2x16x16xbf16> {sinter.input = "x"}, %w: tensor<16x48xbf16> {sinter.input = "w"})
    -> (tensor<2x16x1x16xf32> {sinter.output = "y"}, tensor<2x16x1xf32> {sinter.output = "l"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<2x16x16xbf16>, tensor<16x48xbf16>) -> tensor<2x16x48xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0, 0>} : (tensor<2x16x48xf32>) -> tensor<2x16x16xf32>
  %2 = sinter.slice %0 {offsets = array<i64: 0, 0, 16>} : (tensor<2x16x48xf32>) -> tensor<2x16x16xf32>
  %3 = sinter.slice %0 {offsets = array<i64: 0, 0, 32>} : (tensor<2x16x48xf32>) -> tensor<2x16x16xf32>
  %4 = sinter.cast %1 : (tensor<2x16x16xf32>) -> tensor<2x16x16xbf16>
  %5 = sinter.cast %2 : (tensor<2x16x16xf32>) -> tensor<2x16x16xbf16>
  %6 = sinter.cast %3 : (tensor<2x16x16xf32>) -> tensor<2x16x16xbf16>
  %q = sinter.reshape %4 : (tensor<2x16x16xbf16>) -> tensor<2x16x1x16xbf16>
  %k = sinter.reshape %5 : (tensor<2x16x16xbf16>) -> tensor<2x16x1x16xbf16>
  %v = sinter.reshape %6 : (tensor<2x16x16xbf16>) -> tensor<2x16x1x16xbf16>
  %7, %8 = sinter.attention %q, %k, %v {causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.25 : f64}
      : (tensor<2x16x1x16xbf16>, tensor<2x16x1x16xbf16>, tensor<2x16x1x16xbf16>) -> (tensor<2x16x1x16xf32>, tensor<2x16x1xf32>)
  %9 = sinter.mul %7, %7 : (tensor<2x16x1x16xf32>, tensor<2x16x1x16xf32>) -> tensor<2x16x1x16xf32>
  return %9, %8 : tensor<2x16x1x16xf32>, tensor<2x16x1xf32>
}

// -----

// Gradients of attention are bf16 where they end.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[Q:.*]], %[[K:.*]], %[[V:.*]] = sinter.attention_grad {{.*}} -> (tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>)
// CHECK: %[[WIDE:.*]] = sinter.cast %[[Q]] : (tensor<1x16x2x8xbf16>) -> tensor<1x16x2x8xf32>
// CHECK: sinter.exp %[[WIDE]]
// CHECK: sinter.matmul %{{.*}} : (tensor<16x16xbf16>, tensor<16x16xbf16>)
func.func @gradients(%q: tensor<1x16x2x8xbf16> {sinter.input = "q"}, %l: tensor<1x16x2xf32> {sinter.input = "l"},
                     %w: tensor<16x16xbf16> {sinter.input = "w"})
    -> (tensor<1x16x2x8xf32> {sinter.output = "a"}, tensor<16x16xf32> {sinter.output = "b"}, tensor<1x16x2x8xf32> {sinter.output = "c"}) attributes {sinter.entry} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2xf32>, tensor<1x16x2xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>)
  %1 = sinter.exp %0#0 : (tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xf32>
  %2 = sinter.reshape %0#1 : (tensor<1x16x2x8xf32>) -> tensor<16x16xf32>
  %3 = sinter.cast %2 : (tensor<16x16xf32>) -> tensor<16x16xbf16>
  %4 = sinter.matmul %3, %w : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
  %5 = sinter.exp %0#2 : (tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xf32>
  return %1, %4, %5 : tensor<1x16x2x8xf32>, tensor<16x16xf32>, tensor<1x16x2x8xf32>
}

// -----

// What several ops round is rounded once, by the product.
// CHECK-LABEL: func.func @rounded_twice
// CHECK: %[[ROUNDED:.*]] = sinter.cast %{{.*}} : (tensor<16x48xf32>) -> tensor<16x48xbf16>
// CHECK-NOT: sinter.cast
// CHECK: return %[[ROUNDED]], %[[ROUNDED]]
func.func @rounded_twice(%x: tensor<16x16xbf16> {sinter.input = "x"}, %w: tensor<16x48xbf16> {sinter.input = "w"})
    -> (tensor<16x48xbf16> {sinter.output = "y"}, tensor<16x48xbf16> {sinter.output = "z"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<16x16xbf16>, tensor<16x48xbf16>) -> tensor<16x48xf32>
  %1 = sinter.cast %0 : (tensor<16x48xf32>) -> tensor<16x48xbf16>
  %2 = sinter.cast %0 : (tensor<16x48xf32>) -> tensor<16x48xbf16>
  return %1, %2 : tensor<16x48xbf16>, tensor<16x48xbf16>
}
