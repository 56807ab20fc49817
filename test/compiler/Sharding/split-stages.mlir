// RUN: sinter-opt %s --sinter-split-stages=microbatches=4 | FileCheck %s
// RUN: sinter-opt %s --sinter-split-stages="microbatches=4 schedule=gpipe" | FileCheck %s --check-prefix=GPIPE
// RUN: sinter-opt %s --sinter-split-stages="microbatches=4 schedule=zero-bubble" | FileCheck %s --check-prefix=BUBBLE
// RUN: sinter-opt %s %remarks --sinter-split-stages=microbatches=4 -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: stage 0 of a pipeline: layers 0 to 0, {{[0-9]+}} % of the predicted time, microbatches in flight: 2
// REMARK: stage 1 of a pipeline: layers 1 to 1, {{[0-9]+}} % of the predicted time, microbatches in flight: 1

// Two layers that multiply by weights, of which the first one's is the head's, too.

// What a stage sends stays in flight; the first stage keeps what its backward pass needs.
// CHECK: module attributes {{.*}}sinter.pipeline_slots = array<i64: 2, 1>
// CHECK-LABEL: func.func @accumulate.0.forward(
// CHECK-SAME: sinter.input = "tokens"{{.*}}sinter.role = #sinter.role<parameter>, sinter.state = "w.0"
// CHECK-SAME: -> (tensor<4x4xf32> {sinter.flight = "accumulate.[[Y:[0-9]+]]", sinter.send = array<i64: 1, 0>}) attributes {sinter.entry, sinter.pipeline_stage = 0 : i64}
// CHECK: sinter.matmul

// A gradient of the shared weight comes back beside that of the activations; both are gone at the end.
// CHECK-LABEL: func.func @accumulate.0.backward(
// CHECK-SAME: {sinter.receive = array<i64: 1, 1>}
// CHECK-SAME: sinter.donated = 0 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w.0"
// CHECK-SAME: {sinter.receive = array<i64: 1, 2>}
// CHECK-SAME: -> (tensor<4x4xf32> {sinter.state = "gradient.w.0"})

// The last stage goes backward at once, and has a copy of the weight.
// CHECK-LABEL: func.func @accumulate.1.forward(
// CHECK-SAME: {sinter.receive = array<i64: 0, 0>}
// CHECK-SAME: {sinter.state = "copy1.w.0"}
// CHECK-SAME: sinter.send = array<i64: 0,
// CHECK-SAME: sinter.send = array<i64: 0,
// CHECK-NOT: @accumulate.1.backward

// CHECK-LABEL: func.func @share.0.forward(
// CHECK-SAME: sinter.state = "w.0"
// CHECK-SAME: {sinter.send = array<i64: 1, 3>, sinter.state = "w.0"}
// CHECK-LABEL: func.func @share.1.forward(
// CHECK-SAME: sinter.receive = array<i64: 0, 3>, sinter.state = "copy1.w.0"

// GPIPE: sinter.pipeline_slots = array<i64: 4, 4>

// What nobody waits for has a pass of its own.
// BUBBLE: sinter.pipeline_slots = array<i64: 2, 2>
// BUBBLE: func.func @accumulate.1.weights(
// BUBBLE-SAME: sinter.state = "gradient.w.1"
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                        %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                        %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                        %g0: tensor<4x4xf32> {sinter.state = "gradient.w.0", sinter.role = #sinter.role<gradient>},
                        %g1: tensor<4x4xf32> {sinter.state = "gradient.w.1", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}, tensor<4x4xf32> {sinter.state = "gradient.w.0"},
          tensor<4x4xf32> {sinter.state = "gradient.w.1"}) attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    %head = sinter.matmul %z, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("head")
    %dhead = sinter.matmul %z, %head {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["head"])
    %dz = sinter.matmul %head, %w0 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["head"])
    %d1 = sinter.matmul %y, %dz {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %dy = sinter.matmul %dz, %w1 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %d0 = sinter.matmul %x, %dy {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %next0 = sinter.add %g0, %d0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    %sum0 = sinter.add %next0, %dhead : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    %next1 = sinter.add %g1, %d1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.1"])
    return %head, %sum0, %next1 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
