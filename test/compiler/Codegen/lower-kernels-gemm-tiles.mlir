// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "sapphirerapids", features = "+amx-bf16,+amx-int8,+amx-tile,+avx512bf16,+avx512f,+avx512vnni", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 1536, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 2097152, l3_bytes = 16777216>
#pairs = #sinter.panels<width = 32, interleave = 2, depth = 16>

module attributes {sinter.target = #cpu} {

// 52 rows are two tiles of 26, 16 above 10; 76 of k two steps of 32, and one of 12.
func.func private @rows(%x: tensor<52x76xbf16>, %w: tensor<76x64xbf16, #pairs>) -> tensor<52x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<52x76xbf16>, tensor<76x64xbf16, #pairs>) -> tensor<52x64xf32>
  return %0 : tensor<52x64xf32>
}

// Few rows wait for the memory that panels come from, not for their products.
func.func private @few_rows(%x: tensor<3x76xbf16>, %w: tensor<76x64xbf16, #pairs>) -> tensor<3x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<3x76xbf16>, tensor<76x64xbf16, #pairs>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

// Of rows of an odd number of elements the last 11 are copied, behind which are zeros.
func.func private @odd(%x: tensor<52x75xbf16>, %w: tensor<75x64xbf16, #pairs>) -> tensor<52x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<52x75xbf16>, tensor<75x64xbf16, #pairs>) -> tensor<52x64xf32>
  return %0 : tensor<52x64xf32>
}

// Tiles are rows of lhs.
func.func private @transposed(%x: tensor<76x52xbf16, #pairs>, %w: tensor<76x64xbf16, #pairs>)
    -> tensor<52x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<76x52xbf16, #pairs>, tensor<76x64xbf16, #pairs>) -> tensor<52x64xf32>
  return %0 : tensor<52x64xf32>
}

// One tile of rows: the lines of a step, 16 rows of pairs, are asked for two steps ahead.
func.func @one_tile(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16, #pairs>) -> tensor<8x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<8x64xbf16>, tensor<64x64xbf16, #pairs>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// Four tiles of rows share out the next panel, 64 lines: two steps of eight lines each.
func.func @four_tiles(%x: tensor<128x64xbf16>, %w: tensor<64x64xbf16, #pairs>) -> tensor<128x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<128x64xbf16>, tensor<64x64xbf16, #pairs>) -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}

// What tiles of 256 rows and 64 columns read of 16384 of k is 10 MiB, five L2 caches.
func.func @deep(%x: tensor<256x16384xbf16>, %w: tensor<16384x64xbf16, #pairs>) -> tensor<256x64xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<256x16384xbf16>, tensor<16384x64xbf16, #pairs>) -> tensor<256x64xf32>
  return %0 : tensor<256x64xf32>
}

// CHECK: module @kernels

// Rows of 64 bytes but for the step of 12, rows of 24; the rows of a step's pairs 16, then 6. The
// unit is configured for the first at the beginning, and again behind each of the second.
// CHECK-LABEL: func.func @rows
// CHECK: arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 4194368, 4194368, 0, 0, 0, 0, 168431632, 269486608, 0, 0]> : vector<16xi32>
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "ldtilecfg ($0)", "r,~{memory}"
// CHECK-NOT: prefetcht0
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "movq $0, %rax{{.*}}movq $$152, %rsi{{.*}}movq $$128, %rdi{{.*}}movq $$256, %r8{{.*}}tilezero %tmm0{{.*}}tilezero %tmm3{{.*}}tdpbf16ps %tmm7, %tmm5, %tmm3{{.*}}addq $$64, %rax{{.*}}addq $$2048, %rcx{{.*}}tilestored %tmm3, 4160($2,%r8,1)\0A"
// CHECK: arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 1572888, 4194368, 0, 0, 0, 0, 168431632, 101059088, 0, 0]> : vector<16xi32>
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "ldtilecfg ($0)", "r,~{memory}"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "movq{{.*}}tileloadd 0($2,%r8,1), %tmm0{{.*}}tileloadd 4160($2,%r8,1), %tmm3{{.*}}addq $$24, %rax{{.*}}addq $$768, %rcx{{.*}}ldtilecfg ($4)"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "tilerelease", "~{memory}"
// CHECK-NEXT: return

// CHECK-LABEL: func.func @few_rows
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.x86.avx512bf16.dpbf16ps.512

// CHECK-LABEL: func.func @odd
// CHECK: %[[LAST:.*]] = memref.alloca() {{.*}} : memref<1024xbf16>
// CHECK: %[[VALUES:.*]] = vector.maskedload %arg0[%{{.*}}], %{{.*}}, %{{.*}} : memref<3900xbf16>, vector<32xi1>, vector<32xbf16> into vector<32xbf16>
// CHECK: vector.store %[[VALUES]], %[[LAST]][%{{.*}}] : memref<1024xbf16>, vector<32xbf16>
// CHECK: tdpbf16ps
// CHECK: return

// CHECK-LABEL: func.func @transposed
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.x86.avx512bf16.dpbf16ps.512

// CHECK-LABEL: func.func @one_tile
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "movq{{.*}}1:\0Aprefetcht0 4096(%rcx)\0Aprefetcht0 4160(%rcx)\0A{{.*}}prefetcht0 6080(%rcx)\0Atileloadd (%rax,%rsi,1), %tmm4

// CHECK-LABEL: func.func @four_tiles
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "movq{{.*}}movq $4, %r10{{.*}}1:\0Aprefetcht1 0(%r10)\0A{{.*}}prefetcht1 448(%r10)\0Atileloadd{{.*}}addq $$512, %r10

// CHECK-LABEL: func.func @deep
// CHECK: scf.for %{{.*}} = %c3296{{.*}} to %c13184{{.*}} step %c3296
// CHECK-NOT: prefetcht1
// CHECK: return
}
