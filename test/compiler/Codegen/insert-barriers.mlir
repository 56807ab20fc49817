// RUN: sinter-opt %s --sinter-insert-barriers %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module {
module @kernels {
// CHECK-LABEL: func.func @neighbours
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK: memref.load
// CHECK-NOT: gpu.barrier
// REMARK: Passed{{.*}}InsertBarriers{{.*}}neighbours{{.*}}1 barriers besides those of reductions
func.func @neighbours(%x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.threads = 16 : i64} {
  %row = memref.alloca() : memref<64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c64 step %c1 {
      %0 = memref.load %x[%i] : memref<64xf32>
      memref.store %0, %row[%i] : memref<64xf32>
    } {sinter.lanes = 4 : i64}
    scf.for %i = %c0 to %c32 step %c1 {
      %other = affine.apply affine_map<(d0) -> (d0 + 32)>(%i)
      %0 = memref.load %row[%other] : memref<64xf32>
      memref.store %0, %y[%i] : memref<64xf32>
    } {sinter.lanes = 4 : i64}
  }
  return
}

// An element is always the same thread's, here and in memory that two pointers may share.
// CHECK-LABEL: func.func @own
// CHECK-NOT: gpu.barrier
func.func @own(%x: memref<64xf32>, %y: memref<64xf32>, %begin: index, %end: index) attributes {sinter.threads = 16 : i64} {
  %row = memref.alloca() : memref<64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c64 step %c1 {
      %0 = memref.load %x[%i] : memref<64xf32>
      memref.store %0, %row[%i] : memref<64xf32>
    } {sinter.lanes = 4 : i64}
    scf.for %i = %c0 to %c64 step %c1 {
      %0 = memref.load %row[%i] : memref<64xf32>
      memref.store %0, %y[%i] : memref<64xf32>
    } {sinter.lanes = 4 : i64}
  }
  return
}

// All threads read one element before its row is written over; a sum over a block is a barrier.
// CHECK-LABEL: func.func @one_for_all
// CHECK: memref.load %arg0
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK: scf.for
// CHECK: memref.load %arg1
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @one_for_all(%x: memref<256xf32>, %y: memref<256xf32>, %s: memref<1xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %picked = memref.load %x[%c1] : memref<256xf32>
    scf.for %i = %c0 to %c256 step %c1 {
      memref.store %picked, %y[%i] : memref<256xf32>
    } {sinter.lanes = 4 : i64}
    %sum = scf.for %i = %c0 to %c256 step %c1 iter_args(%t = %zero) -> f32 {
      %0 = memref.load %y[%i] : memref<256xf32>
      %1 = arith.addf %t, %0 : f32
      scf.yield %1 : f32
    } {sinter.lanes = 4 : i64}
    %last = memref.load %y[%c0] : memref<256xf32>
    memref.store %last, %s[%c0] : memref<1xf32>
  }
  return
}

// What one step of a loop writes, the next one reads.
// CHECK-LABEL: func.func @steps
// CHECK: scf.for
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-NEXT: memref.load %{{.*}}[%c0]
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func @steps(%y: memref<64xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.threads = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %k = %c0 to %c4 step %c1 {
      %first = memref.load %y[%c0] : memref<64xf32>
      scf.for %i = %c0 to %c64 step %c1 {
        memref.store %first, %y[%i] : memref<64xf32>
      } {sinter.lanes = 4 : i64}
    }
  }
  return
}
}
}
