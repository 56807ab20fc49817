// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize="release=1" | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize="release=100000" | FileCheck %s --check-prefix=ALL
// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize | FileCheck %s --check-prefix=NONE

// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize="free-share=0.2" | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize="free-share=0.2 granularity=layer" | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v3 cores=2" --sinter-rematerialize="free-share=0.001" | FileCheck %s --check-prefix=NONE

// The cheapest op a byte goes first: the gelu, not the product.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[P:.*]] = sinter.matmul %{{.*}}, %arg1 : (
// CHECK: %[[G:.*]] = sinter.gelu %[[P]] : (
// CHECK: sinter.matmul %[[G]]
// CHECK-NOT: sinter.matmul {{.*}} {sinter.recompute}
// CHECK: %[[AGAIN:.*]] = sinter.gelu %[[P]] {sinter.recompute}
// CHECK: sinter.matmul %[[AGAIN]], %{{.*}} {transpose_lhs}

// Then the product too; the gelu reads the copy.
// ALL-LABEL: func.func @train_step
// ALL: %[[P:.*]] = sinter.matmul %{{.*}}, %arg1 {sinter.recompute}
// ALL: %[[AGAIN:.*]] = sinter.gelu %[[P]] {sinter.recompute}
// ALL: sinter.matmul %[[AGAIN]], %{{.*}} {transpose_lhs}

// NONE-NOT: sinter.recompute
func.func @train_step(%x: tensor<64x64xf32> {sinter.input = "x"},
                      %w: tensor<64x256xf32> {sinter.state = "w"},
                      %v: tensor<256x64xf32> {sinter.state = "v"})
    -> (tensor<256x64xf32> {sinter.output = "dv"}, tensor<64x256xf32> {sinter.output = "dp"}) attributes {sinter.entry} {
  %p = sinter.matmul %x, %w : (tensor<64x64xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> loc("layers.0.mlp.up")
  %g = sinter.gelu %p : (tensor<64x256xf32>) -> tensor<64x256xf32> loc("layers.0.mlp.up")
  %y = sinter.matmul %g, %v : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32> loc("layers.0.mlp.down")
  %dv = sinter.matmul %g, %y {transpose_lhs} : (tensor<64x256xf32>, tensor<64x64xf32>) -> tensor<256x64xf32> loc(fused<"backward">["layers.0.mlp.down"])
  %dp = sinter.gelu_derivative %p : (tensor<64x256xf32>) -> tensor<64x256xf32> loc(fused<"backward">["layers.0.mlp.up"])
  return %dv, %dp : tensor<256x64xf32>, tensor<64x256xf32>
}
