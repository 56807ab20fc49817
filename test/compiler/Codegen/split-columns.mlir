// RUN: sinter-opt %s --sinter-split-columns %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#gpu = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>
module attributes {sinter.target = #gpu} {
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: sinter.grid = 4
func.func private @rows(%x: tensor<3x1024xf32>) -> (tensor<1xf32>, tensor<3x1024xf32>, tensor<2048xf32>) attributes {sinter.grid = 1 : i64}
// CHECK-LABEL: func.func private @sum
// CHECK-SAME: sinter.grid = 1
func.func private @sum(%x: tensor<1x8192xf32>) -> tensor<1xf32> attributes {sinter.grid = 1 : i64}
// CHECK-LABEL: func.func private @inPlace
// CHECK-SAME: sinter.grid = 1
func.func private @inPlace(%x: tensor<1x8192xf32>) -> tensor<1x8192xf32> attributes {sinter.grid = 1 : i64}
// CHECK-LABEL: func.func private @enough
// CHECK-SAME: sinter.grid = 100
func.func private @enough(%x: tensor<100x8192xf32>) -> tensor<100x8192xf32> attributes {sinter.grid = 100 : i64}
// CHECK-LABEL: func.func private @short
// CHECK-SAME: sinter.grid = 1
func.func private @short(%x: tensor<1x768xf32>) -> tensor<1x768xf32> attributes {sinter.grid = 1 : i64}
// CHECK-LABEL: func.func private @odd
// CHECK-SAME: sinter.grid = 1
func.func private @odd(%x: tensor<1x8193xf32>) -> tensor<1x8193xf32> attributes {sinter.grid = 1 : i64}

module @kernels attributes {sinter.target = #gpu} {
// Three rows and one of another length, of the same number of parts; a number beside them is the
// first part's. 3 * 2 * 1024 + 2 * 2048 loads and stores are five times 2048.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[NUMBER:.*]] = %arg4 to %arg5
// CHECK: %[[ITEM:.*]] = affine.apply #{{.*}}(%[[NUMBER]])
// CHECK-NEXT: %[[PART:.*]] = affine.apply #{{.*}}(%[[NUMBER]])
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PART]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK-NEXT: memref.store %{{.*}}, %arg1[%[[ITEM]]]
// CHECK: scf.for %[[ROW:.*]] = %c0{{.*}} to %c3
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c256
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%[[I]], %[[PART]])
// CHECK: affine.apply #{{.*}}(%[[ROW]], %[[AT]])
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c512
// CHECK: affine.apply #{{.*}}(%[[J]], %[[PART]])
// REMARK: Passed{{.*}}SplitColumns{{.*}}rows{{.*}}a row becomes 4 items
func.func @rows(%x: memref<3072xf32> {llvm.noalias}, %n: memref<2xf32> {llvm.noalias}, %y: memref<3072xf32> {llvm.noalias}, %z: memref<4096xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c1024 = arith.constant 1024 : index
  %c2048 = arith.constant 2048 : index
  %one = arith.constant 1.0 : f32
  scf.for %item = %begin to %end step %c1 {
    memref.store %one, %n[%item] : memref<2xf32>
    scf.for %row = %c0 to %c3 step %c1 {
      scf.for %i = %c0 to %c1024 step %c1 {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 1024 + d1)>(%row, %i)
        %0 = memref.load %x[%at] : memref<3072xf32>
        memref.store %0, %y[%at] : memref<3072xf32>
      }
    }
    scf.for %i = %c0 to %c2048 step %c1 {
      %0 = memref.load %x[%i] : memref<3072xf32>
      memref.store %0, %z[%i] : memref<4096xf32>
    }
  }
  return
}

// REMARK: Missed{{.*}}SplitColumns{{.*}}sum{{.*}}rows stay whole: a loop carries a value
func.func @sum(%x: memref<8192xf32> {llvm.noalias}, %y: memref<1xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8192 = arith.constant 8192 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c8192 step %c1 iter_args(%s = %zero) -> f32 {
      %0 = memref.load %x[%i] : memref<8192xf32>
      %1 = arith.addf %s, %0 : f32
      scf.yield %1 : f32
    }
    memref.store %sum, %y[%item] : memref<1xf32>
  }
  return
}

// REMARK: Missed{{.*}}SplitColumns{{.*}}inPlace{{.*}}rows stay whole: what one part writes another may read
func.func @inPlace(%x: memref<8192xf32>, %y: memref<8192xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8192 = arith.constant 8192 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c8192 step %c1 {
      %0 = memref.load %x[%i] : memref<8192xf32>
      memref.store %0, %y[%i] : memref<8192xf32>
    }
  }
  return
}

// REMARK: Missed{{.*}}SplitColumns{{.*}}enough{{.*}}rows stay whole: there are enough items
func.func @enough(%x: memref<819200xf32> {llvm.noalias}, %y: memref<819200xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}

// REMARK: Missed{{.*}}SplitColumns{{.*}}short{{.*}}rows stay whole: they are short, or do not divide
func.func @short(%x: memref<768xf32> {llvm.noalias}, %y: memref<768xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c768 = arith.constant 768 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c768 step %c1 {
      %0 = memref.load %x[%i] : memref<768xf32>
      memref.store %0, %y[%i] : memref<768xf32>
    }
  }
  return
}

// REMARK: Missed{{.*}}SplitColumns{{.*}}odd{{.*}}rows stay whole: they are short, or do not divide
func.func @odd(%x: memref<8193xf32> {llvm.noalias}, %y: memref<8193xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8193 = arith.constant 8193 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c8193 step %c1 {
      %0 = memref.load %x[%i] : memref<8193xf32>
      memref.store %0, %y[%i] : memref<8193xf32>
    }
  }
  return
}
}
}
