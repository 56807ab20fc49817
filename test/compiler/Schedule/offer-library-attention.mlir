// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-lower-to-plan --sinter-offer-library-attention --sinter-verify-schedule | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-lower-to-plan --sinter-offer-library-attention %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] OfferLibraryAttention | Category:sinter-schedule | Function=attend | Remark="the library may compute it, too, with 256 bytes of workspace"

// Queries, keys and values are columns of one product; two heads share one of the keys.
func.func private @attend(%qkv: tensor<2x40x256xbf16>) -> (tensor<2x40x2x64xbf16>, tensor<2x40x2xf32>)
    attributes {sinter.kernel = "attention"} {
  %q0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 0>} : (tensor<2x40x256xbf16>) -> tensor<2x40x128xbf16>
  %k0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 128>} : (tensor<2x40x256xbf16>) -> tensor<2x40x64xbf16>
  %v0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 192>} : (tensor<2x40x256xbf16>) -> tensor<2x40x64xbf16>
  %q = sinter.reshape %q0 : (tensor<2x40x128xbf16>) -> tensor<2x40x2x64xbf16>
  %k = sinter.reshape %k0 : (tensor<2x40x64xbf16>) -> tensor<2x40x1x64xbf16>
  %v = sinter.reshape %v0 : (tensor<2x40x64xbf16>) -> tensor<2x40x1x64xbf16>
  %0:2 = sinter.attention %q, %k, %v {scale = 0.125, causal, window = 16, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x40x2x64xbf16>, tensor<2x40x1x64xbf16>, tensor<2x40x1x64xbf16>) -> (tensor<2x40x2x64xf32>, tensor<2x40x2xf32>)
  %1 = sinter.cast %0#0 : (tensor<2x40x2x64xf32>) -> tensor<2x40x2x64xbf16>
  return %1, %0#1 : tensor<2x40x2x64xbf16>, tensor<2x40x2xf32>
}

// CHECK-LABEL: plan.program @train
func.func @train(%qkv: tensor<2x40x256xbf16> {sinter.input = "qkv"})
    -> (tensor<2x40x2x64xbf16> {sinter.output = "y"}, tensor<2x40x2xf32> {sinter.output = "l"})
    attributes {sinter.entry} {
  // CHECK: %[[X:.*]] = plan.slice input[0, 40960] "qkv"
  // CHECK: %[[Y:.*]] = plan.slice output[0, 20480] "y"
  // CHECK: %[[L:.*]] = plan.slice output[20480, 640] "l"
  // CHECK: %[[WORKSPACE:.*]] = plan.alloc 256
  // CHECK: plan.alternatives {
  // CHECK-NEXT: plan.launch @attend grid {{.*}}(%[[X]]) -> (%[[Y]], %[[L]]) {{.*}}flops = [[FLOPS:[0-9]+]]
  // CHECK-NEXT: } or {
  // CHECK-NEXT: plan.attention(%[[X]], %[[X]], %[[X]]) workspace(%[[WORKSPACE]]) -> (%[[Y]], %[[L]]) {batch = 2 : i64, {{.*}}causal, dtype = bf16, flops = [[FLOPS]] : i64, head_size = 64 : i64, heads = 2 : i64, key_heads = 1 : i64, key_layout = array<i64: 128, 10240, 256, 64>, keys = 40 : i64
  // CHECK-SAME: length = 40 : i64, narrow_flops = 655360 : i64, out_dtype = bf16
  // CHECK-SAME: query_layout = array<i64: 0, 10240, 256, 64>
  // CHECK-SAME: scale = 1.250000e-01 : f32
  // CHECK-SAME: value_layout = array<i64: 192, 10240, 256, 64>, window = 16 : i64}
  // CHECK-NEXT: }
  %0:2 = sinter.call_kernel @attend(%qkv) : (tensor<2x40x256xbf16>) -> (tensor<2x40x2x64xbf16>, tensor<2x40x2xf32>)
  return %0#0, %0#1 : tensor<2x40x2x64xbf16>, tensor<2x40x2xf32>
}
