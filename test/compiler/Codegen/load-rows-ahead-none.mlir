// RUN: sinter-opt %s --sinter-load-rows-ahead | FileCheck %s

module {
module @kernels {
// What the kernel writes may not be read before: rows that are added up in place.
// CHECK-LABEL: func.func @written
// CHECK-NOT: memref.load
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 {
func.func @written(%x: memref<4096xf32> {llvm.noalias})
    attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %thread = gpu.thread_id x
  scf.for %row = %c0 to %c32 step %c1 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%row, %thread)
    %0 = memref.load %x[%at] : memref<4096xf32>
    %1 = gpu.all_reduce add %0 uniform {} : (f32) -> f32
    memref.store %1, %x[%at] : memref<4096xf32>
  }
  return
}

// An operand in whose place the result may be.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: memref.load
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 {
func.func @shared(%x: memref<4096xf32>, %y: memref<4096xf32>)
    attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %thread = gpu.thread_id x
  scf.for %row = %c0 to %c32 step %c1 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%row, %thread)
    %0 = memref.load %x[%at] : memref<4096xf32>
    %1 = gpu.all_reduce add %0 uniform {} : (f32) -> f32
    memref.store %1, %y[%at] : memref<4096xf32>
  }
  return
}

// An index that is loaded itself, and a loop whose threads do not meet.
// CHECK-LABEL: func.func @chosen
// CHECK-NOT: memref.load %arg0
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 {
// CHECK: memref.load %arg0
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 {
// CHECK: memref.load %arg0
func.func @chosen(%x: memref<4096xf32> {llvm.noalias}, %ids: memref<32xindex>, %y: memref<4096xf32> {llvm.noalias})
    attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %thread = gpu.thread_id x
  scf.for %row = %c0 to %c32 step %c1 {
    %id = memref.load %ids[%row] : memref<32xindex>
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%id, %thread)
    %0 = memref.load %x[%at] : memref<4096xf32>
    %1 = gpu.all_reduce add %0 uniform {} : (f32) -> f32
    memref.store %1, %y[%row] : memref<4096xf32>
  }
  scf.for %row = %c0 to %c32 step %c1 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%row, %thread)
    %0 = memref.load %x[%at] : memref<4096xf32>
    memref.store %0, %y[%at] : memref<4096xf32>
  }
  return
}
}
}
