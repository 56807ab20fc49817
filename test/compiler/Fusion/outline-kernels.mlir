// RUN: sinter-opt %s --sinter-outline-kernels | FileCheck %s
// RUN: sinter-opt %s --sinter-outline-kernels %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] KernelsShared | {{.*}}Remark="3 launches of 2 kernels"

// Equal bodies are one kernel, whatever they are called with; another type is another kernel.
// CHECK-LABEL: func.func @layers
// CHECK: %[[A:.*]] = sinter.call_kernel @[[K:.*]](%arg0)
// CHECK: %[[B:.*]] = sinter.call_kernel @[[K]](%[[A]])
// CHECK: sinter.call_kernel @[[L:.*]](%[[B]])
// CHECK: func.func private @[[K]](%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"}
// CHECK-NEXT: sinter.relu
// CHECK: func.func private @[[L]](%arg0: tensor<8xf32>) -> tensor<8xbf16> attributes {sinter.kernel = "rows"}
func.func @layers(%x: tensor<8xf32>) -> tensor<8xbf16> attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %1 : tensor<8xf32>
  }
  %2 = sinter.fusion rows(%0 : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %3 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %3 : tensor<8xf32>
  }
  %4 = sinter.fusion rows(%2 : tensor<8xf32>) -> (tensor<8xbf16>) {
  ^bb0(%a: tensor<8xf32>):
    %5 = sinter.cast %a : (tensor<8xf32>) -> tensor<8xbf16>
    sinter.yield %5 : tensor<8xbf16>
  }
  return %4 : tensor<8xbf16>
}
