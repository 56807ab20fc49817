// RUN: sinter-opt %s --sinter-vectorize-loops %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>} {
module @kernels {

// A branch that all elements of the loop take alike is one of vectors.
// CHECK-LABEL: func.func @branch
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c16{{.*}} step %c8
// CHECK: %[[Y:.*]] = scf.if %arg2 -> (vector<8xf32>)
// CHECK: %[[X:.*]] = vector.load %arg0[%[[I]]] : memref<16xf32>, vector<8xf32>
// CHECK: scf.yield %[[X]] : vector<8xf32>
// CHECK: else
// CHECK: %[[ONE:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: scf.yield %[[ONE]] : vector<8xf32>
// CHECK: vector.store %[[Y]], %arg1[%[[I]]]
// REMARK: remark: {{.*}}Passed{{.*}}VectorizeLoops{{.*}}branch{{.*}}16 elements in vectors of 8, 1 at a time
func.func @branch(%x: memref<16xf32>, %y: memref<16xf32>, %on: i1, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = scf.if %on -> f32 {
      %1 = memref.load %x[%i] : memref<16xf32>
      scf.yield %1 : f32
    } else {
      scf.yield %one : f32
    }
    memref.store %0, %y[%i] : memref<16xf32>
  }
  return
}

// A main loop and the last four elements.
// CHECK-LABEL: func.func @negate
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c16{{.*}} step %c8
// CHECK: %[[X:.*]] = vector.load %arg0[%[[I]]] : memref<20xf32>, vector<8xf32>
// CHECK: %[[Y:.*]] = arith.negf %[[X]] : vector<8xf32>
// CHECK: vector.store %[[Y]], %arg1[%[[I]]]
// CHECK: vector.maskedload %arg0
// CHECK: vector.maskedstore %arg1
// REMARK: remark: {{.*}}Passed{{.*}}VectorizeLoops{{.*}}negate{{.*}}20 elements in vectors of 8, 1 at a time
func.func @negate(%x: memref<20xf32>, %y: memref<20xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %i = %c0 to %c20 step %c1 {
    %0 = memref.load %x[%i] : memref<20xf32>
    %1 = arith.negf %0 : f32
    memref.store %1, %y[%i] : memref<20xf32>
  }
  return
}

// Four partial sums, added in pairs.
// CHECK-LABEL: func.func @sum
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c32{{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4: vector.load
// CHECK: scf.yield
// CHECK: arith.addf
// CHECK: vector.shuffle
// CHECK: vector.extract
// REMARK: {{.*}}sum{{.*}}64 elements in vectors of 8, 4 at a time
func.func @sum(%x: memref<64xf32>, %y: memref<1xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %zero) -> f32 {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = arith.addf %a, %0 : f32
    scf.yield %1 : f32
  }
  memref.store %s, %y[%c0] : memref<1xf32>
  return
}

// Of 16 bits the last elements are loaded one by one: a sum is added in the same order whatever its
// numbers are stored in.
// CHECK-LABEL: func.func @narrow_sum
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c16{{.*}} -> (vector<8xf32>, vector<8xf32>)
// CHECK-NOT: vector.maskedload
// CHECK-COUNT-4: memref.load %arg0
// CHECK: vector.from_elements
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: arith.select {{.*}} : vector<8xi1>, vector<8xf32>
// REMARK: narrow_sum{{.*}}20 elements in vectors of 8, 2 at a time
func.func @narrow_sum(%x: memref<20xbf16>, %y: memref<1xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %sum = scf.for %i = %c0 to %c20 step %c1 iter_args(%s = %zero) -> (f32) {
    %0 = memref.load %x[%i] : memref<20xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.addf %s, %1 : f32
    scf.yield %2 : f32
  }
  memref.store %sum, %y[%c0] : memref<1xf32>
  return
}

// One element for all lanes; a stride lane by lane.
// CHECK-LABEL: func.func @strided
// CHECK: vector.from_elements
// CHECK: %[[W:.*]] = memref.load %arg2
// CHECK: vector.broadcast %[[W]]
func.func @strided(%x: memref<64xf32>, %y: memref<64xf32>, %w: memref<4xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %at = affine.apply affine_map<(d0) -> (d0 * 4 + 1)>(%i)
    %0 = memref.load %x[%at] : memref<64xf32>
    %1 = memref.load %w[%c1] : memref<4xf32>
    %2 = arith.mulf %0, %1 : f32
    memref.store %2, %y[%i] : memref<64xf32>
  }
  return
}
// Pairs, eight apart: the same distances in every vector, also in the last one, half of which is
// off.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%{{.*}})
// CHECK: memref.load %arg0[%[[AT]]]
// CHECK: %[[ONE:.*]] = arith.addi %[[AT]], %c1{{.*}} : index
// CHECK: memref.load %arg0[%[[ONE]]]
// CHECK: %[[EIGHT:.*]] = arith.addi %[[AT]], %c8{{.*}} : index
// CHECK: memref.load %arg0[%[[EIGHT]]]
// CHECK-COUNT-5: memref.load %arg0
// CHECK: vector.from_elements
// CHECK-COUNT-4: memref.load %arg0
// CHECK: vector.from_elements
// REMARK: {{.*}}pairs{{.*}}20 elements in vectors of 8, 1 at a time
func.func @pairs(%x: memref<80xf32>, %y: memref<20xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %i = %c0 to %c20 step %c1 {
    %at = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 8 + d0 mod 2)>(%i)
    %0 = memref.load %x[%at] : memref<80xf32>
    memref.store %0, %y[%i] : memref<20xf32>
  }
  return
}
// A number that stands for whole vectors, and a row of them that comes again: neither is looked up
// element by element.
// CHECK-LABEL: func.func @whole
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c32{{.*}} step %c8
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%[[I]])
// CHECK: %[[ONE:.*]] = vector.load %arg0[%[[AT]]] : memref<2xf32>, vector<1xf32>
// CHECK: vector.shuffle %[[ONE]], %[[ONE]] [0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: vector.load %arg1[{{.*}}] : memref<16xf32>, vector<8xf32>
// CHECK-NOT: memref.load
// CHECK: return
// REMARK: {{.*}}whole{{.*}}32 elements in vectors of 8, 1 at a time
func.func @whole(%x: memref<2xf32>, %row: memref<16xf32>, %y: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    %at = affine.apply affine_map<(d0) -> (d0 floordiv 16)>(%i)
    %0 = memref.load %x[%at] : memref<2xf32>
    %of = affine.apply affine_map<(d0) -> (d0 mod 16)>(%i)
    %1 = memref.load %row[%of] : memref<16xf32>
    %2 = arith.mulf %0, %1 : f32
    memref.store %2, %y[%i] : memref<32xf32>
  }
  return
}
// Numbers made of the counter, and an op with two results.
// CHECK-LABEL: func.func @numbers
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c16{{.*}} step %c8
// CHECK: %[[AT:.*]] = affine.apply
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[AT]] : index to i32
// CHECK: %[[ALL:.*]] = vector.broadcast %[[FIRST]]
// CHECK: %[[N:.*]] = arith.addi %[[ALL]], %cst{{.*}} : vector<8xi32>
// CHECK: arith.mului_extended %[[N]], %{{.*}} : vector<8xi32>
// REMARK: {{.*}}numbers{{.*}}16 elements in vectors of 8, 1 at a time
func.func @numbers(%y: memref<16xi32>, %factor: i32, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %at = affine.apply affine_map<(d0)[s0] -> (d0 * 3 + s0)>(%i)[%begin]
    %0 = arith.index_cast %at : index to i32
    %low, %high = arith.mului_extended %0, %factor : i32
    %1 = arith.xori %low, %high : i32
    memref.store %1, %y[%i] : memref<16xi32>
  }
  return
}

