// RUN: sinter-opt %s --sinter-unroll-loops %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
module @kernels {

// CHECK: scf.for
// CHECK-COUNT-1: memref.store
// REMARK: scalar{{.*}}a loop is not unrolled: it is not in vectors
func.func @scalar(%x: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  return
}

// CHECK: scf.for
// CHECK-COUNT-1: vector.store
// REMARK: three_steps{{.*}}a loop is not unrolled: no small factor divides its steps
func.func @three_steps(%x: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.for %i = %c0 to %c24 step %c8 {
    vector.store %zero, %x[%i] : memref<64xf32>, vector<8xf32>
  }
  return
}
}
}
