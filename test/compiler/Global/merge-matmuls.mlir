// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] Merged | {{.*}}Function=qkv | Remark="3 products of one left-hand side as one of 32 columns: {{[0-9.]+ [mun]s}} together, {{[0-9.]+ [mun]s}} apart"
// REMARK: [Passed] Merged | {{.*}}Function=gate_up | Remark="2 products

// Biases are merged too; the one that is missing is zero.
// CHECK-LABEL: func.func @qkv
// CHECK: %[[W:.*]] = sinter.concat %arg1, %arg2, %arg3 {dim = 1 : i64} : {{.*}} -> tensor<8x32xf32>
// CHECK: %[[Y:.*]] = sinter.matmul %arg0, %[[W]] : {{.*}} -> tensor<1x4x32xf32>
// CHECK: %[[B:.*]] = sinter.concat %arg4, %{{.*}}, %arg5 {dim = 0 : i64} : {{.*}} -> tensor<32xf32>
// CHECK: %[[S:.*]] = sinter.broadcast %[[B]] {dims = array<i64: 2>}
// CHECK: %[[Z:.*]] = sinter.add %[[Y]], %[[S]]
// CHECK-DAG: sinter.slice %[[Z]] {offsets = array<i64: 0, 0, 0>} : {{.*}} -> tensor<1x4x16xf32>
// CHECK-DAG: sinter.slice %[[Z]] {offsets = array<i64: 0, 0, 16>} : {{.*}} -> tensor<1x4x8xf32>
// CHECK-DAG: sinter.slice %[[Z]] {offsets = array<i64: 0, 0, 24>} : {{.*}} -> tensor<1x4x8xf32>
// CHECK-NOT: sinter.matmul
func.func @qkv(%x: tensor<1x4x8xf32> {sinter.input = "x"},
               %wq: tensor<8x16xf32> {sinter.parameter = "wq"},
               %wk: tensor<8x8xf32> {sinter.parameter = "wk"},
               %wv: tensor<8x8xf32> {sinter.parameter = "wv"},
               %bq: tensor<16xf32> {sinter.parameter = "bq"},
               %bv: tensor<8xf32> {sinter.parameter = "bv"})
    -> (tensor<1x4x4x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) attributes {sinter.entry} {
  %q = sinter.matmul %x, %wq : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<1x4x16xf32>
  %bqs = sinter.broadcast %bq {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<1x4x16xf32>
  %qb = sinter.add %q, %bqs : (tensor<1x4x16xf32>, tensor<1x4x16xf32>) -> tensor<1x4x16xf32>
  %k = sinter.matmul %x, %wk : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %v = sinter.matmul %x, %wv : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %bvs = sinter.broadcast %bv {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<1x4x8xf32>
  %vb = sinter.add %v, %bvs : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %q4 = sinter.reshape %qb : (tensor<1x4x16xf32>) -> tensor<1x4x4x4xf32>
  %k4 = sinter.reshape %k : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %v4 = sinter.reshape %vb : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  return %q4, %k4, %v4 : tensor<1x4x4x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
}

// CHECK-LABEL: func.func @gate_up
// CHECK-COUNT-1: sinter.matmul {{.*}} -> tensor<4x32xf32>
// CHECK-NOT: sinter.matmul
// CHECK: sinter.silu
func.func @gate_up(%x: tensor<4x8xf32>, %wg: tensor<8x16xf32> {sinter.parameter = "g"},
                   %wu: tensor<8x16xf32> {sinter.parameter = "u"}) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %g = sinter.matmul %x, %wg : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %u = sinter.matmul %x, %wu : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %s = sinter.silu %g : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %m = sinter.mul %s, %u : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %m : tensor<4x16xf32>
}

// States are packed in every step, so merging them copies no more; but one that the kernel reads as it
// lies in memory is not packed.
// CHECK-LABEL: func.func @states
// CHECK: sinter.concat %arg1, %arg2 {dim = 0 : i64}
// CHECK-COUNT-1: sinter.matmul
// CHECK-NOT: sinter.matmul
func.func @states(%x: tensor<4x8xf32>, %a: tensor<16x8xf32> {sinter.state = "a"},
                  %b: tensor<16x8xf32> {sinter.state = "b"}) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %2 = sinter.reshape %0 : (tensor<4x16xf32>) -> tensor<64xf32>
  %3 = sinter.reshape %1 : (tensor<4x16xf32>) -> tensor<64xf32>
  return %2, %3 : tensor<64xf32>, tensor<64xf32>
}

// CHECK-LABEL: func.func @large_states
// CHECK-COUNT-2: sinter.matmul
func.func @large_states(%x: tensor<64x512xf32>, %a: tensor<16384x512xf32> {sinter.state = "a"},
                        %b: tensor<16384x512xf32> {sinter.state = "b"})
    -> (tensor<1048576xf32>, tensor<1048576xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<64x512xf32>, tensor<16384x512xf32>) -> tensor<64x16384xf32>
  %1 = sinter.matmul %x, %b {transpose_rhs} : (tensor<64x512xf32>, tensor<16384x512xf32>) -> tensor<64x16384xf32>
  %2 = sinter.reshape %0 : (tensor<64x16384xf32>) -> tensor<1048576xf32>
  %3 = sinter.reshape %1 : (tensor<64x16384xf32>) -> tensor<1048576xf32>
  return %2, %3 : tensor<1048576xf32>, tensor<1048576xf32>
}

// What may round its operands to TF32 still may.
// CHECK-LABEL: func.func @tf32
// CHECK: sinter.matmul {{.*}}tf32{{.*}}tensor<4x24xf32>
// CHECK-NOT: sinter.matmul
func.func @tf32(%x: tensor<4x8xf32>, %wq: tensor<8x16xf32> {sinter.parameter = "wq"},
                %wk: tensor<8x8xf32> {sinter.parameter = "wk"})
    -> (tensor<4x16xf32>, tensor<4x8xf32>) attributes {sinter.entry} {
  %q = sinter.matmul %x, %wq {tf32} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %k = sinter.matmul %x, %wk {tf32} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %q, %k : tensor<4x16xf32>, tensor<4x8xf32>
}
