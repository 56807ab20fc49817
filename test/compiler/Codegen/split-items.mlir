// RUN: sinter-opt %s --sinter-split-items %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#gpu = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>
module attributes {sinter.target = #gpu} {
// CHECK-LABEL: func.func private @heads
// CHECK-SAME: sinter.grid = 120
func.func private @heads(%x: tensor<3x32x64xf32>) -> (tensor<3x32x64xf32>, tensor<3x8x64xf32>) attributes {sinter.grid = 3 : i64}
// CHECK-LABEL: func.func private @reads
// CHECK-SAME: sinter.grid = 3
func.func private @reads(%x: tensor<3x32x64xf32>) -> tensor<3x32x64xf32> attributes {sinter.grid = 3 : i64}
// CHECK-LABEL: func.func private @enough
// CHECK-SAME: sinter.grid = 4096
func.func private @enough(%x: tensor<4096x32x64xf32>) -> tensor<4096x32x64xf32> attributes {sinter.grid = 4096 : i64}
// CHECK-LABEL: func.func private @row
// CHECK-SAME: sinter.grid = 3
func.func private @row(%x: tensor<3x64xf32>) -> tensor<3x64xf32> attributes {sinter.grid = 3 : i64}

module @kernels attributes {sinter.target = #gpu} {
// CHECK-LABEL: func.func @heads
// CHECK: scf.for %[[NUMBER:.*]] = %arg3 to %arg4
// CHECK: %[[ITEM:.*]] = affine.apply #{{.*}}(%[[NUMBER]])
// CHECK: %[[PART:.*]] = affine.apply #{{.*}}(%[[NUMBER]])
// CHECK: %[[QUERY:.*]] = arith.cmpi ult, %[[PART]], %c32
// CHECK: scf.if %[[QUERY]]
// CHECK: affine.apply #{{.*}}(%[[ITEM]], %[[PART]], %{{.*}})
// CHECK: %[[KEY:.*]] = affine.apply #{{.*}}(%[[PART]])
// CHECK: %[[IS_KEY:.*]] = arith.cmpi ult, %[[KEY]], %c8
// CHECK: scf.if %[[IS_KEY]]
// REMARK: Passed{{.*}}SplitItems{{.*}}heads{{.*}}an item becomes 40 of a row each
func.func @heads(%x: memref<6144xf32> {llvm.noalias}, %q: memref<6144xf32> {llvm.noalias}, %k: memref<1536xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %h = %c0 to %c32 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 2048 + d1 * 64 + d2)>(%item, %h, %i)
        %0 = memref.load %x[%at] : memref<6144xf32>
        memref.store %0, %q[%at] : memref<6144xf32>
      }
    }
    scf.for %h = %c0 to %c8 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 512 + d1 * 64 + d2)>(%item, %h, %i)
        %0 = memref.load %x[%at] : memref<6144xf32>
        memref.store %0, %k[%at] : memref<1536xf32>
      }
    }
  }
  return
}

// REMARK: Missed{{.*}}SplitItems{{.*}}reads{{.*}}items stay whole: what one row writes another may read
func.func @reads(%x: memref<6144xf32>, %y: memref<6144xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %h = %c0 to %c32 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 2048 + d1 * 64 + d2)>(%item, %h, %i)
        %0 = memref.load %x[%at] : memref<6144xf32>
        memref.store %0, %y[%at] : memref<6144xf32>
      }
    }
  }
  return
}

// REMARK: Missed{{.*}}SplitItems{{.*}}enough{{.*}}items stay whole: there are enough of them
func.func @enough(%x: memref<8388608xf32> {llvm.noalias}, %y: memref<8388608xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %item = %begin to %end step %c1 {
  }
  return
}

// REMARK: Missed{{.*}}SplitItems{{.*}}row{{.*}}items stay whole: there is no loop over rows in an item
func.func @row(%x: memref<192xf32> {llvm.noalias}, %y: memref<192xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c64 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<192xf32>
      memref.store %0, %y[%at] : memref<192xf32>
    }
  }
  return
}
}
}
