// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls | FileCheck %s

// Integers of one type in groups of one size lie side by side, and so do their scales.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[W:.*]] = sinter.concat %arg1, %arg3 {dim = 0 : i64} : {{.*}} -> tensor<48x64xi8>
// CHECK: %[[S:.*]] = sinter.concat %arg2, %arg4 {dim = 0 : i64} : {{.*}} -> tensor<48x2xf32>
// CHECK: sinter.matmul %arg0, %[[W]], %[[S]] {transpose_rhs} : {{.*}} -> tensor<4x48xf32>
// CHECK: sinter.matmul %arg0, %arg5, %arg6 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
// CHECK: sinter.matmul %arg0, %arg7, %arg8 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
// CHECK: sinter.matmul %arg0, %arg9 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
func.func @scaled(%x: tensor<4x64xf32> {sinter.input = "x"},
    %a: tensor<32x64xi8> {sinter.parameter = "a"}, %as: tensor<32x2xf32> {sinter.parameter = "as"},
    %b: tensor<16x64xi8> {sinter.parameter = "b"}, %bs: tensor<16x2xf32> {sinter.parameter = "bs"},
    %c: tensor<16x64xi8> {sinter.parameter = "c"}, %cs: tensor<16x4xf32> {sinter.parameter = "cs"},
    %d: tensor<16x64xi4> {sinter.parameter = "d"}, %ds: tensor<16x2xf32> {sinter.parameter = "ds"},
    %e: tensor<16x64xf32> {sinter.parameter = "e"})
    -> (tensor<4x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as {transpose_rhs} : (tensor<4x64xf32>, tensor<32x64xi8>, tensor<32x2xf32>) -> tensor<4x32xf32>
  %1 = sinter.matmul %x, %b, %bs {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi8>, tensor<16x2xf32>) -> tensor<4x16xf32>
  %2 = sinter.matmul %x, %c, %cs {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi8>, tensor<16x4xf32>) -> tensor<4x16xf32>
  %3 = sinter.matmul %x, %d, %ds {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>) -> tensor<4x16xf32>
  %4 = sinter.matmul %x, %e {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xf32>) -> tensor<4x16xf32>
  return %0, %1, %2, %3, %4 : tensor<4x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// So do minima, and products of the same rows of integers; a product without minima stays apart.
// CHECK-LABEL: func.func @minima
// CHECK: %[[M:.*]] = sinter.concat %arg3, %arg6 {dim = 0 : i64} : {{.*}} -> tensor<32x2xf32>
// CHECK: sinter.matmul %arg0, %{{.*}}, %{{.*}} minima %[[M]] {transpose_rhs} : {{.*}} -> tensor<4x32xf32>
// CHECK: sinter.matmul %arg0, %arg7, %arg8 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
func.func @minima(%x: tensor<4x64xf32> {sinter.input = "x"},
    %a: tensor<16x64xi4> {sinter.parameter = "a"}, %as: tensor<16x2xf32> {sinter.parameter = "as"}, %am: tensor<16x2xf32> {sinter.parameter = "am"},
    %b: tensor<16x64xi4> {sinter.parameter = "b"}, %bs: tensor<16x2xf32> {sinter.parameter = "bs"}, %bm: tensor<16x2xf32> {sinter.parameter = "bm"},
    %c: tensor<16x64xi4> {sinter.parameter = "c"}, %cs: tensor<16x2xf32> {sinter.parameter = "cs"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as minima %am {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b, %bs minima %bm {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<4x16xf32>
  %2 = sinter.matmul %x, %c, %cs {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %0, %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// Minima have a type of their own.
// CHECK-LABEL: func.func @narrow_scales
// CHECK-DAG: sinter.concat %arg2, %arg5 {dim = 0 : i64} : {{.*}} -> tensor<32x2xf16>
// CHECK-DAG: sinter.concat %arg3, %arg6 {dim = 0 : i64} : {{.*}} -> tensor<32x2xf32>
// CHECK: sinter.matmul {{.*}} minima {{.*}} -> tensor<4x32xf32>
func.func @narrow_scales(%x: tensor<4x64xf32> {sinter.input = "x"},
    %a: tensor<16x64xi4> {sinter.parameter = "a"}, %as: tensor<16x2xf16> {sinter.parameter = "as"}, %am: tensor<16x2xf32> {sinter.parameter = "am"},
    %b: tensor<16x64xi4> {sinter.parameter = "b"}, %bs: tensor<16x2xf16> {sinter.parameter = "bs"}, %bm: tensor<16x2xf32> {sinter.parameter = "bm"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as minima %am {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf16>, tensor<16x2xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b, %bs minima %bm {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi4>, tensor<16x2xf16>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// Scales of another type are not joined with them.
// CHECK-LABEL: func.func @types
// CHECK: sinter.matmul %arg0, %arg1, %arg2 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
// CHECK: sinter.matmul %arg0, %arg3, %arg4 {transpose_rhs} : {{.*}} -> tensor<4x16xf32>
func.func @types(%x: tensor<4x64xf32> {sinter.input = "x"},
    %a: tensor<16x64xi8> {sinter.parameter = "a"}, %as: tensor<16x2xf16> {sinter.parameter = "as"},
    %b: tensor<16x64xi8> {sinter.parameter = "b"}, %bs: tensor<16x2xf32> {sinter.parameter = "bs"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi8>, tensor<16x2xf16>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b, %bs {transpose_rhs} : (tensor<4x64xf32>, tensor<16x64xi8>, tensor<16x2xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @rows
// CHECK: sinter.matmul %arg0, %{{.*}}, %{{.*}} rows %arg1 {transpose_rhs} : {{.*}} -> tensor<4x48xf32>
func.func @rows(%x: tensor<4x64xi8> {sinter.input = "x"}, %r: tensor<4x1xf32> {sinter.input = "r"},
    %a: tensor<32x64xi8> {sinter.parameter = "a"}, %as: tensor<32x1xf32> {sinter.parameter = "as"},
    %b: tensor<16x64xi8> {sinter.parameter = "b"}, %bs: tensor<16x1xf32> {sinter.parameter = "bs"})
    -> (tensor<4x32xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a, %as rows %r {transpose_rhs} : (tensor<4x64xi8>, tensor<32x64xi8>, tensor<32x1xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %1 = sinter.matmul %x, %b, %bs rows %r {transpose_rhs} : (tensor<4x64xi8>, tensor<16x64xi8>, tensor<16x1xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x32xf32>, tensor<4x16xf32>
}
