// RUN: sinter-opt %S/../../differential/Inputs/llama.mlir --sinter-assign-target=target=cpu:x86-64-v4 --sinter-precision-pipeline --sinter-global-pipeline --sinter-layout-pipeline --sinter-fusion-pipeline | sinter-opt --sinter-verify-fusion | FileCheck %s
// RUN: sinter-opt %S/../../differential/Inputs/llama.mlir --sinter-assign-target=target=cpu:x86-64-v4 --sinter-precision-pipeline --sinter-pack-weights --cse --sinter-isolate-ops --sinter-outline-kernels | sinter-opt --sinter-verify-fusion | FileCheck %s --check-prefix=PLAIN

// A whole model, fused, is a handful of kernels a layer, and its layers share them.
// CHECK-LABEL: func.func @prefill
// CHECK: sinter.call_kernel @embedding_rms_norm
// CHECK-NEXT: sinter.call_kernel @[[QKV:matmul.*]](
// CHECK-NEXT: sinter.call_kernel @[[ROTARY:rotary_rotary_cache_append_cache_append.*]](
// CHECK-NEXT: sinter.call_kernel @[[ATTENTION:attention.*]](
// CHECK-NEXT: sinter.reshape
// CHECK-NEXT: sinter.call_kernel @[[OUT:matmul_add.*]](
// CHECK-NEXT: sinter.call_kernel @[[NORM:rms_norm.*]](
// CHECK-NEXT: sinter.call_kernel @matmul
// CHECK-NEXT: sinter.call_kernel @silu_mul
// CHECK-NEXT: sinter.call_kernel @[[DOWN:matmul_add.*]](
// CHECK: sinter.call_kernel @[[QKV]](
// CHECK-NEXT: sinter.call_kernel @[[ROTARY]](
// CHECK-NEXT: sinter.call_kernel @[[ATTENTION]](

// With every speed pass left out each op is a kernel of its own.
// PLAIN-LABEL: func.func @prefill
// PLAIN: sinter.fusion pack
// PLAIN: sinter.call_kernel @matmul
// PLAIN: sinter.call_kernel @silu
// PLAIN: sinter.call_kernel @mul
module {}
