// RUN: sinter-opt %s --sinter-plan-threads %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

#gpu = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 52428800>
module attributes {sinter.target = #gpu} {
// A long row is a block's, 16 elements a thread where there are many rows.
// CHECK-LABEL: func.func private @long
// CHECK-SAME: sinter.block = 256 : i64, sinter.grid = 8192 : i64, sinter.shared = 0 : i64
func.func private @long(%x: tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16> attributes {sinter.grid = 8192 : i64}
// A short one is a warp's, several to a block.
// CHECK-LABEL: func.func private @short
// CHECK-SAME: sinter.block = 128 : i64, sinter.grid = 2048 : i64, sinter.shared = 2048 : i64
func.func private @short(%x: tensor<8192x128xf32>) -> tensor<8192x128xf32> attributes {sinter.grid = 8192 : i64}
// CHECK-LABEL: func.func private @stuck
// CHECK-SAME: sinter.block = 32 : i64, sinter.grid = 1 : i64, sinter.shared = 0 : i64
func.func private @stuck(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {sinter.grid = 4 : i64}

func.func private @groups(%x: tensor<8x512xf32>) -> tensor<512xf32> attributes {sinter.grid = 1 : i64}
// Of rows that are read twice so few are worked on at a time that the cache holds them. Of 13 steps,
// no more threads than have work in all of them.
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: sinter.block = 992 : i64
func.func private @twice(%x: tensor<4096x50000xf32>) -> tensor<4096x50000xf32> attributes {sinter.grid = 4096 : i64}
// CHECK-LABEL: func.func private @once
// CHECK-SAME: sinter.block = 512 : i64
func.func private @once(%x: tensor<4096x50000xf32>) -> tensor<4096x50000xf32> attributes {sinter.grid = 4096 : i64}

// As many threads as have work in all steps: of 768 columns, four a thread, 192.
// CHECK-LABEL: func.func private @sums
// CHECK-SAME: sinter.block = 192 : i64, sinter.grid = 512 : i64, sinter.shared = 0 : i64
func.func private @sums(%x: tensor<16384x768xf32>) -> tensor<512x768xf32> attributes {sinter.grid = 512 : i64}
func.func private @odd(%x: tensor<128x4099xbf16>) -> tensor<128x4099xbf16> attributes {sinter.grid = 128 : i64}
func.func private @parts(%x: tensor<8x8192x4096xf32>) -> tensor<8192x4096xf32> attributes {sinter.grid = 8192 : i64}

module @kernels attributes {sinter.target = #gpu} {
// CHECK: func.func @long
// CHECK-SAME: sinter.items = 8192 : i64, sinter.threads = 256 : i64
// CHECK: memref.alloca() {sinter.registers} : memref<4096xf32>
// CHECK: {sinter.lanes = 8 : i64, sinter.unroll = 2 : i64}
// REMARK: Passed{{.*}}PlanThreads{{.*}}long{{.*}}4096 elements over 256 threads, 8 side by side
// REMARK: Passed{{.*}}PlanThreads{{.*}}long{{.*}}8192 items of 256 threads in 8192 blocks of 256 threads and 0 bytes
func.func @long(%x: memref<33554432xbf16> {llvm.noalias}, %y: memref<33554432xbf16> {llvm.noalias}, %begin: index, %end: index) {
  %row = memref.alloca() : memref<4096xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c4096 step %c1 iter_args(%s = %zero) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<33554432xbf16>
      %1 = arith.extf %0 : bf16 to f32
      memref.store %1, %row[%i] : memref<4096xf32>
      %2 = arith.addf %s, %1 : f32
      scf.yield %2 : f32
    }
    scf.for %i = %c0 to %c4096 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1)>(%item, %i)
      %0 = memref.load %row[%i] : memref<4096xf32>
      %1 = arith.addf %0, %sum : f32
      %2 = arith.truncf %1 : f32 to bf16
      memref.store %2, %y[%at] : memref<33554432xbf16>
    }
  }
  return
}

// The second loop reads what other threads wrote: shared memory.
// CHECK: func.func @short
// CHECK-SAME: sinter.threads = 32 : i64
// CHECK: memref.alloca() : memref<128xf32>
// CHECK: {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
// CHECK: {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
func.func @short(%x: memref<1048576xf32> {llvm.noalias}, %y: memref<1048576xf32> {llvm.noalias}, %begin: index, %end: index) {
  %row = memref.alloca() : memref<128xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c128 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<1048576xf32>
      memref.store %0, %row[%i] : memref<128xf32>
    }
    scf.for %i = %c0 to %c64 step %c1 {
      %other = affine.apply affine_map<(d0) -> (d0 + 64)>(%i)
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%item, %i)
      %0 = memref.load %row[%other] : memref<128xf32>
      memref.store %0, %y[%at] : memref<1048576xf32>
    }
  }
  return
}

// A loop whose steps have loops of their own.
// CHECK: func.func @groups
// CHECK-SAME: sinter.threads = 512 : i64
// CHECK: {sinter.unroll = 16 : i64}
// CHECK: {sinter.lanes = 1 : i64, sinter.parallel, sinter.unroll = 1 : i64}
func.func @groups(%x: memref<4096xf32> {llvm.noalias}, %y: memref<512xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c512 step %c1 {
      %sum = scf.for %r = %c0 to %c8 step %c1 iter_args(%s = %zero) -> f32 {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 512 + d1)>(%r, %i)
        %0 = memref.load %x[%at] : memref<4096xf32>
        %1 = arith.addf %s, %0 : f32
        scf.yield %1 : f32
      }
      memref.store %sum, %y[%i] : memref<512xf32>
    } {sinter.parallel}
  }
  return
}

