// RUN: sinter-opt %s --sinter-tile-transposes %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
// What was eight items is one; the last is of four.
// CHECK: func.func private @turned(tensor<320xbf16>) -> tensor<280xbf16> attributes {sinter.grid = 4 : i64
// CHECK: func.func private @matrices(tensor<640xf32>) -> tensor<640xf32> attributes {sinter.grid = 8 : i64
func.func private @turned(tensor<320xbf16>) -> tensor<280xbf16> attributes {sinter.grid = 28 : i64, sinter.kernel = "rows"}
func.func private @matrices(tensor<640xf32>) -> tensor<640xf32> attributes {sinter.grid = 64 : i64, sinter.kernel = "rows"}

module @kernels {

// Columns in eights and two that are left; the items that are no whole eight behind.
// REMARK: turned{{.*}}columns are turned in squares of 8
// CHECK-LABEL: func.func @turned
// CHECK-SAME: %[[X:.*]]: memref<320xbf16>, %[[Y:.*]]: memref<320xbf16>, %[[FIRSTITEM:.*]]: index, %[[ENDITEM:.*]]: index
// CHECK: %[[BEGIN:.*]] = arith.muli %[[FIRSTITEM]], %c8
// CHECK: %[[ENDOFALL:.*]] = arith.muli %[[ENDITEM]], %c8
// CHECK: %[[END:.*]] = arith.minsi %[[ENDOFALL]], %c28
// CHECK: %[[SQUARE:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xbf16>
// CHECK: %[[REST:.*]] = arith.remui %[[END]], %c8
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %[[REST]]
// CHECK: scf.for %[[ITEM:.*]] = %[[BEGIN]] to %[[LAST]] step %c8
// CHECK:   scf.for %[[COLUMN:.*]] = %c0{{.*}} to %c8{{.*}} step %c8
// CHECK:     %[[AT:.*]] = affine.apply #{{.*}}(%[[ITEM]], %[[COLUMN]])
// CHECK:     vector.load %[[X]][%[[AT]]] : memref<320xbf16>, vector<8xbf16>
// CHECK-NOT: memref.prefetch
// CHECK:     arith.extui {{.*}} : vector<8xi16> to vector<8xi32>
// CHECK:     vector.shuffle
// CHECK:     arith.trunci {{.*}} : vector<8xi32> to vector<8xi16>
// CHECK-COUNT-8: vector.store %{{.*}}, %[[SQUARE]]
// CHECK:     scf.for %[[ROW:.*]] = %c0
// CHECK:       %[[ROWITEM:.*]] = arith.addi %[[ITEM]], %[[ROW]]
// CHECK:       scf.for
// CHECK:         %[[VALUE:.*]] = memref.load %[[SQUARE]]
// CHECK:         %[[COLUMNOF:.*]] = arith.addi %[[COLUMN]],
// CHECK:         %[[TO:.*]] = affine.apply #map1(%[[ROWITEM]], %[[COLUMNOF]])
// CHECK:         memref.store %[[VALUE]], %[[Y]][%[[TO]]]
// CHECK:   scf.for %[[ROWITEM:.*]] = %[[ITEM]] to
// CHECK:     scf.for %{{.*}} = %c8{{.*}} to %c10
// CHECK:       memref.load %[[X]]
// CHECK: scf.for %{{.*}} = %[[LAST]] to %[[END]] step %c1
func.func @turned(%x: memref<320xbf16>, %y: memref<320xbf16>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c10 step %c1 {
      %0 = affine.apply affine_map<(d0, d1) -> (d1 * 32 + d0)>(%item, %i)
      %1 = memref.load %x[%0] : memref<320xbf16>
      %2 = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)>(%item, %i)
      memref.store %1, %y[%2] : memref<320xbf16>
    }
  }
  return
}

// Rows of 16 of several matrices: squares hold rows of one, and of 64 items none is left. Each line
// of f32 is prefetched two squares, 16 columns, before.
// REMARK: matrices{{.*}}columns are turned in squares of 8
// CHECK-LABEL: func.func @matrices
// CHECK: vector.load %arg0
// CHECK: arith.addi %{{.*}}, %c16
// CHECK: memref.prefetch %arg0[%{{.*}}], read, locality<2>, data : memref<640xf32>
// CHECK-NOT: step %c1{{$}}
// CHECK: return
func.func @matrices(%x: memref<640xf32>, %y: memref<640xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  scf.for %item = %begin to %end step %c1 {
    %row = arith.remui %item, %c16 : index
    %matrix = arith.divui %item, %c16 : index
    scf.for %i = %c0 to %c10 step %c1 {
      %0 = affine.apply affine_map<(d0, d1, d2) -> (d0 * 160 + d2 * 16 + d1)>(%matrix, %row, %i)
      %1 = memref.load %x[%0] : memref<640xf32>
      %2 = affine.apply affine_map<(d0, d1, d2) -> (d0 * 160 + d1 * 10 + d2)>(%matrix, %row, %i)
      memref.store %1, %y[%2] : memref<640xf32>
    }
  }
  return
}
}
}
