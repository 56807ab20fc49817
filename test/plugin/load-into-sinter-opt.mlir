// Loaded into sinter-opt, which has Sinter's dialects already, the plugin changes nothing: its names are
// bound to those of libSinterCompiler.so, which came first.
//
// RUN: sinter-opt %s --load-dialect-plugin=%sinter_lib_dir/SinterPlugin.so \
// RUN:   --load-pass-plugin=%sinter_lib_dir/SinterPlugin.so --sinter-evaluate | FileCheck %s

// CHECK: sinter.relu
func.func @once(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = sinter.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
