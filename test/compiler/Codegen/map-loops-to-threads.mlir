// RUN: sinter-opt %s --sinter-map-loops-to-threads | FileCheck %s

module {
func.func private @sum(%x: tensor<3x1024xf32>) -> tensor<3xf32> attributes {sinter.grid = 3 : i64, sinter.block = 128 : i64, sinter.shared = 0 : i64}
func.func private @rest(%x: tensor<3x1027xf32>) -> tensor<3xf32> attributes {sinter.grid = 3 : i64, sinter.block = 128 : i64, sinter.shared = 0 : i64}
func.func private @tail(%x: tensor<3x65xf32>) -> tensor<3x65xf32> attributes {sinter.grid = 2 : i64, sinter.block = 64 : i64, sinter.shared = 528 : i64}
func.func private @beside(%x: tensor<3x64xbf16>, %y: tensor<3x64xbf16>) -> tensor<3x128xbf16> attributes {sinter.grid = 3 : i64, sinter.block = 16 : i64, sinter.shared = 0 : i64}
func.func private @rounded(%x: tensor<3x64xbf16>, %y: tensor<3x64xbf16>) -> tensor<3x128xbf16> attributes {sinter.grid = 3 : i64, sinter.block = 16 : i64, sinter.shared = 0 : i64}
func.func private @uneven(%x: tensor<3x60xf32>, %y: tensor<3x68xf32>) -> tensor<3x128xf32> attributes {sinter.grid = 3 : i64, sinter.block = 16 : i64, sinter.shared = 0 : i64}

module @kernels {
// Sums a lane, then over the lanes, then over the block; the first thread stores.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[X:.*]]: memref<3072xf32> {llvm.noalias}, %[[Y:.*]]: memref<3xf32> {llvm.noalias})
// CHECK: %[[OWN:.*]] = memref.alloca() {sinter.registers} : memref<8xf32>
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[PART:.*]] = scf.for %[[K:.*]] = %{{.*}} to %c2{{.*}} iter_args({{.*}}) -> (vector<4xf32>) {
// CHECK: %[[I:.*]] = affine.apply #{{.*}}(%[[K]], %[[THREAD]])
// CHECK: vector.load %[[X]]{{.*}} : memref<3072xf32>, vector<4xf32>
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %c4
// CHECK: vector.extract
// CHECK: memref.store %{{.*}}, %[[OWN]]
// CHECK: arith.addf
// CHECK: vector.insert
// CHECK: } {sinter.unroll = 4 : i64}
// CHECK: } {sinter.unroll = 2 : i64}
// CHECK: %[[LANES:.*]] = vector.reduction <add>, %[[PART]]
// CHECK: %[[ALL:.*]] = gpu.all_reduce add %[[LANES]] uniform
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store %[[ALL]], %[[Y]][%[[BLOCK]]]
func.func @sum(%x: memref<3072xf32> {llvm.noalias}, %y: memref<3xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 128 : i64} {
  %row = memref.alloca() {sinter.registers} : memref<1024xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c1024 step %c1 iter_args(%s = %zero) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 1024 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<3072xf32>
      memref.store %0, %row[%i] : memref<1024xf32>
      %1 = arith.addf %s, %0 : f32
      scf.yield %1 : f32
    } {sinter.lanes = 4 : i64, sinter.unroll = 2 : i64}
    memref.store %sum, %y[%item] : memref<3xf32>
  }
  return
}

