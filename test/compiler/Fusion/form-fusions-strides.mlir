// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-form-fusions | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-form-fusions %remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-form-fusions %remarks 2>&1 | FileCheck %s --check-prefix=GPU

// Attention reads its operands in place where rows are at fixed distances in longer ones.

// REMARK-DAG: [Missed] NotFused | {{.*}}Function=rows_of_two | Remark="slice into attention_grad: {{.*}}; a gradient of attention takes rows at fixed distances"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=values_of_two | Remark="slice into attention: {{.*}}; attention takes rows at fixed distances"

// A GPU's kernel reads the result's gradient element by element.
// GPU-DAG: [Missed] NotFused | {{.*}}Function=gradients_of_four | Remark="slice into attention_grad: {{.*}}; a GPU's gradient of attention takes a dense gradient"

// CHECK-LABEL: @rows_of_two
// CHECK: %[[PART:.*]] = sinter.slice
// CHECK: sinter.fusion attention_grad(%[[PART]],
// CHECK-LABEL: @values_of_two
// CHECK: %[[PART:.*]] = sinter.slice
// CHECK: sinter.fusion attention(%[[PART]],
// CHECK-LABEL: @values_of_four
// CHECK-NOT: {{^}}  %{{.*}} = sinter.slice
// CHECK: sinter.fusion attention(
// CHECK-LABEL: @gradients_of_four
// CHECK-NOT: {{^}}  %{{.*}} = sinter.slice
// CHECK: sinter.fusion attention_grad(

// Four rows that are two and two of longer ones are at no fixed distance.
func.func @rows_of_two(%q: tensor<4x4x2x4xf32>, %d: tensor<2x80xf32>, %l: tensor<4x4x2xf32>)
    -> (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>) attributes {sinter.entry} {
  %0 = sinter.slice %d {offsets = array<i64: 0, 16>} : (tensor<2x80xf32>) -> tensor<2x64xf32>
  %1 = sinter.reshape %0 : (tensor<2x64xf32>) -> tensor<4x4x2x4xf32>
  %2:3 = sinter.attention_grad %q, %q, %q, %1, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2xf32>, tensor<4x4x2xf32>)
      -> (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>)
  return %2#0, %2#1, %2#2 : tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>
}

func.func @values_of_two(%q: tensor<4x4x2x4xf32>, %d: tensor<2x80xf32>) -> tensor<4x4x2x4xf32>
    attributes {sinter.entry} {
  %0 = sinter.slice %d {offsets = array<i64: 0, 16>} : (tensor<2x80xf32>) -> tensor<2x64xf32>
  %1 = sinter.reshape %0 : (tensor<2x64xf32>) -> tensor<4x4x2x4xf32>
  %2 = sinter.attention %q, %q, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>) -> tensor<4x4x2x4xf32>
  return %2 : tensor<4x4x2x4xf32>
}

// One behind the other they are.
func.func @values_of_four(%q: tensor<4x4x2x4xf32>, %d: tensor<4x40xf32>) -> tensor<4x4x2x4xf32>
    attributes {sinter.entry} {
  %0 = sinter.slice %d {offsets = array<i64: 0, 8>} : (tensor<4x40xf32>) -> tensor<4x32xf32>
  %1 = sinter.reshape %0 : (tensor<4x32xf32>) -> tensor<4x4x2x4xf32>
  %2 = sinter.attention %q, %q, %1 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>) -> tensor<4x4x2x4xf32>
  return %2 : tensor<4x4x2x4xf32>
}

func.func @gradients_of_four(%q: tensor<4x4x2x4xf32>, %d: tensor<4x40xf32>, %l: tensor<4x4x2xf32>)
    -> (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>) attributes {sinter.entry} {
  %0 = sinter.slice %d {offsets = array<i64: 0, 8>} : (tensor<4x40xf32>) -> tensor<4x32xf32>
  %1 = sinter.reshape %0 : (tensor<4x32xf32>) -> tensor<4x4x2x4xf32>
  %2:3 = sinter.attention_grad %q, %q, %q, %1, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2xf32>, tensor<4x4x2xf32>)
      -> (tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>)
  return %2#0, %2#1, %2#2 : tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>, tensor<4x4x2x4xf32>
}
