// RUN: sinter-opt %s --sinter-vectorize-loops %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
module @kernels {

// CHECK-NOT: vector<
// REMARK: items{{.*}}a loop stays scalar: its bounds are not known
func.func @items(%x: memref<64xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %x[%i] : memref<64xf32>
    memref.store %0, %x[%i] : memref<64xf32>
  }
  return
}

// REMARK: gather{{.*}}a loop stays scalar: it accesses memory at an index that is not linear in the counter
func.func @gather(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %at = affine.apply affine_map<(d0) -> (d0 mod 7)>(%i)
    %0 = memref.load %x[%at] : memref<64xf32>
    memref.store %0, %y[%i] : memref<64xf32>
  }
  return
}

// REMARK: scatter{{.*}}a loop stays scalar: it accesses memory at an index that is not linear in the counter
func.func @scatter(%x: memref<64xf32>, %y: memref<256xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %at = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 8 + d0 mod 2)>(%i)
    %0 = memref.load %x[%i] : memref<64xf32>
    memref.store %0, %y[%at] : memref<256xf32>
  }
  return
}

// REMARK: product{{.*}}a loop stays scalar: it carries a value that is neither a sum nor a maximum
func.func @product(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %p = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %one) -> f32 {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = arith.mulf %a, %0 : f32
    scf.yield %1 : f32
  }
  memref.store %p, %y[%c0] : memref<64xf32>
  return
}

// REMARK: branch{{.*}}a loop stays scalar: it stores inside of a branch
func.func @branch(%x: memref<64xf32>, %on: i1, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    scf.if %on {
      memref.store %one, %x[%i] : memref<64xf32>
    }
  }
  return
}

// REMARK: choose{{.*}}a loop stays scalar: it branches inside, each element by itself
func.func @choose(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = arith.cmpf olt, %0, %one : f32
    %2 = scf.if %1 -> f32 {
      scf.yield %0 : f32
    } else {
      scf.yield %one : f32
    }
    memref.store %2, %y[%i] : memref<64xf32>
  }
  return
}

// REMARK: remainder{{.*}}a loop stays scalar: it computes with its counter
func.func @remainder(%y: memref<64xi32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %at = affine.apply affine_map<(d0) -> (d0 mod 7)>(%i)
    %0 = arith.index_cast %at : index to i32
    memref.store %0, %y[%i] : memref<64xi32>
  }
  return
}
}
}
