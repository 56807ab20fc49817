// RUN: sinter-opt %s --sinter-share-tables %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Passed < %t.remarks

#f32 = #sinter.panels<width = 64, interleave = 1, depth = 16>
#bf16 = #sinter.panels<width = 64, interleave = 2, depth = 32>
#codes = #sinter.panels<width = 32, interleave = 4, depth = 32, values = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]>

// CHECK-NOT: transpose_table

// The lookup's numbers are not those of the panels.
// REMARK: [Missed] SharedTable | Category:sinter-layout | Function=rounded
// REMARK-SAME: wte stays as it is beside its panels, 0.0 MB more: their numbers are rounded
func.func @rounded(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x8xf32> {sinter.parameter = "wte"})
    -> (tensor<4x8xf32>, tensor<8x32xbf16, #bf16>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %c = sinter.cast %w : (tensor<32x8xf32>) -> tensor<32x8xbf16>
  %t = sinter.transpose %c {permutation = array<i64: 1, 0>} : (tensor<32x8xbf16>) -> tensor<8x32xbf16>
  %p = sinter.pack %t : (tensor<8x32xbf16>) -> tensor<8x32xbf16, #bf16>
  return %x, %p : tensor<4x8xf32>, tensor<8x32xbf16, #bf16>
}

// Nor are codes of four bits looked up.
// REMARK: Function=codes{{.*}}they hold codes of four bits
func.func @codes(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x64xi8> {sinter.parameter = "wte"})
    -> (tensor<4x64xi8>, tensor<64x32xi8, #codes>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x64xi8>, tensor<4xi32>) -> tensor<4x64xi8>
  %t = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<32x64xi8>) -> tensor<64x32xi8>
  %p = sinter.pack %t : (tensor<64x32xi8>) -> tensor<64x32xi8, #codes>
  return %x, %p : tensor<4x64xi8>, tensor<64x32xi8, #codes>
}

// Rounded and widened again.
// REMARK: Function=rounded_once{{.*}}their numbers are rounded
func.func @rounded_once(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x8xf32> {sinter.parameter = "wte"})
    -> (tensor<4x8xf32>, tensor<8x32xf32, #f32>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %c = sinter.cast %w : (tensor<32x8xf32>) -> tensor<32x8xf16>
  %d = sinter.cast %c : (tensor<32x8xf16>) -> tensor<32x8xf32>
  %t = sinter.transpose %d {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %p = sinter.pack %t : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
  return %x, %p : tensor<4x8xf32>, tensor<8x32xf32, #f32>
}

// REMARK: Function=also_sliced{{.*}}wte stays as it is beside its panels, 0.0 MB more: sinter.slice reads it, too
func.func @also_sliced(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x8xf32> {sinter.parameter = "wte"})
    -> (tensor<4x8xf32>, tensor<8x32xf32, #f32>, tensor<4x8xf32>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %s = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<32x8xf32>) -> tensor<4x8xf32>
  %t = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %p = sinter.pack %t : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
  return %x, %p, %s : tensor<4x8xf32>, tensor<8x32xf32, #f32>, tensor<4x8xf32>
}

// REMARK-NOT: SharedTable

// A table of its own, a state, and a function that is no entry.
func.func @untied(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x8xf32> {sinter.parameter = "wte"},
                  %head: tensor<8x32xf32> {sinter.parameter = "head"})
    -> (tensor<4x8xf32>, tensor<8x32xf32, #f32>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %p = sinter.pack %head : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
  return %x, %p : tensor<4x8xf32>, tensor<8x32xf32, #f32>
}

func.func @trained(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<32x8xf32> {sinter.state = "wte"})
    -> (tensor<4x8xf32>, tensor<8x32xf32, #f32>) attributes {sinter.entry} {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %t = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %p = sinter.pack %t : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
  return %x, %p : tensor<4x8xf32>, tensor<8x32xf32, #f32>
}

func.func @no_entry(%ids: tensor<4xi32>, %w: tensor<32x8xf32> {sinter.parameter = "wte"})
    -> (tensor<4x8xf32>, tensor<8x32xf32, #f32>) {
  %x = sinter.embedding %w, %ids : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %t = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %p = sinter.pack %t : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
  return %x, %p : tensor<4x8xf32>, tensor<8x32xf32, #f32>
}
