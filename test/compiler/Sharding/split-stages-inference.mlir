// RUN: sinter-opt %s --sinter-split-stages | FileCheck %s
// RUN: sinter-opt %s --sinter-split-stages="schedule=interleaved microbatches=1" | FileCheck %s

// A step of inference: each stage has its weights and caches, and all inputs. A cache that is laid out anew
// first is of the layer that uses it then.
// CHECK: module attributes {{.*}}sinter.pipeline_slots = array<i64: 1, 1>
// CHECK-LABEL: func.func @decode.0.forward(
// CHECK-SAME: sinter.input = "tokens"
// CHECK-SAME: sinter.input = "seed"
// CHECK-SAME: sinter.parameter = "w.0"
// CHECK-SAME: sinter.state = "cache.0"
// CHECK-NOT: cache.1
// CHECK-SAME: sinter.send = array<i64: 1, 0>

// What the last stage puts out comes back.
// CHECK-LABEL: func.func @decode.0.backward(
// CHECK-SAME: %[[TOKEN:.*]]: tensor<1x4x1x4xf32> {sinter.receive = array<i64: 1, 1>})
// CHECK-SAME: -> (tensor<1x4x1x4xf32> {sinter.output = "token"}) attributes {sinter.entry, sinter.pipeline_stage = 0 : i64}
// CHECK-NEXT: return %[[TOKEN]]

// A weight that both stages read each of them preprocesses for itself.
// CHECK-LABEL: func.func @decode.1.forward(
// CHECK-SAME: sinter.input = "tokens"
// CHECK-SAME: sinter.input = "seed"
// CHECK-SAME: sinter.state = "cache.1"
// CHECK-SAME: sinter.receive = array<i64: 0, 0>
// CHECK-SAME: sinter.parameter = "w.0"
// CHECK-SAME: sinter.output = "token"
// CHECK-SAME: sinter.send = array<i64: 0, 1>
// CHECK-NOT: func.func
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @decode(%x: tensor<1x4x1x4xf32> {sinter.input = "tokens"}, %seed: tensor<1x4x1x4xf32> {sinter.input = "seed"},
                    %w: tensor<4x4xf32> {sinter.parameter = "w.0"},
                    %c0: tensor<1x4x1x4xf32> {sinter.state = "cache.0", sinter.role = #sinter.role<kv_cache>},
                    %c1: tensor<1x4x1x4xf32> {sinter.state = "cache.1", sinter.role = #sinter.role<kv_cache>})
      -> (tensor<1x4x1x4xf32> {sinter.output = "token"}, tensor<1x4x1x4xf32> {sinter.state = "cache.0"},
          tensor<1x4x1x4xf32> {sinter.state = "cache.1"}) attributes {sinter.entry} {
    %y = sinter.matmul %x, %w : (tensor<1x4x1x4xf32>, tensor<4x4xf32>) -> tensor<1x4x1x4xf32> loc("layer.0")
    %turned = sinter.transpose %c0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x1x4xf32>) -> tensor<1x1x4x4xf32> loc("cache.0")
    %rows = sinter.transpose %turned {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x1x4x4xf32>) -> tensor<1x4x1x4xf32> loc("cache.0")
    %n0 = sinter.add %rows, %y : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32> loc("layer.0")
    %z = sinter.add %n0, %y : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32> loc("layer.0")
    %n1 = sinter.add %c1, %z : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32> loc("layer.1")
    %u = sinter.add %n1, %z : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32> loc("layer.1")
    %head = sinter.matmul %u, %w : (tensor<1x4x1x4xf32>, tensor<4x4xf32>) -> tensor<1x4x1x4xf32> loc("head")
    %token = sinter.add %head, %seed : (tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x1x4xf32> loc("head")
    return %token, %n0, %n1 : tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>, tensor<1x4x1x4xf32>
  }
}
