// RUN: sinter-opt %s --sinter-verify-import | FileCheck %s

// A state that another entry writes may be read.
// CHECK-LABEL: func.func @evaluate
func.func @evaluate(%x: tensor<4xf32> {sinter.input = "x"}, %s: tensor<4xf32> {sinter.state = "s"})
    -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @decode
// CHECK: sinter.add
func.func @decode(%x: tensor<4xf32> {sinter.input = "x"},
                  %w: tensor<4xf32> {sinter.parameter = "w"},
                  %s: tensor<4xf32> {sinter.state = "s", sinter.donated = 1 : i64})
    -> (tensor<4xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.state = "s"})
    attributes {sinter.entry} {
  %0 = sinter.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
