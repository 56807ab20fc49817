// RUN: sinter-opt %s --sinter-form-fusions | FileCheck %s

module attributes {
    sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "",
    vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 192,
    memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 0>} {
// The large sum becomes one kernel with %y1 first. It needs the copy, and that needs %a: %a cannot be
// in one kernel with the small sum, which needs %y1, although the copy stands behind it.
// CHECK-LABEL: func.func @interleaved
// CHECK: %[[A:.*]] = sinter.relu %arg0
// CHECK: %[[X:.*]] = sinter.copy %[[A]]
// CHECK: %[[Y:.*]]:2 = sinter.fusion rows(%arg1, %[[X]] :
// CHECK: %[[T:.*]] = sinter.fusion rows(%[[Y]]#0, %[[A]] :
// CHECK: return %[[T]], %[[Y]]#1
func.func @interleaved(%in0: tensor<1024x512xf32>, %in1: tensor<8x1024x512xf32>)
    -> (tensor<1024x512xf32>, tensor<8x1024x512xf32>) attributes {sinter.entry} {
  %a = sinter.relu %in0 : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %y1 = sinter.relu %in1 : (tensor<8x1024x512xf32>) -> tensor<8x1024x512xf32>
  %s = sinter.slice %y1 {offsets = array<i64: 0, 0, 0>} : (tensor<8x1024x512xf32>) -> tensor<1x1024x512xf32>
  %r = sinter.reshape %s : (tensor<1x1024x512xf32>) -> tensor<1024x512xf32>
  %t = sinter.add %a, %r : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %x = sinter.copy %a : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %xb = sinter.broadcast %x {dims = array<i64: 1, 2>} : (tensor<1024x512xf32>) -> tensor<8x1024x512xf32>
  %y2 = sinter.add %y1, %xb : (tensor<8x1024x512xf32>, tensor<8x1024x512xf32>) -> tensor<8x1024x512xf32>
  return %t, %y2 : tensor<1024x512xf32>, tensor<8x1024x512xf32>
}

// One number is read by the updates of two tensors: they stay two kernels, which share their code,
// and the number is computed by itself.
// CHECK-LABEL: func.func @numbers
// CHECK: %[[N:.*]] = sinter.fusion rows(%arg0 :
// CHECK: sinter.reduce
// CHECK: sinter.sqrt
// CHECK: sinter.fusion rows({{.*}}%[[N]]
// CHECK: sinter.fusion rows({{.*}}%[[N]]
func.func @numbers(%x: tensor<64xf32>, %p: tensor<64xf32>, %q: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) attributes {sinter.entry} {
  %0 = sinter.reduce sum %x : (tensor<64xf32>) -> tensor<f32>
  %1 = sinter.sqrt %0 : (tensor<f32>) -> tensor<f32>
  %2 = sinter.broadcast %1 {dims = array<i64>} : (tensor<f32>) -> tensor<64xf32>
  %3 = sinter.mul %p, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = sinter.mul %q, %2 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3, %4 : tensor<64xf32>, tensor<64xf32>
}
}
