// A stock mlir-opt knows nothing of Sinter until the plugin is loaded; then dialects and passes
// are there.
//
// RUN: mlir-opt %s --load-dialect-plugin=%sinter_lib_dir/SinterPlugin.so \
// RUN:   --load-pass-plugin=%sinter_lib_dir/SinterPlugin.so \
// RUN:   --pass-pipeline='builtin.module(sinter-evaluate,cse)' | FileCheck %s
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=BARE

// BARE: error: {{.*}}sinter

// CHECK-LABEL: func.func @twice()
// CHECK-COUNT-1: sinter.relu
// CHECK-NOT:     sinter.relu
func.func @twice() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = sinter.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %y = sinter.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  %z = sinter.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_const %y, dense<[1.0, 0.0]> : tensor<2xf32> : tensor<2xf32>
  return %y, %z : tensor<2xf32>, tensor<2xf32>
}
