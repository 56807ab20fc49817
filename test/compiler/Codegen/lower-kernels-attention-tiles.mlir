// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "sapphirerapids", features = "+amx-bf16,+amx-int8,+amx-tile,+avx512bf16,+avx512f,+avx512vnni", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 1536, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 2097152, l3_bytes = 16777216>
#keys = #sinter.key_panels<width = 16, interleave = 2>
#rows = #sinter.head_major

module attributes {sinter.target = #cpu} {

// 40 rows are two tiles of 20.
func.func private @panels(%q: tensor<1x40x2x64xf32>, %k: tensor<1x100x2x64xbf16, #keys>,
                          %v: tensor<1x100x2x64xbf16, #rows>) -> tensor<1x40x2x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x40x2x64xf32>, tensor<1x100x2x64xbf16, #keys>, tensor<1x100x2x64xbf16, #rows>) -> tensor<1x40x2x64xf32>
  return %0 : tensor<1x40x2x64xf32>
}

// Dense keys of bf16 are turned as words, in squares.
func.func private @dense(%q: tensor<1x40x2x64xbf16>, %k: tensor<1x40x2x64xbf16>,
                         %v: tensor<1x40x2x64xbf16>) -> tensor<1x40x2x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x40x2x64xbf16>, tensor<1x40x2x64xbf16>, tensor<1x40x2x64xbf16>) -> tensor<1x40x2x64xf32>
  return %0 : tensor<1x40x2x64xf32>
}

// Fewer than four rows: pairs of vectors.
func.func private @few_rows(%q: tensor<1x3x2x64xf32>, %k: tensor<1x100x2x64xbf16, #keys>,
                            %v: tensor<1x100x2x64xbf16, #rows>) -> tensor<1x3x2x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x3x2x64xf32>, tensor<1x100x2x64xbf16, #keys>, tensor<1x100x2x64xbf16, #rows>) -> tensor<1x3x2x64xf32>
  return %0 : tensor<1x3x2x64xf32>
}

// A head of 80 is no whole steps: bf16 is widened.
func.func @part_of_a_step(%q: tensor<1x40x2x80xbf16>, %k: tensor<1x40x2x80xbf16>,
                          %v: tensor<1x40x2x80xbf16>) -> tensor<1x40x2x80xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x40x2x80xbf16>, tensor<1x40x2x80xbf16>, tensor<1x40x2x80xbf16>) -> tensor<1x40x2x80xf32>
  return %0 : tensor<1x40x2x80xf32>
}

}

// CHECK: module @kernels

// The unit is configured once, for 16 rows above 4. Scores of 32 positions are a product of 64 of
// k, whose second tile is another panel; so many columns of outputs one of 64 positions, added to
// what there is.
// CHECK-LABEL: func.func @panels
// CHECK: arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 4194368, 4194368, 0, 0, 0, 0, 67375120, 269485072, 0, 0]> : vector<16xi32>
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "ldtilecfg ($0)", "r,~{memory}"
// CHECK-COUNT-2: llvm.inline_asm {{.*}}"movq $0, %rax{{.*}}movq $$128, %rsi{{.*}}movq $$64, %rdi{{.*}}movq $$256, %r8{{.*}}tilezero %tmm3{{.*}}tdpbf16ps %tmm7, %tmm5, %tmm3{{.*}}addq $$1024, %r9{{.*}}"
// CHECK-NOT: llvm.inline_asm
// CHECK-COUNT-2: llvm.inline_asm {{.*}}"movq $0, %rax{{.*}}movq $$128, %rsi{{.*}}movq $$256, %rdi{{.*}}movq $$256, %r8{{.*}}tileloadd 4160($2,%r8,1), %tmm3{{.*}}addq $$4096, %r9{{.*}}"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "tilerelease", "~{memory}"
// CHECK-NEXT: return

// CHECK-LABEL: func.func @dense
// CHECK: vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xf32>
// CHECK: vector.bitcast %{{.*}} : vector<16xf32> to vector<32xbf16>
// CHECK-COUNT-4: tdpbf16ps %tmm7, %tmm5, %tmm3

// CHECK-LABEL: func.func @few_rows
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.x86.avx512bf16.dpbf16ps.512
// CHECK-NOT: llvm.inline_asm

// CHECK-LABEL: func.func @part_of_a_step
// CHECK-NOT: llvm.inline_asm
// CHECK-NOT: dpbf16ps