// Behind the last whole vector, one element for each of the first threads, after the lanes are added.
// CHECK-LABEL: func.func @rest
// CHECK: %[[PART:.*]] = scf.for %{{.*}} = %{{.*}} to %c2{{.*}} iter_args({{.*}}) -> (vector<4xf32>) {
// CHECK-NOT: arith.cmpi
// CHECK: %[[LANES:.*]] = vector.reduction <add>, %[[PART]]
// CHECK: %[[I:.*]] = affine.apply #{{.*}}(%{{.*}})
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[I]], %c1027
// CHECK: %[[OWN:.*]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK: %[[LAST:.*]] = memref.load
// CHECK: %[[NEW:.*]] = arith.addf %[[LANES]], %[[LAST]]
// CHECK: scf.yield %[[NEW]]
// CHECK: } else {
// CHECK: scf.yield %[[LANES]]
// CHECK: gpu.all_reduce add %[[OWN]] uniform
func.func @rest(%x: memref<3084xf32> {llvm.noalias}, %y: memref<3xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1027 = arith.constant 1027 : index
  %zero = arith.constant 0.0 : f32
  scf.for %item = %begin to %end step %c1 {
    %sum = scf.for %i = %c0 to %c1027 step %c1 iter_args(%s = %zero) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 1028 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<3084xf32>
      %1 = arith.addf %s, %0 : f32
      scf.yield %1 : f32
    } {sinter.lanes = 4 : i64, sinter.unroll = 2 : i64}
    memref.store %sum, %y[%item] : memref<3xf32>
  }
  return
}

// Two items a block, the last block half empty; rows that no vector fits; buffers in shared memory.
// CHECK-LABEL: func.func @tail
// CHECK: memref.alloca() : memref<130xf32, #gpu.address_space<workgroup>>
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[TEAM:.*]] = affine.apply #{{.*}}(%[[THREAD]])
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %c3
// CHECK: scf.if %[[EXISTS]]
// CHECK: scf.for
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c65
// CHECK: scf.if %[[INSIDE]] -> (f32)
// CHECK: gpu.subgroup_reduce maximumf %{{.*}} uniform cluster(size = 32)
// CHECK: gpu.barrier
func.func @tail(%x: memref<195xf32> {llvm.noalias}, %y: memref<195xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 32 : i64} {
  %row = memref.alloca() : memref<65xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65 = arith.constant 65 : index
  %least = arith.constant 0xFF800000 : f32
  scf.for %item = %begin to %end step %c1 {
    %largest = scf.for %i = %c0 to %c65 step %c1 iter_args(%s = %least) -> f32 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 65 + d1)>(%item, %i)
      %0 = memref.load %x[%at] : memref<195xf32>
      memref.store %0, %row[%i] : memref<65xf32>
      %1 = arith.maximumf %s, %0 : f32
      scf.yield %1 : f32
    } {sinter.lanes = 1 : i64, sinter.unroll = 3 : i64}
    gpu.barrier
    scf.for %i = %c0 to %c65 step %c1 {
      %at = affine.apply affine_map<(d0, d1) -> (d0 * 65 + d1)>(%item, %i)
      %other = affine.apply affine_map<(d0) -> (-d0 + 64)>(%i)
      %0 = memref.load %row[%other] : memref<65xf32>
      %1 = arith.subf %0, %largest : f32
      memref.store %1, %y[%at] : memref<195xf32>
    } {sinter.lanes = 1 : i64, sinter.unroll = 3 : i64}
  }
  return
}

// Of two tensors side by side all lanes are in one: they load a vector of it, which is stored as it
// is. Parts that lie elsewhere are vectors, too, where no lane crosses from one to
// the next.
// CHECK-LABEL: func.func @beside
// CHECK-SAME: (%[[X:.*]]: memref<192xbf16> {llvm.noalias}, %[[Y:.*]]: memref<192xbf16> {llvm.noalias}, %[[Z:.*]]: memref<384xbf16>
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %{{.*}}, %c64
// CHECK: %[[ROW:.*]] = scf.if %[[BELOW]] -> (vector<8xbf16>) {
// CHECK: %[[LEFT:.*]] = vector.load %[[X]]{{.*}} : memref<192xbf16>, vector<8xbf16>
// CHECK: scf.yield %[[LEFT]]
// CHECK: } else {
// CHECK: %[[RIGHT:.*]] = vector.load %[[Y]]{{.*}} : memref<192xbf16>, vector<8xbf16>
// CHECK: scf.yield %[[RIGHT]]
// CHECK-NOT: vector.insert
// CHECK: vector.store %[[ROW]], %[[Z]]
func.func @beside(%x: memref<192xbf16> {llvm.noalias}, %y: memref<192xbf16> {llvm.noalias}, %z: memref<384xbf16> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c128 step %c1 {
      %below = arith.cmpi slt, %i, %c64 : index
      %chosen = scf.if %below -> (f32) {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 16 + (d1 floordiv 16) * 48 + d1 mod 16)>(%item, %i)
        %0 = memref.load %x[%at] : memref<192xbf16>
        %1 = arith.extf %0 : bf16 to f32
        scf.yield %1 : f32
      } else {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1 - 64)>(%item, %i)
        %0 = memref.load %y[%at] : memref<192xbf16>
        %1 = arith.extf %0 : bf16 to f32
        scf.yield %1 : f32
      }
      %narrow = arith.truncf %chosen : f32 to bf16
      %to = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%item, %i)
      memref.store %narrow, %z[%to] : memref<384xbf16>
    } {sinter.lanes = 8 : i64, sinter.unroll = 1 : i64}
  }
  return
}

