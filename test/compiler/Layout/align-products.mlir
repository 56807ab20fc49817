// RUN: sinter-opt %s --sinter-align-products --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-align-products --split-input-file %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A GPU on which starting kernels costs nothing to speak of.
#gpu = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255,
    cores = 132, gflops_f32 = 60, gflops_bf16 = 800, memory_gbs = 4800, launch_ns = 1,
    l1_bytes = 232448, l2_bytes = 262144, l3_bytes = 52428800>

module attributes {sinter.target = #gpu} {
// REMARK: Aligned{{.*}}Function=loss{{.*}}a product of 64 rows, 13 columns and a depth of 8 has unaligned rows: {{.*}} so, {{.*}} aligned
// CHECK-LABEL: func.func @loss
func.func @loss(%x: tensor<64x8xbf16>, %w: tensor<13x8xbf16>, %d: tensor<64x13xbf16>, %e: tensor<64x13xbf16>)
    -> (tensor<64x13xf32>, tensor<64x8xf32>, tensor<13x8xf32>) attributes {sinter.entry} {
  // The vocabulary's rows, for two products.
  // CHECK-DAG: %[[W:.*]] = sinter.concat %arg1, %{{.*}} {dim = 0 : i64} : (tensor<13x8xbf16>, tensor<3x8xbf16>)
  // CHECK-DAG: %[[D:.*]] = sinter.concat %arg2, %{{.*}} {dim = 1 : i64} : (tensor<64x13xbf16>, tensor<64x3xbf16>)
  // CHECK-DAG: %[[E:.*]] = sinter.concat %arg3, %{{.*}} {dim = 1 : i64} : (tensor<64x13xbf16>, tensor<64x3xbf16>)
  // CHECK: %[[L:.*]] = sinter.matmul %arg0, %[[W]] {transpose_rhs} : (tensor<64x8xbf16>, tensor<16x8xbf16>) -> tensor<64x16xf32>
  // CHECK: %[[LS:.*]] = sinter.slice %[[L]] {offsets = array<i64: 0, 0>} : (tensor<64x16xf32>) -> tensor<64x13xf32>
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<64x8xbf16>, tensor<13x8xbf16>) -> tensor<64x13xf32>
  // CHECK: %[[H:.*]] = sinter.matmul %[[D]], %[[W]] : (tensor<64x16xbf16>, tensor<16x8xbf16>) -> tensor<64x8xf32>
  %1 = sinter.matmul %d, %w : (tensor<64x13xbf16>, tensor<13x8xbf16>) -> tensor<64x8xf32>
  // Both blocks' gradients of the weight in one sum, of which a part is the result.
  // CHECK: %[[A:.*]] = sinter.matmul %[[D]], %arg0 {transpose_lhs} : (tensor<64x16xbf16>, tensor<64x8xbf16>) -> tensor<16x8xf32>
  // CHECK: %[[B:.*]] = sinter.matmul %[[E]], %arg0 {transpose_lhs} : (tensor<64x16xbf16>, tensor<64x8xbf16>) -> tensor<16x8xf32>
  // CHECK: %[[S:.*]] = sinter.add %[[B]], %[[A]] : (tensor<16x8xf32>
  // CHECK: %[[SS:.*]] = sinter.slice %[[S]] {offsets = array<i64: 0, 0>} : (tensor<16x8xf32>) -> tensor<13x8xf32>
  // CHECK: return %[[LS]], %[[H]], %[[SS]]
  %2 = sinter.matmul %d, %x {transpose_lhs} : (tensor<64x13xbf16>, tensor<64x8xbf16>) -> tensor<13x8xf32>
  %3 = sinter.matmul %e, %x {transpose_lhs} : (tensor<64x13xbf16>, tensor<64x8xbf16>) -> tensor<13x8xf32>
  %4 = sinter.add %3, %2 : (tensor<13x8xf32>, tensor<13x8xf32>) -> tensor<13x8xf32>
  return %0, %1, %4 : tensor<64x13xf32>, tensor<64x8xf32>, tensor<13x8xf32>
}
}

// -----

// Aligned as it is, of few rows, too small for a copy, and integers, whose kernels take them so.
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000,
    memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144, l3_bytes = 52428800>} {
// REMARK: NotAligned{{.*}}Function=none{{.*}}a product of 64 rows, 13 columns and a depth of 8
// CHECK-LABEL: func.func @none
func.func @none(%x: tensor<64x8xbf16>, %w: tensor<13x8xbf16>, %v: tensor<16x8xbf16>, %r: tensor<8x8xbf16>,
    %q: tensor<13x8xi8>, %s: tensor<13x1xf32>)
    -> (tensor<64x13xf32>, tensor<64x16xf32>, tensor<8x13xf32>, tensor<64x13xf32>) attributes {sinter.entry} {
  // CHECK-NOT: sinter.concat
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<64x8xbf16>, tensor<13x8xbf16>) -> tensor<64x13xf32>
  %1 = sinter.matmul %x, %v {transpose_rhs} : (tensor<64x8xbf16>, tensor<16x8xbf16>) -> tensor<64x16xf32>
  %2 = sinter.matmul %r, %w {transpose_rhs} : (tensor<8x8xbf16>, tensor<13x8xbf16>) -> tensor<8x13xf32>
  %3 = sinter.matmul %x, %q, %s {transpose_rhs} : (tensor<64x8xbf16>, tensor<13x8xi8>, tensor<13x1xf32>) -> tensor<64x13xf32>
  return %0, %1, %2, %3 : tensor<64x13xf32>, tensor<64x16xf32>, tensor<8x13xf32>, tensor<64x13xf32>
}
}

// -----

// A processor's products read panels.
module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f",
    vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 500, gflops_bf16 = 1000,
    memory_gbs = 70, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
// CHECK-LABEL: func.func @panels
func.func @panels(%x: tensor<64x8xf32>, %w: tensor<13x8xf32>) -> tensor<64x13xf32> attributes {sinter.entry} {
  // CHECK-NOT: sinter.concat
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<64x8xf32>, tensor<13x8xf32>) -> tensor<64x13xf32>
  return %0 : tensor<64x13xf32>
}
}
