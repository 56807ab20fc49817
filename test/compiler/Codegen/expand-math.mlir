// RUN: sinter-opt %s --sinter-expand-math | FileCheck %s

module {
module @kernels {
// CHECK-LABEL: func.func @functions
// CHECK-NOT: math.exp
// CHECK-NOT: math.log
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK: arith.shli {{.*}} : vector<8xi32>
// CHECK: math.sqrt
// CHECK-NOT: math.exp
func.func @functions(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32, f32) {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.tanh %0 : vector<8xf32>
  %5 = math.log %y : f32
  %2 = math.erf %5 : f32
  %3 = math.exp %2 : f32
  %4 = math.sqrt %3 : f32
  %6 = math.exp2 %y : f32
  return %1, %4, %6 : vector<8xf32>, f32, f32
}
}
}
