// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-form-fusions | FileCheck %s

// What order a sum has must not depend on what its row is fused with: rows are put together first.
// CHECK-LABEL: func.func @prefill
// CHECK: %[[ROWS:.*]] = sinter.concat
// CHECK: sinter.fusion rows(%[[ROWS]]
// CHECK: sinter.rms_norm
// CHECK: sinter.mul
func.func @prefill(%x: tensor<64x64xf32> {sinter.input = "x"}, %y: tensor<64x64xf32> {sinter.input = "y"},
                   %w: tensor<64xf32> {sinter.parameter = "w"})
    -> (tensor<128x64xf32> {sinter.output = "z"}) attributes {sinter.entry} {
  %0 = sinter.concat %x, %y {dim = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  %2 = sinter.mul %1, %1 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  return %2 : tensor<128x64xf32>
}

// Rows of a transposed matrix that are packed as columns.
// CHECK-LABEL: func.func @packed_transposed
// CHECK: sinter.fusion pack(%arg0, %arg1
// CHECK: sinter.concat
// CHECK: sinter.transpose
// CHECK: sinter.pack
!panels = tensor<8x24xf32, #sinter.panels<width = 16, interleave = 1, depth = 16>>
func.func @packed_transposed(%a: tensor<16x8xf32>, %b: tensor<8x8xf32>) -> !panels attributes {sinter.entry} {
  %0 = sinter.concat %a, %b {dim = 0 : i64} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<24x8xf32>) -> tensor<8x24xf32>
  %2 = sinter.pack %1 : (tensor<8x24xf32>) -> !panels
  return %2 : !panels
}

// A part of what a step makes has no address of its own.
// CHECK-LABEL: func.func @packed_part
// CHECK: sinter.slice
// CHECK: sinter.yield
// CHECK: sinter.pack %0
func.func @packed_part(%a: tensor<16x8xf32>) -> tensor<8x8xf32, #sinter.panels<width = 16, interleave = 1, depth = 16>> attributes {sinter.entry} {
  %0 = sinter.gelu %a : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 8, 0>} : (tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = sinter.pack %1 : (tensor<8x8xf32>) -> tensor<8x8xf32, #sinter.panels<width = 16, interleave = 1, depth = 16>>
  return %2 : tensor<8x8xf32, #sinter.panels<width = 16, interleave = 1, depth = 16>>
}

// Packing rounds once: what is rounded twice is a kernel of rows before.
// CHECK-LABEL: func.func @packed_twice_rounded
// CHECK: sinter.fusion rows
// CHECK-COUNT-2: sinter.cast
// CHECK: sinter.yield
// CHECK: sinter.pack %0
func.func @packed_twice_rounded(%w: tensor<8x8xf16>) -> tensor<8x8xbf16, #sinter.panels<width = 16, interleave = 2, depth = 32>> attributes {sinter.entry} {
  %0 = sinter.cast %w : (tensor<8x8xf16>) -> tensor<8x8xf32>
  %1 = sinter.cast %0 : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %2 = sinter.pack %1 : (tensor<8x8xbf16>) -> tensor<8x8xbf16, #sinter.panels<width = 16, interleave = 2, depth = 32>>
  return %2 : tensor<8x8xbf16, #sinter.panels<width = 16, interleave = 2, depth = 32>>
}
