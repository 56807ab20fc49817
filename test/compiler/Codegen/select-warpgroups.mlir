// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-select-warpgroups --sinter-lower-cuda-kernels \
// RUN:   %remarks 2>%t | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s --input-file=%t

// Few queries: a block of one warpgroup has 64 of them.
// CHECK: func.func private @few({{.*}}sinter.block = 128 : i64, sinter.grid = 4 : i64, {{.*}}sinter.shared = 51072 : i64
// REMARK: [Passed] SelectWarpgroups | {{.*}}Function=few | {{.*}}products are of warpgroups
func.func private @few(%q: tensor<1x100x2x64xbf16>, %l: tensor<1x100x2xf32>) -> tensor<1x100x2x64xbf16>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2xf32>, tensor<1x100x2xf32>)
      -> (tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>)
  return %0#0 : tensor<1x100x2x64xbf16>
}

// Many: two warpgroups.
// CHECK: func.func private @many({{.*}}sinter.block = 256 : i64, sinter.grid = 512 : i64, {{.*}}sinter.shared = 134016 : i64
func.func private @many(%q: tensor<8x1024x8x128xf16>, %l: tensor<8x1024x8xf32>) -> tensor<8x1024x8x128xf16>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<8x1024x8x128xf16>, tensor<8x1024x8x128xf16>, tensor<8x1024x8x128xf16>, tensor<8x1024x8x128xf16>, tensor<8x1024x8xf32>, tensor<8x1024x8xf32>)
      -> (tensor<8x1024x8x128xf16>, tensor<8x1024x8x128xf16>, tensor<8x1024x8x128xf16>)
  return %0#0 : tensor<8x1024x8x128xf16>
}

// REMARK: [Missed] SelectWarpgroups | {{.*}}Function=odd | {{.*}}products are of warps: heads of 80 are not whole tiles
func.func private @odd(%q: tensor<1x100x2x80xbf16>, %l: tensor<1x100x2xf32>) -> tensor<1x100x2x80xbf16>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x100x2x80xbf16>, tensor<1x100x2x80xbf16>, tensor<1x100x2x80xbf16>, tensor<1x100x2x80xbf16>, tensor<1x100x2xf32>, tensor<1x100x2xf32>)
      -> (tensor<1x100x2x80xbf16>, tensor<1x100x2x80xbf16>, tensor<1x100x2x80xbf16>)
  return %0#0 : tensor<1x100x2x80xbf16>
}

// REMARK: [Missed] SelectWarpgroups | {{.*}}Function=wide | {{.*}}products are of warps: keys are not bf16 or f16
func.func private @wide(%q: tensor<1x100x2x64xf32>, %l: tensor<1x100x2xf32>) -> tensor<1x100x2x64xf32>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x100x2x64xf32>, tensor<1x100x2x64xf32>, tensor<1x100x2x64xf32>, tensor<1x100x2x64xf32>, tensor<1x100x2xf32>, tensor<1x100x2xf32>)
      -> (tensor<1x100x2x64xf32>, tensor<1x100x2x64xf32>, tensor<1x100x2x64xf32>)
  return %0#0 : tensor<1x100x2x64xf32>
}

// CHECK: module @kernels
// CHECK: @few({{.*}}warpgroups = true
// CHECK: @many({{.*}}warpgroups = true
// CHECK: @odd({{.*}}warpgroups = false
// CHECK: @wide({{.*}}warpgroups = false
