// RUN: sinter-opt %s --sinter-lower-to-plan --sinter-verify-schedule | FileCheck %s

!w = tensor<16x8xf32>

func.func private @add(%a: !w, %b: !w) -> !w attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.add %a, %b : (!w, !w) -> !w
  return %0 : !w
}
func.func private @swap(%a: !w) -> !w attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.slice %a {offsets = array<i64: 8, 0>} : (!w) -> tensor<8x8xf32>
  %1 = sinter.slice %a {offsets = array<i64: 0, 0>} : (!w) -> tensor<8x8xf32>
  %2 = sinter.concat %0, %1 {dim = 0 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> !w
  return %2 : !w
}
func.func private @descend(%p: !w, %g: !w, %s: tensor<f32>) -> (!w, !w)
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0:2 = sinter.sgd %p, %g, %s, %s {momentum = 0.0, resultSegmentSizes = array<i32: 1, 0, 1>, weight_decay = 0.0}
      : (!w, !w, tensor<f32>, tensor<f32>) -> (!w, !w)
  return %0#0, %0#1 : !w, !w
}

// A product and a kernel add to states where they are; a kernel that needs other elements of the
// old state does not write over it.
// CHECK-LABEL: plan.program @accumulate
func.func @accumulate(%x: tensor<16x4xf32> {sinter.input = "x"}, %g: tensor<4x8xf32> {sinter.input = "g"},
    %h: !w {sinter.input = "h"},
    %a: !w {sinter.state = "a", sinter.donated = 0 : i64}, %b: !w {sinter.state = "b", sinter.donated = 1 : i64},
    %c: !w {sinter.state = "c", sinter.donated = 2 : i64}, %p: !w {sinter.state = "p"})
    -> (!w {sinter.state = "a"}, !w {sinter.state = "b"}, !w {sinter.state = "c"}, !w {sinter.output = "y"})
    attributes {sinter.entry} {
  // CHECK-DAG: %[[A:.*]] = plan.slice state[{{.*}}] "a"
  // CHECK-DAG: %[[B:.*]] = plan.slice state[{{.*}}] "b"
  // CHECK-DAG: %[[C:.*]] = plan.slice state[{{.*}}] "c"
  // CHECK-DAG: %[[P:.*]] = plan.slice state[{{.*}}] "p"
  // CHECK-DAG: %[[Y:.*]] = plan.slice output[{{.*}}] "y"
  // CHECK: plan.gemm(%{{.*}}, %{{.*}}, %[[A]]) workspace(%{{.*}}) -> (%[[A]])
  %0 = sinter.fusion library_gemm(%x, %g, %a : tensor<16x4xf32>, tensor<4x8xf32>, !w) -> (!w) {
  ^bb0(%l: tensor<16x4xf32>, %r: tensor<4x8xf32>, %s: !w):
    %5 = sinter.matmul %l, %r : (tensor<16x4xf32>, tensor<4x8xf32>) -> !w
    %6 = sinter.add %5, %s : (!w, !w) -> !w
    sinter.yield %6 : !w
  }
  // CHECK: plan.launch @add grid 1(%[[B]], %{{.*}}) -> (%[[B]])
  %1 = sinter.call_kernel @add(%b, %h) : (!w, !w) -> !w
  // CHECK: %[[NEW:.*]] = plan.alloc 512
  // CHECK: plan.launch @swap grid 1(%[[C]]) -> (%[[NEW]])
  %2 = sinter.call_kernel @swap(%c) : (!w) -> !w
  // What is only read stays where it is.
  // CHECK: plan.launch @add grid 1(%[[P]], %{{.*}}) -> (%[[Y]])
  %3 = sinter.call_kernel @add(%p, %h) : (!w, !w) -> !w
  // CHECK: plan.copy(%[[NEW]]) -> (%[[C]])
  // CHECK-NOT: plan.copy
  return %0, %1, %2, %3 : !w, !w, !w, !w
}

// One launch updates the parameter and clears the sum.
// CHECK-LABEL: plan.program @update
func.func @update(%s: tensor<f32> {sinter.input = "s"}, %a: !w {sinter.state = "a", sinter.donated = 1 : i64},
    %p: !w {sinter.state = "p", sinter.donated = 0 : i64}) -> (!w {sinter.state = "p"}, !w {sinter.state = "a"})
    attributes {sinter.entry} {
  // CHECK-DAG: %[[A:.*]] = plan.slice state[{{.*}}] "a"
  // CHECK-DAG: %[[P:.*]] = plan.slice state[{{.*}}] "p"
  // CHECK: plan.launch @descend grid 1(%[[P]], %[[A]], %{{.*}}) -> (%[[P]], %[[A]])
  // CHECK-NOT: plan.copy
  %0:2 = sinter.call_kernel @descend(%p, %a, %s) : (!w, !w, tensor<f32>) -> (!w, !w)
  return %0#0, %0#1 : !w, !w
}
