// What gpu-check measures by itself is what models have: one kernel for a norm with what surrounds
// it, one for attention forward, two for its gradients.
// RUN: %python -c "import sys; sys.path.insert(0, '%S/../../tools/bundle'); sys.dont_write_bytecode = True; from gpu_check.works import GRAPHS, PRODUCT; print('// -----'.join(work.text for work in [PRODUCT, *GRAPHS]))" \
// RUN:   | sinter-opt --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-assign-compute-type=compute-type=bf16 --sinter-global-pipeline --sinter-layout-pipeline --sinter-fusion-pipeline \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @work
// CHECK: sinter.fusion library_gemm({{.*}} -> (tensor<8192x8192xbf16>)
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @cast_add_layer_norm_cast
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @cast_add_layer_norm_cast
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK: sinter.call_kernel @cast_layer_norm_grad_add_cast
// CHECK: sinter.call_kernel @column_sum_column_sum
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK: sinter.call_kernel @cast_layer_norm_grad_add_cast
// CHECK: sinter.call_kernel @column_sum_column_sum
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @attention_cast
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-2: sinter.call_kernel @attention_grad
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @attention_cast
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-2: sinter.call_kernel @attention_grad
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @attention_cast
// CHECK-NOT: sinter.call_kernel
// CHECK-LABEL: func.func @work
// CHECK-COUNT-1: sinter.call_kernel @attention_cast
// CHECK-NOT: sinter.call_kernel
