// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-assign-compute-type=tf32 | FileCheck %s --check-prefix=GPU
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-assign-compute-type=tf32 | FileCheck %s --check-prefix=CPU
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-assign-compute-type="tf32 compute-type=bf16" | FileCheck %s --check-prefix=CPU

// Only a GPU has TF32, and only products of f32 are rounded to it.
// GPU: sinter.matmul {{.*}} {tf32}
// CPU: sinter.matmul
// CPU-NOT: tf32
func.func @entry(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
