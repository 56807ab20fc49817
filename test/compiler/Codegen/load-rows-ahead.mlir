// RUN: sinter-opt %s --sinter-load-rows-ahead %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module {
module @kernels {
// A row is loaded while the one before it is worked on, the last one twice; a scale that all rows
// have comes before the loop. What is carried on stays.
// CHECK-LABEL: func.func @rows
// CHECK: %[[SCALE:.*]] = vector.load %arg1[%{{.*}}] : memref<512xf32>, vector<4xf32>
// CHECK: %[[FIRST:.*]] = vector.load %arg0[%{{.*}}] : memref<16384xf32>, vector<4xf32>
// CHECK: %[[LOOP:.*]]:2 = scf.for %[[ROW:.*]] = %c0 to %c32 step %c1 iter_args(%[[SUM:.*]] = %{{.*}}, %[[AHEAD:.*]] = %[[FIRST]]) -> (f32, vector<4xf32>) {
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROW]], %c1
// CHECK: %[[AT:.*]] = arith.minsi %[[NEXT]], %c31
// CHECK: %[[INDEX:.*]] = affine.apply #{{.*}}(%[[AT]], %{{.*}})
// CHECK: %[[LOADED:.*]] = vector.load %arg0[%[[INDEX]]]
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[AHEAD]], %[[SCALE]]
// CHECK: gpu.all_reduce
// CHECK: %[[NEW:.*]] = arith.addf %[[SUM]]
// CHECK: scf.yield %[[NEW]], %[[LOADED]] : f32, vector<4xf32>
// CHECK: memref.store %[[LOOP]]#0
// REMARK: Passed{{.*}}LoadRowsAhead{{.*}}rows{{.*}}1 loads a row ahead, 1 before all rows
func.func @rows(%x: memref<16384xf32> {llvm.noalias}, %scale: memref<512xf32> {llvm.noalias}, %y: memref<1xf32> {llvm.noalias})
    attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %thread = gpu.thread_id x
  %sum = scf.for %row = %c0 to %c32 step %c1 iter_args(%s = %zero) -> f32 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 512 + d1 * 4)>(%row, %thread)
    %0 = vector.load %x[%at] : memref<16384xf32>, vector<4xf32>
    %place = affine.apply affine_map<(d0) -> (d0 * 4)>(%thread)
    %1 = vector.load %scale[%place] : memref<512xf32>, vector<4xf32>
    %2 = arith.mulf %0, %1 : vector<4xf32>
    %3 = vector.reduction <add>, %2 : vector<4xf32> into f32
    %4 = gpu.all_reduce add %3 uniform {} : (f32) -> f32
    %5 = arith.addf %s, %4 : f32
    scf.yield %5 : f32
  }
  memref.store %sum, %y[%c0] : memref<1xf32>
  return
}

// As much as registers allow: of three rows of 16 elements two.
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-2: vector.load
// CHECK: scf.for
// CHECK-COUNT-3: vector.load
// CHECK-NOT: vector.load
// REMARK: Passed{{.*}}LoadRowsAhead{{.*}}wide{{.*}}2 loads a row ahead, 0 before all rows
func.func @wide(%x: memref<65536xf32> {llvm.noalias}, %y: memref<32xf32> {llvm.noalias})
    attributes {sinter.items = 1 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %thread = gpu.thread_id x
  scf.for %row = %c0 to %c31 step %c1 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1 * 16)>(%row, %thread)
    %0 = vector.load %x[%at] : memref<65536xf32>, vector<16xf32>
    %at1 = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1 * 16 + 16)>(%row, %thread)
    %1 = vector.load %x[%at1] : memref<65536xf32>, vector<16xf32>
    %at2 = affine.apply affine_map<(d0, d1) -> (d0 * 2048 + d1 * 16 + 32)>(%row, %thread)
    %2 = vector.load %x[%at2] : memref<65536xf32>, vector<16xf32>
    %3 = arith.addf %0, %1 : vector<16xf32>
    %4 = arith.addf %3, %2 : vector<16xf32>
    %5 = vector.reduction <add>, %4 : vector<16xf32> into f32
    %6 = gpu.all_reduce add %5 uniform {} : (f32) -> f32
    memref.store %6, %y[%row] : memref<32xf32>
  }
  return
}
}
}
