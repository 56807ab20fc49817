// RUN: sinter-opt %s --sinter-lower-to-plan | FileCheck %s

// A command is of the stage that its location names: of several, the latest.

!v = tensor<8xf32>

func.func private @add(%a: !v, %b: !v) -> !v attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.add %a, %b : (!v, !v) -> !v
  return %0 : !v
}

// CHECK-LABEL: plan.program @train_step
func.func @train_step(%x: !v {sinter.input = "x"}, %w: !v {sinter.state = "w"})
    -> (!v {sinter.output = "y"}, !v {sinter.state = "w"}, !v {sinter.output = "z"})
    attributes {sinter.entry} {
  // CHECK: plan.launch @add
  // CHECK-NOT: stage
  %0 = sinter.call_kernel @add(%x, %x) : (!v, !v) -> !v loc("layers.0")
  // CHECK: plan.launch @add {{.*}}layer = "layers.0"{{.*}}stage = "backward"
  %1 = sinter.call_kernel @add(%0, %x) : (!v, !v) -> !v loc(fused<"backward">["layers.0"])
  // CHECK: plan.launch @add {{.*}}stage = "recompute"
  %2 = sinter.call_kernel @add(%1, %x) : (!v, !v) -> !v
      loc(fused[fused<"recompute">["layers.0"], fused<"backward">["layers.1"]])
  // CHECK: plan.launch @add {{.*}}stage = "optimizer"
  %3 = sinter.call_kernel @add(%2, %w) : (!v, !v) -> !v loc(fused<"optimizer">["w"])
  // What is moved at the end belongs to where the step had got.
  // CHECK: plan.copy({{.*}}stage = "optimizer"
  return %0, %3, %0 : !v, !v, !v
}
