// RUN: sinter-opt %s --sinter-unroll-loops %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
module @kernels {

// CHECK-LABEL: func.func @negate
// CHECK: scf.for
// CHECK-COUNT-2: vector.store
// REMARK: negate{{.*}}unrolled by 2
func.func @negate(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    %0 = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    vector.store %1, %y[%i] : memref<64xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func.func @exponential
// CHECK: scf.for
// CHECK-COUNT-1: vector.store
// REMARK: exponential{{.*}}a loop is not unrolled: its body is large
func.func @exponential(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    %0 = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    %1 = math.exp %0 : vector<8xf32>
    %2 = math.exp %1 : vector<8xf32>
    vector.store %2, %y[%i] : memref<64xf32>, vector<8xf32>
  }
  return
}
}
}
