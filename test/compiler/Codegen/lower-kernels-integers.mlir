// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 96, gflops_bf16 = 96, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#integers = #sinter.panels<width = 16, interleave = 4, depth = 32>
#codes = #sinter.panels<width = 16, interleave = 4, depth = 32, values = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]>
#scales = #sinter.panels<width = 16, interleave = 1, depth = 1>

module attributes {sinter.target = #cpu} {

// Six sums, of three digits by two vectors, leave room for what two words need: they go round, and
// begin with the products of the first two words. The second digit's sums go to the first one's.
// CHECK: module @kernels
// CHECK-LABEL: func.func @of_four_bits
// CHECK-COUNT-12: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// CHECK: scf.for {{.*}} -> (vector<16xi16>, vector<16xi16>, vector<16xi16>, vector<16xi16>, vector<16xi16>, vector<16xi16>)
// CHECK-COUNT-12: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// CHECK-NOT: pmadd.ub.sw
// CHECK: scf.yield {{.*}} : vector<16xi16>, vector<16xi16>
// CHECK: arith.constant dense<256> : vector<16xi16>
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// CHECK-NOT: arith.shli {{.*}} vector<8xi32>
// CHECK: return
func.func private @of_four_bits(%x: tensor<1x64xf32>, %w: tensor<64x16xi4, #integers>, %s: tensor<2x16xf16, #scales>)
    -> tensor<1x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s
    : (tensor<1x64xf32>, tensor<64x16xi4, #integers>, tensor<2x16xf16, #scales>) -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}

// Values of which two products do not fit 16 bits: those looked up are widened, the even ones of a
// word and the odd ones, for two vectors of two words and two digits.
// CHECK-LABEL: func.func @of_codes
// CHECK: scf.for {{.*}} -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>)
// CHECK: llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"
// CHECK: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// CHECK: arith.shrsi {{.*}} : vector<16xi16>
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// CHECK: scf.yield
func.func private @of_codes(%x: tensor<1x64xf32>, %w: tensor<64x16xi8, #codes>, %s: tensor<2x16xf16, #scales>)
    -> tensor<1x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s
    : (tensor<1x64xf32>, tensor<64x16xi8, #codes>, tensor<2x16xf16, #scales>) -> tensor<1x16xf32>
  return %0 : tensor<1x16xf32>
}
}
