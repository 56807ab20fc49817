// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// Few rows, with the gate behind.
// CHECK: func.func private @few({{.*}}) -> {{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 6 : i64
func.func private @few(%x: tensor<2x1x80xi8>, %r: tensor<2x1x1xf32>, %w: tensor<96x80xi8> {sinter.constant},
    %s: tensor<96x1xf32> {sinter.constant}) -> tensor<2x1x48xbf16> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s rows %r {transpose_rhs}
     : (tensor<2x1x80xi8>, tensor<96x80xi8>, tensor<96x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x96xf32>
  %gate = sinter.slice %0 {offsets = array<i64: 0, 0, 0>} : (tensor<2x1x96xf32>) -> tensor<2x1x48xf32>
  %up = sinter.slice %0 {offsets = array<i64: 0, 0, 48>} : (tensor<2x1x96xf32>) -> tensor<2x1x48xf32>
  %1 = sinter.silu %gate : (tensor<2x1x48xf32>) -> tensor<2x1x48xf32>
  %2 = sinter.mul %1, %up : (tensor<2x1x48xf32>, tensor<2x1x48xf32>) -> tensor<2x1x48xf32>
  %3 = sinter.cast %2 : (tensor<2x1x48xf32>) -> tensor<2x1x48xbf16>
  return %3 : tensor<2x1x48xbf16>
}

// Many rows, not aligned: any chain behind them.
// CHECK: func.func private @many({{.*}}) -> {{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 2 : i64, {{.*}}sinter.shared = 30720 : i64}
func.func private @many(%x: tensor<70x77xi8>, %r: tensor<70x1xf32>, %w: tensor<40x77xi8>, %s: tensor<40x1xf32>,
    %y: tensor<70x40xf32>) -> tensor<70x40xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s rows %r {transpose_rhs}
     : (tensor<70x77xi8>, tensor<40x77xi8>, tensor<40x1xf32>, tensor<70x1xf32>) -> tensor<70x40xf32>
  %1 = sinter.silu %0 : (tensor<70x40xf32>) -> tensor<70x40xf32>
  %2 = sinter.mul %1, %y : (tensor<70x40xf32>, tensor<70x40xf32>) -> tensor<70x40xf32>
  return %2 : tensor<70x40xf32>
}

func.func private @fp8(%x: tensor<3x96xf8E4M3FN>, %r: tensor<3x1xf32>, %w: tensor<40x96xf8E4M3FN>, %s: tensor<40x1xf32>)
    -> tensor<3x40xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s rows %r {transpose_rhs}
     : (tensor<3x96xf8E4M3FN>, tensor<40x96xf8E4M3FN>, tensor<40x1xf32>, tensor<3x1xf32>) -> tensor<3x40xf32>
  return %0 : tensor<3x40xf32>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @few(
// CHECK-SAME: arguments = array<i64: 0, 2, 1, 3, -1, -1, -1, -1, 4>
// CHECK-SAME: function = "gemv_bytes", header = "gemv_bytes.cuh"
// CHECK-SAME: Element = i8
// CHECK-SAME: Epilogue = "sinter::GatedEpilogue<sinter::Epilogue<>, sinter::Epilogue<sinter::Silu>, sinter::Epilogue<>>"
// CHECK-SAME: rhsIsConstant = true
// CHECK: func.func private @many(
// CHECK-SAME: arguments = array<i64: 0, 2, 1, 3, 4, -1, -1, -1, 5>
// CHECK-SAME: function = "gemm_bytes", header = "gemm_bytes.cuh"
// CHECK-SAME: Epilogue = "sinter::Epilogue<sinter::Silu, sinter::Multiply<float, 40>>"
// CHECK: func.func private @fp8(
// CHECK-SAME: function = "gemv_bytes"
// CHECK-SAME: Element = f8E4M3FN
