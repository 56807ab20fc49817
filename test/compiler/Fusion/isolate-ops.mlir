// RUN: sinter-opt %s --sinter-isolate-ops | FileCheck %s

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// The reshape is the same memory; the splat goes into the fusion that uses it.
// CHECK-LABEL: func.func @kinds
// CHECK: sinter.fusion pack(%arg1
// CHECK: sinter.fusion gemm(%arg0
// CHECK: sinter.matmul
// CHECK: sinter.reshape
// CHECK-NOT: sinter.constant
// CHECK: sinter.fusion rows(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: sinter.constant dense<2.000000e+00>
// CHECK-NEXT: sinter.mul
// CHECK-NEXT: sinter.yield
func.func @kinds(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<64xf32>
    attributes {sinter.entry} {
  %c = sinter.constant dense<2.0> : tensor<64xf32>
  %p = sinter.pack %w : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
  %y = sinter.matmul %x, %p : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  %r = sinter.reshape %y : (tensor<4x16xf32>) -> tensor<64xf32>
  %z = sinter.mul %r, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %z : tensor<64xf32>
}

// CHECK-LABEL: func.func @attention
// CHECK: sinter.fusion attention(
func.func @attention(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x2x8xf32>, %v: tensor<1x4x2x8xf32>)
    -> tensor<1x4x2x8xf32> attributes {sinter.entry} {
  %y = sinter.attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %y : tensor<1x4x2x8xf32>
}

// An attention reads the slope of its only head from memory.
// CHECK-LABEL: func.func @one_head
// CHECK: %[[SLOPES:.*]] = sinter.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK: sinter.fusion attention({{.*}}, %[[SLOPES]] :
func.func @one_head(%q: tensor<1x4x1x8xf32>, %k: tensor<1x4x1x8xf32>, %v: tensor<1x4x1x8xf32>)
    -> tensor<1x4x1x8xf32> attributes {sinter.entry} {
  %slopes = sinter.constant dense<0.5> : tensor<1xf32>
  %y = sinter.attention %q, %k, %v, %slopes {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1xf32>) -> tensor<1x4x1x8xf32>
  return %y : tensor<1x4x1x8xf32>
}

// A constant that a caller sees is written by a kernel.
// CHECK-LABEL: func.func @result
// CHECK: %[[R:.*]] = sinter.fusion rows(
// CHECK: sinter.broadcast
// CHECK: return %[[R]]
func.func @result() -> tensor<4xf32> attributes {sinter.entry} {
  %c = sinter.constant dense<2.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}
