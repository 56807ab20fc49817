// RUN: sinter-opt %s --sinter-pack-weights | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-pack-weights | FileCheck %s --check-prefix=AVX2
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:cooperlake --sinter-pack-weights | FileCheck %s --check-prefix=VNNI
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:alderlake --sinter-pack-weights | FileCheck %s --check-prefix=AVXVNNI

// Tiles of 8 elements in 16 registers are narrower.
// AVX2-LABEL: func.func @plain
// AVX2: sinter.pack %arg1 : (tensor<8x16xf32>) -> tensor<8x16xf32, #sinter.panels<width = 16, interleave = 1, depth = 16>>

// CHECK-LABEL: func.func @plain
// CHECK: %[[P:.*]] = sinter.pack %arg1 : (tensor<8x16xf32>) -> tensor<8x16xf32, #sinter.panels<width = 32, interleave = 1, depth = 16>>
// CHECK: sinter.matmul %arg0, %[[P]] : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 32, interleave = 1, depth = 16>>) -> tensor<4x16xf32>
func.func @plain(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>} : (tensor<16x8xbf16>) -> tensor<8x16xbf16>
// CHECK: %[[P:.*]] = sinter.pack %[[T]] : (tensor<8x16xbf16>) -> tensor<8x16xbf16, #sinter.panels<width = 32, interleave = 2, depth = 32>>
// CHECK: sinter.matmul %arg0, %[[P]] : (tensor<4x8xbf16>, tensor<8x16xbf16, #sinter.panels<width = 32, interleave = 2, depth = 32>>) -> tensor<4x16xf32>
func.func @transposed(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// A gradient's sum over rows: both operands hold pairs of rows.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[X:.*]] = sinter.pack %arg0 : (tensor<32x8xbf16>) -> tensor<32x8xbf16, #sinter.panels<width = 32, interleave = 2, depth = 32>>
// CHECK: %[[G:.*]] = sinter.pack %arg1 : (tensor<32x16xbf16>) -> tensor<32x16xbf16, #sinter.panels<width = 32, interleave = 2, depth = 32>>
// CHECK: sinter.matmul %[[X]], %[[G]] {transpose_lhs}
func.func @gradient(%x: tensor<32x8xbf16>, %g: tensor<32x16xbf16>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<32x8xbf16>, tensor<32x16xbf16>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @wide_gradient
// CHECK: %[[G:.*]] = sinter.pack %arg1
// CHECK: sinter.matmul %arg0, %[[G]] {transpose_lhs}
func.func @wide_gradient(%x: tensor<32x8xf32>, %g: tensor<32x16xf32>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// The vocabulary in a block of a loss: 256 rows meet 32 MiB that every step changes.
// CHECK-LABEL: func.func @vocabulary
// CHECK-NOT: sinter.pack
// CHECK: sinter.matmul %arg0, %arg1 {transpose_rhs} : (tensor<256x512xf32>, tensor<16384x512xf32>)
// CHECK-NOT: sinter.pack
// CHECK: sinter.matmul %{{.*}}, %arg1 : (tensor<256x16384xf32>, tensor<16384x512xf32>)
func.func @vocabulary(%x: tensor<256x512xf32> {sinter.input = "x"}, %w: tensor<16384x512xf32> {sinter.state = "w"})
    -> tensor<256x512xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<256x512xf32>, tensor<16384x512xf32>) -> tensor<256x16384xf32>
  %1 = sinter.matmul %0, %w : (tensor<256x16384xf32>, tensor<16384x512xf32>) -> tensor<256x512xf32>
  return %1 : tensor<256x512xf32>
}

// With more rows than a block has, or as a parameter, which is packed once, it is packed.
// CHECK-LABEL: func.func @rows
// CHECK: sinter.pack
func.func @rows(%x: tensor<1024x512xf32> {sinter.input = "x"}, %w: tensor<512x16384xf32> {sinter.state = "w"})
    -> tensor<1024x16384xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<1024x512xf32>, tensor<512x16384xf32>) -> tensor<1024x16384xf32>
  return %0 : tensor<1024x16384xf32>
}

// CHECK-LABEL: func.func @parameter
// CHECK: sinter.pack
func.func @parameter(%x: tensor<256x512xf32> {sinter.input = "x"}, %w: tensor<512x16384xf32> {sinter.parameter = "w"})
    -> tensor<256x16384xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<256x512xf32>, tensor<512x16384xf32>) -> tensor<256x16384xf32>
  return %0 : tensor<256x16384xf32>
}

