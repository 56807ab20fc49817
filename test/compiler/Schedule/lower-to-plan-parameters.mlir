// RUN: sinter-opt %s --sinter-lower-to-plan --sinter-verify-schedule | FileCheck %s

// The checkpoint's tensors are declared once, whatever reads them, with how they begin without it:
// as they say, or by their names and ranks. A state with the role parameter is one of them, one
// without is none.

// CHECK: plan.parameter "w" : tensor<8xf32> mean 0.000000e+00 deviation 5.000000e-01
// CHECK: plan.parameter "norm.weight" : tensor<8xf32> mean 1.000000e+00 deviation 0.000000e+00
// CHECK: plan.parameter "norm.bias" : tensor<8xf32> mean 0.000000e+00 deviation 0.000000e+00
// CHECK: plan.parameter "trained" : tensor<2x4xf32> mean 0.000000e+00 deviation 2.000000e-02
// CHECK-NOT: plan.parameter

func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @prefill(%w: tensor<8xf32> {sinter.parameter = "w",
                       sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.5>},
                   %n: tensor<8xf32> {sinter.parameter = "norm.weight"},
                   %b: tensor<8xf32> {sinter.parameter = "norm.bias"})
    -> (tensor<8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.call_kernel @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @decode(%w: tensor<8xf32> {sinter.parameter = "w"},
                  %t: tensor<2x4xf32> {sinter.state = "trained", sinter.role = #sinter.role<parameter>},
                  %m: tensor<2x4xf32> {sinter.state = "m.trained", sinter.role = #sinter.role<optimizer>})
    -> (tensor<8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.call_kernel @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
