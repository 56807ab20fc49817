// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-form-fusions --sinter-isolate-ops --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s

#rows = #sinter.panels<width = 128, interleave = 1, depth = 1>

// Products by integers are kernels of ours, which take any chain for many rows, too.
// CHECK-DAG: the library has no such product
// CHECK-LABEL: func.func @many_rows
// CHECK: sinter.fusion gemm
// CHECK: sinter.mul
// CHECK-NOT: sinter.fusion
func.func @many_rows(%x: tensor<64x128xbf16>, %w: tensor<256x128xi8>, %s: tensor<256x4xf32>, %r: tensor<64x256xf32>)
    -> tensor<64x256xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<64x128xbf16>, tensor<256x128xi8>, tensor<256x4xf32>) -> tensor<64x256xf32>
  %1 = sinter.silu %0 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %2 = sinter.mul %1, %r : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}

// Halves of columns that no item of a processor's panels begins with are a gate all the same.
// CHECK-LABEL: func.func @gate_and_up
// CHECK: sinter.fusion gemm
// CHECK: sinter.mul
// CHECK-NOT: sinter.fusion
func.func @gate_and_up(%x: tensor<1x128xbf16>, %w: tensor<88x128xi4, #rows>, %s: tensor<88x1xf32>) -> tensor<1x44xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<1x128xbf16>, tensor<88x128xi4, #rows>, tensor<88x1xf32>) -> tensor<1x88xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<1x88xf32>) -> tensor<1x44xf32>
  %2 = sinter.silu %1 : (tensor<1x44xf32>) -> tensor<1x44xf32>
  %3 = sinter.slice %0 {offsets = array<i64: 0, 44>} : (tensor<1x88xf32>) -> tensor<1x44xf32>
  %4 = sinter.mul %2, %3 : (tensor<1x44xf32>, tensor<1x44xf32>) -> tensor<1x44xf32>
  return %4 : tensor<1x44xf32>
}

// With many rows no kernel has a gate: it follows in one of its own.
// CHECK-LABEL: func.func @many_rows_and_gate
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @many_rows_and_gate(%x: tensor<64x128xbf16>, %w: tensor<88x128xi4, #rows>, %s: tensor<88x1xf32>)
    -> tensor<64x44xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<64x128xbf16>, tensor<88x128xi4, #rows>, tensor<88x1xf32>) -> tensor<64x88xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<64x88xf32>) -> tensor<64x44xf32>
  %2 = sinter.silu %1 : (tensor<64x44xf32>) -> tensor<64x44xf32>
  %3 = sinter.slice %0 {offsets = array<i64: 0, 44>} : (tensor<64x88xf32>) -> tensor<64x44xf32>
  %4 = sinter.mul %2, %3 : (tensor<64x44xf32>, tensor<64x44xf32>) -> tensor<64x44xf32>
  return %4 : tensor<64x44xf32>
}

// A kernel packs, alone.
// CHECK-LABEL: func.func @packing
// CHECK: sinter.fusion rows
// CHECK: sinter.transpose
// CHECK: sinter.fusion pack_integers
// CHECK: sinter.pack
func.func @packing(%w: tensor<128x88xi4>) -> tensor<88x128xi4, #rows> attributes {sinter.entry} {
  %0 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<128x88xi4>) -> tensor<88x128xi4>
  %1 = sinter.pack %0 : (tensor<88x128xi4>) -> tensor<88x128xi4, #rows>
  return %1 : tensor<88x128xi4, #rows>
}
