// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "sapphirerapids", features = "+amx-bf16,+amx-int8,+amx-tile,+avx512bf16,+avx512f,+avx512vnni", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 1536, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 2097152, l3_bytes = 16777216>
!rows = tensor<1x40x2x64xbf16>
!sums = tensor<1x40x2xf32>
!wide = tensor<1x40x2x64xf32>

module attributes {sinter.target = #cpu} {

func.func private @tiles(%q: !rows, %k: !rows, %v: !rows, %g: !rows, %l: !sums, %d: !sums) -> (!wide, !wide, !wide)
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
    : (!rows, !rows, !rows, !rows, !sums, !sums) -> (!wide, !wide, !wide)
  return %0#0, %0#1, %0#2 : !wide, !wide, !wide
}

// A gradient of f32 is not multiplied by what rounds it.
func.func private @wide_gradient(%q: !rows, %k: !rows, %v: !rows, %g: !wide, %l: !sums, %d: !sums) -> (!wide, !wide, !wide)
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
    : (!rows, !rows, !rows, !wide, !sums, !sums) -> (!wide, !wide, !wide)
  return %0#0, %0#1, %0#2 : !wide, !wide, !wide
}

// What dropout keeps is counted along keys.
func.func @dropout(%q: !rows, %k: !rows, %v: !rows, %g: !rows, %l: !sums, %d: !sums, %s: tensor<2xi32>) -> (!wide, !wide, !wide)
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d, %s {scale = 0.125, dropout = 0.1, stream = 1, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 1>}
    : (!rows, !rows, !rows, !rows, !sums, !sums, tensor<2xi32>) -> (!wide, !wide, !wide)
  return %0#0, %0#1, %0#2 : !wide, !wide, !wide
}

}

// CHECK: module @kernels

// Tiles of 32 rows. Of a block of 64 keys two times two products of 64 elements along d; of the
// gradients of values, keys and queries two column pairs each, the last of which begin at zero.
// CHECK-LABEL: func.func @tiles
// CHECK: arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 4194368, 4194368, 0, 0, 0, 0, 269488144, 269488144, 0, 0]> : vector<16xi32>
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "ldtilecfg ($0)", "r,~{memory}"
// CHECK-COUNT-4: llvm.inline_asm {{.*}}movq $$64, %rdi{{.*}}tilezero %tmm3
// CHECK-COUNT-4: llvm.inline_asm {{.*}}movq $$256, %rdi{{.*}}tileloadd 4160($2,%r8,1), %tmm3
// CHECK-COUNT-2: llvm.inline_asm {{.*}}movq $$256, %rdi{{.*}}tilezero %tmm3
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "tilerelease", "~{memory}"
// CHECK-NEXT: return

// CHECK-LABEL: func.func @wide_gradient
// CHECK-NOT: llvm.inline_asm

// CHECK-LABEL: func.func @dropout
// CHECK-NOT: llvm.inline_asm