// Steps that load much are not written out altogether: of 4 steps of 8 loads 2.
// CHECK: func.func @parts
// CHECK-SAME: sinter.threads = 256 : i64
// CHECK: {sinter.lanes = 4 : i64, sinter.unroll = 2 : i64}
func.func @parts(%x: memref<268435456xf32> {llvm.noalias}, %y: memref<33554432xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c4096 step %c1 {
      %at0 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 0)>(%item, %i)
      %0 = memref.load %x[%at0] : memref<268435456xf32>
      %at1 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 33554432)>(%item, %i)
      %1 = memref.load %x[%at1] : memref<268435456xf32>
      %at2 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 67108864)>(%item, %i)
      %2 = memref.load %x[%at2] : memref<268435456xf32>
      %at3 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 100663296)>(%item, %i)
      %3 = memref.load %x[%at3] : memref<268435456xf32>
      %at4 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 134217728)>(%item, %i)
      %4 = memref.load %x[%at4] : memref<268435456xf32>
      %at5 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 167772160)>(%item, %i)
      %5 = memref.load %x[%at5] : memref<268435456xf32>
      %at6 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 201326592)>(%item, %i)
      %6 = memref.load %x[%at6] : memref<268435456xf32>
      %at7 = affine.apply affine_map<(d0, d1) -> (d0 * 4096 + d1 + 234881024)>(%item, %i)
      %7 = memref.load %x[%at7] : memref<268435456xf32>
      %8 = arith.addf %0, %1 : f32
      %9 = arith.addf %2, %3 : f32
      %10 = arith.addf %4, %5 : f32
      %11 = arith.addf %6, %7 : f32
      %12 = arith.addf %8, %9 : f32
      %13 = arith.addf %10, %11 : f32
      %14 = arith.addf %12, %13 : f32
      memref.store %14, %y[%at0] : memref<33554432xf32>
    }
  }
  return
}

// CHECK: func.func @twice
// CHECK-SAME: sinter.threads = 992 : i64
func.func @twice(%x: memref<204800000xf32> {llvm.noalias}, %y: memref<204800000xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50000 = arith.constant 50000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c50000 step %c1 iter_args(%s = %zero) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 50000 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<204800000xf32>
      %1 = arith.addf %s, %0 : f32
      scf.yield %1 : f32
    }
    scf.for %i = %c0 to %c50000 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 50000 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<204800000xf32>
      %1 = arith.addf %0, %sum : f32
      memref.store %1, %y[%at] : memref<204800000xf32>
    }
  }
  return
}

// CHECK: func.func @once
// CHECK-SAME: sinter.threads = 512 : i64
func.func @once(%x: memref<204800000xf32> {llvm.noalias}, %y: memref<204800000xf32> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50000 = arith.constant 50000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c50000 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 50000 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<204800000xf32>
      %1 = arith.addf %0, %zero : f32
      memref.store %1, %y[%at] : memref<204800000xf32>
    }
  }
  return
}

// Rows in a buffer of longer ones that vectors are aligned in: three elements are left behind them.
// CHECK: func.func @odd
// CHECK-SAME: sinter.threads = 288 : i64
// CHECK: {sinter.lanes = 8 : i64, sinter.unroll = 2 : i64}
// REMARK: Passed{{.*}}PlanThreads{{.*}}odd{{.*}}4099 elements over 288 threads, 8 side by side
func.func @odd(%x: memref<525312xbf16> {llvm.noalias}, %y: memref<525312xbf16> {llvm.noalias}, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4099 = arith.constant 4099 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c4099 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 4104 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<525312xbf16>
      memref.store %0, %y[%at] : memref<525312xbf16>
    }
  }
  return
}

// Rows that are only added to sums in registers are written out, 16 loads of a thread together.
// CHECK: func.func @sums
// CHECK-SAME: sinter.threads = 192 : i64
// CHECK: memref.alloca() {sinter.registers} : memref<768xf32>
// CHECK: } {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
// CHECK: } {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
// CHECK-NEXT: } {sinter.unroll = 16 : i64}
func.func @sums(%x: memref<12582912xf32> {llvm.noalias}, %y: memref<393216xf32> {llvm.noalias}, %begin: index, %end: index) {
  %sums = memref.alloca() : memref<768xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c768 = arith.constant 768 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c768 step %c1 {
      memref.store %zero, %sums[%i] : memref<768xf32>
    }
    scf.for %row = %c0 to %c32 step %c1 {
      scf.for %i = %c0 to %c768 step %c1 {
        %at = affine.apply affine_map<(d0, d1, d2) -> (d0 * 24576 + d1 * 768 + d2)>(%item, %row, %i)
        %0 = memref.load %x[%at] : memref<12582912xf32>
        %1 = memref.load %sums[%i] : memref<768xf32>
        %2 = arith.addf %1, %0 : f32
        memref.store %2, %sums[%i] : memref<768xf32>
      }
    }
    scf.for %i = %c0 to %c768 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 768 + d1)>(%item, %i)
      %0 = memref.load %sums[%i] : memref<768xf32>
      memref.store %0, %y[%at] : memref<393216xf32>
    }
  }
  return
}

// A product of all elements has no order that threads could share.
// CHECK: func.func @stuck
// CHECK-SAME: sinter.threads = 1 : i64
// CHECK-NOT: sinter.lanes
// REMARK: Missed{{.*}}PlanThreads{{.*}}stuck{{.*}}a loop stays whole: it carries a value that is neither a sum nor a maximum
func.func @stuck(%x: memref<16xf32>, %y: memref<4xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %product = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %one) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<16xf32>
      %1 = arith.mulf %p, %0 : f32
      scf.yield %1 : f32
    }
    memref.store %product, %y[%item] : memref<4xf32>
  }
  return
}
}
}
