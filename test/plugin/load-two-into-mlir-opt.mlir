// A plugin that has neither MLIR nor Sinter's dialect, as a user's own, meets in a stock mlir-opt the
// dialect that SinterPlugin.so brought.
//
// RUN: mlir-opt %s --load-dialect-plugin=%sinter_lib_dir/SinterPlugin.so \
// RUN:   --load-pass-plugin=%sinter_lib_dir/SinterPlugin.so \
// RUN:   --load-pass-plugin=%sinter_lib_dir/PlantedDefects.so \
// RUN:   --pass-pipeline='builtin.module(planted-harmless)' | FileCheck %s

// CHECK-LABEL: func.func @sum(
// CHECK-SAME:    %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>)
// CHECK:         sinter.add %[[Y]], %[[X]]
func.func @sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %z = sinter.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
