// RUN: sinter-opt %s --sinter-expand-math | FileCheck %s

// Only kernels are expanded.
// CHECK-LABEL: func.func @outside
// CHECK: math.exp
func.func @outside(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
