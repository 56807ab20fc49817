// RUN: sinter-opt %s --sinter-partition | FileCheck %s

// Without a grid there is nothing to split: what was asked for is gone, all else as it was.
// CHECK-LABEL: func.func @f(
// CHECK-NEXT: %[[Y:.*]] = sinter.silu %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @f(%x: tensor<4x8xf32> {sinter.input = "x"}) -> (tensor<4x8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.shard %x {sharding = #sinter.sharding<[["tensor"], []]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.silu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
