// RUN: sinter-opt %s --sinter-seed-shardings=zero=1 --sinter-partition | FileCheck %s

// Without a grid there is nothing to split; functions that are no entries are left alone.
// CHECK-LABEL: func.func @update(%arg0: tensor<8x4xf32> {sinter.role = #sinter.role<optimizer>, sinter.state = "m"})
// CHECK-NEXT: return %arg0
func.func @update(%m: tensor<8x4xf32> {sinter.state = "m", sinter.role = #sinter.role<optimizer>})
    -> (tensor<8x4xf32> {sinter.state = "m"}) attributes {sinter.entry} {
  return %m : tensor<8x4xf32>
}