// What is rounded on its way is not stored as it was loaded.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[ROW:.*]] = scf.if %{{.*}} -> (vector<4xf32>) {
// CHECK: %[[MADE:.*]] = scf.for
// CHECK: vector.extract %[[ROW]]
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.extf
// CHECK: vector.insert %[[ROUNDED]]
// CHECK: vector.store %[[MADE]]
func.func @rounded(%x: memref<192xf32> {llvm.noalias}, %y: memref<192xf32> {llvm.noalias}, %z: memref<384xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c128 step %c1 {
      %below = arith.cmpi slt, %i, %c64 : index
      %chosen = scf.if %below -> (f32) {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1)>(%item, %i)
        %0 = memref.load %x[%at] : memref<192xf32>
        %1 = arith.truncf %0 : f32 to bf16
        %2 = arith.extf %1 : bf16 to f32
        scf.yield %2 : f32
      } else {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1 - 64)>(%item, %i)
        %0 = memref.load %y[%at] : memref<192xf32>
        %1 = arith.truncf %0 : f32 to bf16
        %2 = arith.extf %1 : bf16 to f32
        scf.yield %2 : f32
      }
      %to = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%item, %i)
      memref.store %chosen, %z[%to] : memref<384xf32>
    } {sinter.lanes = 4 : i64, sinter.unroll = 1 : i64}
  }
  return
}

// Lanes on both sides of a boundary choose each for itself, as do those that cross from one part to
// the next.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: vector.load
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: memref.load
// CHECK: } else {
// CHECK: memref.load
func.func @uneven(%x: memref<180xf32> {llvm.noalias}, %y: memref<204xf32> {llvm.noalias}, %z: memref<384xf32> {llvm.noalias}, %begin: index, %end: index) attributes {sinter.items = 3 : i64, sinter.threads = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c60 = arith.constant 60 : index
  %c128 = arith.constant 128 : index
  scf.for %item = %begin to %end step %c1 {
    scf.for %i = %c0 to %c128 step %c1 {
      %below = arith.cmpi slt, %i, %c60 : index
      %chosen = scf.if %below -> (f32) {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 60 + d1)>(%item, %i)
        %0 = memref.load %x[%at] : memref<180xf32>
        scf.yield %0 : f32
      } else {
        %at = affine.apply affine_map<(d0, d1) -> (d0 * 68 + d1 - 60)>(%item, %i)
        %0 = memref.load %y[%at] : memref<204xf32>
        scf.yield %0 : f32
      }
      %from = affine.apply affine_map<(d0, d1) -> (d0 * 16 + (d1 floordiv 4) * 48 + d1 mod 4)>(%item, %i)
      %1 = memref.load %y[%from] : memref<204xf32>
      %2 = arith.addf %chosen, %1 : f32
      %to = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)>(%item, %i)
      memref.store %2, %z[%to] : memref<384xf32>
    } {sinter.lanes = 8 : i64, sinter.unroll = 1 : i64}
  }
  return
}
}
}