// Integers of four bits: fours along k. Their scales are in panels as wide, which no k is padded in.
// AVX2-LABEL: func.func @scaled
// AVX2: sinter.pack %{{.*}} -> tensor<64x16xi4, #sinter.panels<width = 16, interleave = 4, depth = 32>>
// CHECK-LABEL: func.func @scaled
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>} : (tensor<16x64xi4>) -> tensor<64x16xi4>
// CHECK: %[[P:.*]] = sinter.pack %[[T]] : (tensor<64x16xi4>) -> tensor<64x16xi4, #sinter.panels<width = 32, interleave = 4, depth = 32>>
// CHECK: %[[S:.*]] = sinter.transpose %arg2 {permutation = array<i64: 1, 0>} : (tensor<16x2xf32>) -> tensor<2x16xf32>
// CHECK: %[[R:.*]] = sinter.pack %[[S]] : (tensor<2x16xf32>) -> tensor<2x16xf32, #sinter.panels<width = 32, interleave = 1, depth = 1>>
// CHECK: sinter.matmul %arg0, %[[P]], %[[R]] :
func.func @scaled(%x: tensor<4x64xf32>, %w: tensor<16x64xi4>, %s: tensor<16x2xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Numbers of e4m3 are fours everywhere.
// AVX2-LABEL: func.func @numbers
// AVX2: sinter.pack %{{.*}} -> tensor<64x16xf8E4M3FN, #sinter.panels<width = 16, interleave = 4, depth = 32>>
// VNNI-LABEL: func.func @numbers
// VNNI: sinter.pack %{{.*}} -> tensor<64x16xf8E4M3FN, #sinter.panels<width = 32, interleave = 4, depth = 32>>
func.func @numbers(%x: tensor<4x64xf32>, %w: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xf8E4M3FN>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Bytes that rows of bytes multiply: pairs along k, or fours where an instruction multiplies those.
// AVX2-LABEL: func.func @bytes
// AVX2: sinter.pack %{{.*}} -> tensor<62x16xi8, #sinter.panels<width = 16, interleave = 2, depth = 2>>
// AVXVNNI-LABEL: func.func @bytes
// AVXVNNI: sinter.pack %{{.*}} -> tensor<62x16xi8, #sinter.panels<width = 16, interleave = 4, depth = 4>>
// VNNI-LABEL: func.func @bytes
// VNNI: %[[P:.*]] = sinter.pack %{{.*}} -> tensor<62x16xi8, #sinter.panels<width = 32, interleave = 4, depth = 4>>
// VNNI: %[[S:.*]] = sinter.pack %{{.*}} -> tensor<1x16xf32, #sinter.panels<width = 32, interleave = 1, depth = 1>>
// VNNI: sinter.matmul %arg0, %[[P]], %[[S]] rows %arg3 :
func.func @bytes(%x: tensor<4x62xi8>, %w: tensor<16x62xi8>, %s: tensor<16x1xf32>, %r: tensor<4x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s rows %r {transpose_rhs} : (tensor<4x62xi8>, tensor<16x62xi8>, tensor<16x1xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Minima are packed as scales are.
// CHECK-LABEL: func.func @minima
// CHECK: %[[T:.*]] = sinter.transpose %arg3
// CHECK: %[[M:.*]] = sinter.pack %[[T]] : (tensor<2x16xf32>) -> tensor<2x16xf32, #sinter.panels<width = 32, interleave = 1, depth = 1>>
// CHECK: sinter.matmul %arg0, %{{.*}}, %{{.*}} minima %[[M]] :
func.func @minima(%x: tensor<4x64xf32>, %w: tensor<16x64xi4>, %s: tensor<16x2xf32>, %m: tensor<16x2xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s minima %m {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// The experts' matrices of a file, below each other, are the columns of one packed matrix.
// CHECK-LABEL: func.func @experts
// CHECK: %[[ALL:.*]] = sinter.concat %arg2, %arg3
// CHECK: %[[T:.*]] = sinter.transpose %[[ALL]] {permutation = array<i64: 1, 0>} : (tensor<64x8xf32>) -> tensor<8x64xf32>
// CHECK: %[[P:.*]] = sinter.pack %[[T]] : (tensor<8x64xf32>) -> tensor<2x8x32xf32, #sinter.panels<width = 32, interleave = 1, depth = 16>>
// CHECK: sinter.grouped_matmul %arg0, %[[P]], %arg1 : (tensor<4x8xf32>, tensor<2x8x32xf32, #sinter.panels<width = 32, interleave = 1, depth = 16>>, tensor<3xi32>)
func.func @experts(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
    %a: tensor<32x8xf32> {sinter.parameter = "a"}, %b: tensor<32x8xf32> {sinter.parameter = "b"})
    -> tensor<4x32xf32> attributes {sinter.entry} {
  %0 = sinter.concat %a, %b {dim = 0 : i64} : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  %1 = sinter.reshape %0 : (tensor<64x8xf32>) -> tensor<2x32x8xf32>
  %2 = sinter.grouped_matmul %x, %1, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x32x8xf32>, tensor<3xi32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// A rank's parts of them are stacked, matrix by matrix: so they are joined, too.
// CHECK-LABEL: func.func @parts_of_experts
// CHECK: %[[ALL:.*]] = sinter.concat %arg2, %arg3 {dim = 0 : i64} : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
// CHECK: %[[T:.*]] = sinter.transpose %[[ALL]]
// CHECK: sinter.pack %[[T]] : (tensor<8x64xf32>) -> tensor<2x8x32xf32, #sinter.panels<width = 32, interleave = 1, depth = 16>>
func.func @parts_of_experts(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
    %a: tensor<32x8xf32> {sinter.parameter = "a"}, %b: tensor<32x8xf32> {sinter.parameter = "b"})
    -> tensor<4x32xf32> attributes {sinter.entry} {
  %0 = sinter.reshape %a : (tensor<32x8xf32>) -> tensor<1x32x8xf32>
  %1 = sinter.reshape %b : (tensor<32x8xf32>) -> tensor<1x32x8xf32>
  %2 = sinter.concat %0, %1 {dim = 0 : i64} : (tensor<1x32x8xf32>, tensor<1x32x8xf32>) -> tensor<2x32x8xf32>
  %3 = sinter.grouped_matmul %x, %2, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x32x8xf32>, tensor<3xi32>) -> tensor<4x32xf32>
  return %3 : tensor<4x32xf32>
}

// Columns that the last panel of a matrix lacks are its first ones once more; they are not used.
// CHECK-LABEL: func.func @columns_once_more
// CHECK: %[[MORE:.*]] = sinter.slice %arg2 {offsets = array<i64: 0, 0, 0>} : (tensor<2x20x8xf32>) -> tensor<2x12x8xf32>
// CHECK: sinter.concat %arg2, %[[MORE]] {dim = 1 : i64} : (tensor<2x20x8xf32>, tensor<2x12x8xf32>) -> tensor<2x32x8xf32>
// CHECK: %[[P:.*]] = sinter.pack %{{.*}} -> tensor<2x8x32xf32, {{.*}}>
// CHECK: %[[Y:.*]] = sinter.grouped_matmul %arg0, %[[P]], %arg1 : (tensor<4x8xf32>, tensor<2x8x32xf32, {{.*}}>, tensor<3xi32>) -> tensor<4x32xf32>
// CHECK: %[[OWN:.*]] = sinter.slice %[[Y]] {offsets = array<i64: 0, 0>} : (tensor<4x32xf32>) -> tensor<4x20xf32>
// CHECK: sinter.concat %arg3, %arg3, %arg3, %arg3, %{{.*}} {dim = 1 : i64} : (tensor<2x7x8xf32>, {{.*}}, tensor<2x4x8xf32>) -> tensor<2x32x8xf32>
// CHECK: return %[[OWN]], %{{.*}} : tensor<4x20xf32>, tensor<4x7xf32>
func.func @columns_once_more(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
    %p: tensor<2x20x8xf32> {sinter.parameter = "p"}, %q: tensor<2x7x8xf32> {sinter.parameter = "q"})
    -> (tensor<4x20xf32>, tensor<4x7xf32>) attributes {sinter.entry} {
  %0 = sinter.grouped_matmul %x, %p, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x20x8xf32>, tensor<3xi32>) -> tensor<4x20xf32>
  %1 = sinter.grouped_matmul %x, %q, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x7x8xf32>, tensor<3xi32>) -> tensor<4x7xf32>
  return %0, %1 : tensor<4x20xf32>, tensor<4x7xf32>
}

// So are their integers, scales and minima, each in panels of its own.
// CHECK-LABEL: func.func @integers_of_experts
// CHECK: sinter.pack %{{.*}} : (tensor<64x64xi4>) -> tensor<2x64x32xi4, #sinter.panels<width = 32, interleave = 4, depth = 32>>
// CHECK: sinter.pack %{{.*}} : (tensor<2x64xf16>) -> tensor<2x2x32xf16, #sinter.panels<width = 32, interleave = 1, depth = 1>>
// CHECK: sinter.pack %{{.*}} : (tensor<2x64xf32>) -> tensor<2x2x32xf32, #sinter.panels<width = 32, interleave = 1, depth = 1>>
// CHECK: sinter.grouped_matmul %arg0, %{{.*}}, %arg1 scales %{{.*}} minima %{{.*}} : (tensor<4x64xf32>, tensor<2x64x32xi4, {{.*}}>, tensor<3xi32>, tensor<2x2x32xf16, {{.*}}>, tensor<2x2x32xf32, {{.*}}>) -> tensor<4x32xf32>
func.func @integers_of_experts(%x: tensor<4x64xf32>, %o: tensor<3xi32>,
    %q: tensor<64x64xi4> {sinter.parameter = "q"}, %s: tensor<64x2xf16> {sinter.parameter = "s"},
    %m: tensor<64x2xf32> {sinter.parameter = "m"}) -> tensor<4x32xf32> attributes {sinter.entry} {
  %0 = sinter.reshape %q : (tensor<64x64xi4>) -> tensor<2x32x64xi4>
  %1 = sinter.reshape %s : (tensor<64x2xf16>) -> tensor<2x32x2xf16>
  %2 = sinter.reshape %m : (tensor<64x2xf32>) -> tensor<2x32x2xf32>
  %3 = sinter.grouped_matmul %x, %0, %o scales %1 minima %2 {transpose_rhs} : (tensor<4x64xf32>, tensor<2x32x64xi4>, tensor<3xi32>, tensor<2x32x2xf16>, tensor<2x32x2xf32>) -> tensor<4x32xf32>
  return %3 : tensor<4x32xf32>
}

// Bytes that are sixteen values alone are kept as their numbers.
// CHECK-LABEL: func.func @codes
// CHECK: sinter.pack %{{.*}} -> tensor<64x32xi8, #sinter.panels<width = 32, interleave = 2, depth = 32>>
// VNNI-LABEL: func.func @codes
// VNNI: sinter.pack %{{.*}} -> tensor<64x32xi8, #sinter.panels<width = 32, interleave = 4, depth = 32, values = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]>>
// VNNI: sinter.pack %{{.*}} -> tensor<64x32xi8, #sinter.panels<width = 32, interleave = 4, depth = 32, values = [-127, {{.*}}]>>
// AVX2-LABEL: func.func @codes
// AVX2: sinter.pack %{{.*}} -> tensor<64x32xi8, #sinter.panels<width = 16, interleave = 4, depth = 32, values = [0, 1, {{.*}}]>>
// AVX2: sinter.pack %{{.*}} -> tensor<64x32xi8, #sinter.panels<width = 16, interleave = 4, depth = 32, values = [-127, {{.*}}]>>
func.func @codes(%x: tensor<4x64xf32>,
    %a: tensor<16x64xi8> {sinter.parameter = "a", sinter.values = array<i8: 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12>},
    %b: tensor<16x64xi8> {sinter.parameter = "b", sinter.values = array<i8: 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12>},
    %c: tensor<32x64xi8> {sinter.parameter = "c", sinter.values = array<i8: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113>},
    %s: tensor<32x2xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) attributes {sinter.entry} {
  %w = sinter.concat %a, %b {dim = 0 : i64} : (tensor<16x64xi8>, tensor<16x64xi8>) -> tensor<32x64xi8>
  %y = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x64xf32>, tensor<32x64xi8>, tensor<32x2xf32>) -> tensor<4x32xf32>
  %z = sinter.matmul %x, %c, %s {transpose_rhs} : (tensor<4x64xf32>, tensor<32x64xi8>, tensor<32x2xf32>) -> tensor<4x32xf32>
  return %y, %z : tensor<4x32xf32>, tensor<4x32xf32>
}

// One other part, and any byte may be there.
// VNNI-LABEL: func.func @codes_and_bytes
// VNNI-NOT: values = [
// VNNI: return
func.func @codes_and_bytes(%x: tensor<4x64xf32>,
    %a: tensor<16x64xi8> {sinter.parameter = "a", sinter.values = array<i8: 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12>},
    %b: tensor<16x64xi8> {sinter.parameter = "b"}, %s: tensor<32x2xf32>) -> tensor<4x32xf32>
    attributes {sinter.entry} {
  %w = sinter.concat %a, %b {dim = 0 : i64} : (tensor<16x64xi8>, tensor<16x64xi8>) -> tensor<32x64xi8>
  %y = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x64xf32>, tensor<32x64xi8>, tensor<32x2xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
