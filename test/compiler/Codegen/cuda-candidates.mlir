// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels=tune | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels=tune %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s --check-prefix=NONE --implicit-check-not=sinter.alternatives

// NONE: func.func private @forward

// The rule takes tiles of 64 rows; with 128 there are half as many blocks.
// REMARK: Alternatives{{.*}}Function=forward{{.*}}left to the device: by the rule: 16 blocks of 128 threads; tile 128: 8 blocks of 128 threads
// CHECK: func.func private @forward({{.*}}sinter.alternatives = [@forward_tile128], sinter.block = 128 : i64, sinter.grid = 16 : i64
// CHECK: func.func private @forward_tile128({{.*}}sinter.grid = 8 : i64, {{.*}}sinter.shared = 55296 : i64
func.func private @forward(%q: tensor<2x256x2x64xbf16>) -> tensor<2x256x2x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>) -> tensor<2x256x2x64xf32>
  return %0 : tensor<2x256x2x64xf32>
}

// A GEMV is shared out by its rule.
// CHECK: func.func private @few({{.*}}attributes {sinter.block = 512 : i64
func.func private @few(%x: tensor<1x64xbf16>, %w: tensor<256x64xbf16>) -> tensor<1x256xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x64xbf16>, tensor<256x64xbf16>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// With tiles of 128 a quarter of the blocks would run.
// REMARK: Alternatives{{.*}}Function=slow{{.*}}tile
// CHECK-NOT: @slow_tile128
func.func private @slow(%x: tensor<128x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<128x128xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<128x64xbf16>, tensor<128x64xbf16>) -> tensor<128x128xf32>
  return %0 : tensor<128x128xf32>
}

// Without matrix instructions no tile is another launch.
// REMARK: Alternatives{{.*}}Function=plain{{.*}}every other tile of attention_forward is the same launch
// CHECK-NOT: @plain_tile
func.func private @plain(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32>
  return %0 : tensor<1x8x2x16xf32>
}

// CHECK: func.func private @forward({{.*}} attributes {sinter.template = {{.*}}tile = 0 : i64
// CHECK: func.func private @forward_tile128({{.*}} attributes {sinter.template = {{.*}}tile = 128 : i64
