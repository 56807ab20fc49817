// RUN: sinter-opt %s --sinter-evaluate="function=results print" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: sinter-opt %s --sinter-evaluate | FileCheck %s

// PRINT: remark: result 0 = [4, -3]
// CHECK-LABEL: func.func @results
func.func @results() -> tensor<2xf32> {
  %x = sinter.constant dense<[1.0, -6.0]> : tensor<2xf32>
  %y = sinter.constant dense<3.0> : tensor<2xf32>
  %z = sinter.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}

// A value of a 16-bit type is rounded to it; 1 + 2^-9 is not a bf16.
// CHECK-LABEL: func.func @rounds
func.func @rounds() {
  %x = sinter.constant dense<1.001953125> : tensor<1xf32>
  %y = sinter.cast %x : (tensor<1xf32>) -> tensor<1xbf16>
  check.expect_const %y, dense<1.0> : tensor<1xf32> : tensor<1xbf16>
  return
}

// Arguments depend on the seed, the name and the type only.
// CHECK-LABEL: func.func @arguments
func.func @arguments(%x: tensor<8xf32> {sinter.parameter = "w"}) {
  %y = sinter.sub %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  check.expect_const %y, dense<0.0> : tensor<8xf32> : tensor<8xf32>
  return
}
