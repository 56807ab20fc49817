// RUN: sinter-opt %s --sinter-tile-transposes %remarks 2>%t.remarks | FileCheck %s --implicit-check-not=vector.
// RUN: FileCheck %s --check-prefix=REMARK --allow-empty < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
// Items stay as many as they were.
// CHECK-COUNT-8: sinter.grid = 32 : i64
func.func private @rows(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @few_columns(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @apart(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @in_place(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @scattered(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @stores_items(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @odd_matrices(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}
func.func private @sums(tensor<320xf32>) -> tensor<320xf32> attributes {sinter.grid = 32 : i64, sinter.kernel = "rows"}

module @kernels {
// REMARK-NOT: squares

// Rows stay rows.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xf32>
    }
  }
  return
}

// Fewer columns than a square has.
// CHECK-LABEL: func.func @few_columns
func.func @few_columns(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 7 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 7 + d1)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xf32>
    }
  }
  return
}

// Neither columns nor items are neighbours.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0 * 2)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xf32>
    }
  }
  return
}

// What is loaded may have been stored.
// CHECK-LABEL: func.func @in_place
func.func @in_place(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      memref.store %1, %x[%2] : memref<320xf32>
    }
  }
  return
}

// What is stored is in columns, too.
// CHECK-LABEL: func.func @scattered
func.func @scattered(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xf32>
    }
  }
  return
}

// Something is stored once an item.
// CHECK-LABEL: func.func @stores_items
func.func @stores_items(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %x[%item] : memref<320xf32>
    scf.for %i = %c0 to %cn step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xf32>
    }
  }
  return
}

// A square would have rows of two matrices of 12.
// CHECK-LABEL: func.func @odd_matrices
func.func @odd_matrices(%x: memref<480xf32>, %y: memref<480xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c12 = arith.constant 12 : index
  scf.for %item = %begin to %end step %c1 {
    %row = arith.remui %item, %c12 : index
    %matrix = arith.divui %item, %c12 : index
    scf.for %i = %c0 to %c10 step %c1 {
      %0 = affine.apply affine_map<(d0, d1, d2) -> (d0 * 120 + d2 * 12 + d1)>(%matrix, %row, %i)
      %1 = memref.load %x[%0] : memref<480xf32>
      %2 = affine.apply affine_map<(d0, d1, d2) -> (d0 * 120 + d1 * 10 + d2)>(%matrix, %row, %i)
      memref.store %1, %y[%2] : memref<480xf32>
    }
  }
  return
}

// Columns are added up.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: memref<320xf32>, %y: memref<320xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%before = %zero) -> f32 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xf32>
      %2 = arith.addf %before, %1 : f32
      scf.yield %2 : f32
    }
    memref.store %sum, %y[%item] : memref<320xf32>
  }
  return
}
}
}
