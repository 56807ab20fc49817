// RUN: sinter-reduce %s --reduction-tree='traversal-mode=0 test=%S/Inputs/has-relu.sh' | FileCheck %s

// CHECK-NOT:   @without
// CHECK:       func.func @with(
// CHECK:         sinter.relu
// CHECK-NOT:   @without
func.func @without(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sinter.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @with(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sinter.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @without_too(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
