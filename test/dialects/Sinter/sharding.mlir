// RUN: sinter-opt %s --pass-pipeline="builtin.module(func.func(sharding-propagation,shard-partition,canonicalize))" | FileCheck %s

// What ops say of their loops is enough for the upstream passes to split a graph over devices.

shard.grid @grid(shape = 2x4)

// Rows over the grid's first axis, the hidden width over the second: the norm needs its rows whole
// and has them, the second product has parts of sums.
// CHECK-LABEL: func.func @mlp(%{{.*}}: tensor<2x6x8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<4x8xf32>) -> tensor<2x6x8xf32>
func.func @mlp(%x: tensor<4x6x8xf32>, %norm: tensor<8xf32>, %up: tensor<8x16xf32>,
               %down: tensor<16x8xf32>) -> tensor<4x6x8xf32> {
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %both = shard.sharding @grid split_axes = [[0], [], [1]] : !shard.sharding
  %xs = shard.shard %x to %rows : tensor<4x6x8xf32>
  %ups = shard.shard %up to %columns : tensor<8x16xf32>
  // CHECK-NEXT: %[[N:.*]] = sinter.rms_norm
  // CHECK-NEXT: %[[M:.*]] = sinter.matmul %[[N]], %{{.*}} : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
  // CHECK-NEXT: %[[S:.*]] = sinter.silu %[[M]]
  // CHECK-NEXT: %[[P:.*]] = sinter.matmul %[[S]], %{{.*}} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  // CHECK-NEXT: %[[R:.*]] = shard.all_reduce %[[P]] on @grid grid_axes = [1]
  // CHECK-NEXT: sinter.add %[[R]], %{{.*}} : (tensor<2x6x8xf32>
  %0 = sinter.rms_norm %xs, %norm {eps = 1.0e-5} : (tensor<4x6x8xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  %1 = sinter.matmul %0, %ups : (tensor<4x6x8xf32>, tensor<8x16xf32>) -> tensor<4x6x16xf32>
  %2 = shard.shard %1 to %both annotate_for_users : tensor<4x6x16xf32>
  %3 = sinter.silu %2 : (tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  %4 = shard.shard %3 to %both annotate_for_users : tensor<4x6x16xf32>
  %5 = sinter.matmul %4, %down : (tensor<4x6x16xf32>, tensor<16x8xf32>) -> tensor<4x6x8xf32>
  %6 = sinter.add %5, %xs : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  return %6 : tensor<4x6x8xf32>
}

// Heads over the second axis: each device has the query heads that read its key-value head.
// CHECK-LABEL: func.func @heads(%{{.*}}: tensor<2x6x2x8xf32>, %{{.*}}: tensor<2x6x1x8xf32>
func.func @heads(%q: tensor<2x6x8x8xf32>, %kv: tensor<2x6x4x8xf32>) -> tensor<2x6x64xf32> {
  %heads = shard.sharding @grid split_axes = [[], [], [1]] : !shard.sharding
  %qs = shard.shard %q to %heads : tensor<2x6x8x8xf32>
  // CHECK: sinter.attention {{.*}} : (tensor<2x6x2x8xf32>, tensor<2x6x1x8xf32>, tensor<2x6x1x8xf32>) -> tensor<2x6x2x8xf32>
  // CHECK: sinter.reshape %{{.*}} : (tensor<2x6x2x8xf32>) -> tensor<2x6x16xf32>
  %0 = sinter.attention %qs, %kv, %kv {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<2x6x8x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> tensor<2x6x8x8xf32>
  %1 = sinter.reshape %0 : (tensor<2x6x8x8xf32>) -> tensor<2x6x64xf32>
  return %1 : tensor<2x6x64xf32>
}

// A row that is split is gathered for what needs it whole.
// CHECK-LABEL: func.func @whole(%{{.*}}: tensor<4x2xf32>
func.func @whole(%x: tensor<4x8xf32>, %norm: tensor<8xf32>) -> tensor<4x8xf32> {
  %columns = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %xs = shard.shard %x to %columns : tensor<4x8xf32>
  // CHECK: shard.all_gather %{{.*}} on @grid grid_axes = [1] gather_axis = 1 : tensor<4x2xf32> -> tensor<4x8xf32>
  // CHECK: sinter.rms_norm %{{.*}} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = sinter.rms_norm %xs, %norm {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
