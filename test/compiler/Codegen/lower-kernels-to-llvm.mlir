// RUN: sinter-opt %s --split-input-file --sinter-lower-kernels-to-llvm | FileCheck %s

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
module @kernels {
// CHECK: llvm.func hidden @copy(%[[SLICES:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) {
// CHECK: llvm.getelementptr %[[SLICES]][0]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[SLICES]][1]
// CHECK: %[[Y:.*]] = llvm.load %[[PLACE]]
// CHECK: llvm.insertvalue %[[Y]]
// CHECK: llvm.br ^{{.*}}(%[[BEGIN]] : i64)
// CHECK: llvm.icmp "slt" %{{.*}}, %[[END]] : i64
// Every operation rounds: nothing is contracted.
// CHECK-NOT: contract
// CHECK: llvm.fmul
// CHECK-NOT: contract
// Without instructions for it, rounding to bf16 is integer arithmetic.
// CHECK-NOT: llvm.fptrunc
// CHECK-NOT: bf16
// CHECK: llvm.return
func.func @copy(%x: memref<64xf32> {llvm.noalias}, %y: memref<64xbf16>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    memref.store %2, %y[%i] : memref<64xbf16>
  }
  return
}
}
}