// Lanes that lie near are loaded in one vector or two, and shuffled: both of a pair, every second
// element, two rows in turn. A comparison with the counter takes its lanes' numbers.
// CHECK-LABEL: func.func @near
// CHECK: %[[PARTNER:.*]] = affine.apply
// CHECK: %[[FIRST:.*]] = arith.addi %[[PARTNER]], %c-1
// CHECK: %[[PAIRS:.*]] = vector.load %arg0[%[[FIRST]]] : memref<128xf32>, vector<8xf32>
// CHECK: vector.shuffle %[[PAIRS]], %[[PAIRS]] [1, 0, 3, 2, 5, 4, 7, 6]
// CHECK: %[[HALF:.*]] = vector.load %arg0[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK: vector.shuffle %[[HALF]], %[[HALF]] [0, 0, 1, 1, 2, 2, 3, 3]
// CHECK: %[[AT:.*]] = affine.apply
// CHECK: %[[LOW:.*]] = vector.load %arg0[%[[AT]]] : memref<128xf32>, vector<8xf32>
// CHECK: %[[LAST:.*]] = arith.addi %[[AT]], %c7
// CHECK: %[[HIGH:.*]] = vector.load %arg0[%[[LAST]]] : memref<128xf32>, vector<8xf32>
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 9, 11, 13, 15]
// CHECK: %[[ROW:.*]] = vector.load %arg0[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK: %[[NEXT:.*]] = vector.load %arg0[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK: vector.shuffle %[[ROW]], %[[NEXT]] [0, 4, 1, 5, 2, 6, 3, 7]
// CHECK: arith.addi %{{.*}}, %cst{{.*}} : vector<8xindex>
// CHECK: %[[ODD:.*]] = arith.cmpi eq, %{{.*}} : vector<8xindex>
// CHECK: arith.select %[[ODD]], %{{.*}} : vector<8xi1>, vector<8xf32>
// REMARK: {{.*}}near{{.*}}16 elements in vectors of 8, 1 at a time
func.func @near(%x: memref<128xf32>, %y: memref<16xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 2 - d0 mod 2 + 1)>(%i)
    %1 = memref.load %x[%0] : memref<128xf32>
    %2 = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%i)
    %3 = memref.load %x[%2] : memref<128xf32>
    %4 = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %5 = memref.load %x[%4] : memref<128xf32>
    %6 = affine.apply affine_map<(d0) -> (d0 floordiv 2 + (d0 mod 2) * 64)>(%i)
    %7 = memref.load %x[%6] : memref<128xf32>
    %8 = affine.apply affine_map<(d0) -> (d0 mod 2)>(%i)
    %9 = arith.cmpi eq, %8, %c0 : index
    %10 = arith.addf %1, %3 : f32
    %11 = arith.addf %5, %7 : f32
    %12 = arith.select %9, %10, %11 : f32
    memref.store %12, %y[%i] : memref<16xf32>
  }
  return
}
}
}
