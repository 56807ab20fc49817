// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-split-attention-grad | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-split-attention-grad | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: func.func @all
// CHECK: %[[Q:.*]] = sinter.fusion attention_grad({{.*}}) -> (tensor<1x4x2x8xf32>)
// CHECK: sinter.yield %{{.*}} : tensor<1x4x2x8xf32>
// CHECK: %[[KV:.*]]:2 = sinter.fusion attention_grad({{.*}}) -> (tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>)
// CHECK: sinter.yield %{{.*}}, %{{.*}} : tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>
// CHECK: return %[[Q]], %[[KV]]#0, %[[KV]]#1
// CPU-LABEL: func.func @all
// CPU-COUNT-1: sinter.fusion attention_grad
// CPU-NOT: sinter.fusion
func.func @all(%q: tensor<1x4x2x8xf32>, %k: tensor<1x6x1x8xf32>, %g: tensor<1x4x2x8xf32>, %l: tensor<1x4x2xf32>)
    -> (tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>) attributes {sinter.entry} {
  %0:3 = sinter.fusion attention_grad(%q, %k, %g, %l : tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>) {
  ^bb0(%a: tensor<1x4x2x8xf32>, %b: tensor<1x6x1x8xf32>, %c: tensor<1x4x2x8xf32>, %d: tensor<1x4x2xf32>):
    %1:3 = sinter.attention_grad %a, %b, %b, %c, %d, %d {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
        -> (tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>)
    sinter.yield %1#0, %1#1, %1#2 : tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<1x4x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>
}
