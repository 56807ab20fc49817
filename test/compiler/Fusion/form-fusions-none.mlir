// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-form-fusions | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-form-fusions %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// REMARK-DAG: [Missed] NotFused | {{.*}}Function=norm_after_product | Remark="matmul into rms_norm: {{[0-9.]+ [mun]s}} together, {{[0-9.]+ [mun]s}} apart; an epilogue is made of elementwise ops"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=product_of_computed | Remark="relu into matmul: {{.*}}; a product reads its operands from memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=two_products | Remark="matmul into matmul: {{.*}}; a kernel is made around one op"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=updated_cache | Remark="cache_append into relu: {{.*}}; what is updated is read from memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=read_before | Remark="add into cache_append: {{.*}}; what is updated is read by another op"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=reduced_again | Remark="rms_norm into {{.*}}; rows would be reduced again for every element"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=whole_sum | Remark="reduce into broadcast: {{[0-9.]+}} ms together, {{[0-9.]+}} us apart; a reduction would be computed again and again"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=sum_of_sums | Remark="reduce into reduce: {{.*}}; sums of rows are added up from memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=attention_grad | Remark="slice into attention_grad: {{.*}}; a gradient of attention takes rows as they are in memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=attention_grad | Remark="attention_grad into relu: {{.*}}; a gradient of attention takes rows as they are in memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=logsumexp | Remark="attention into exp: {{.*}}; attention's logsumexp is read from memory"
// REMARK-DAG: [Missed] NotFused | {{.*}}Function=starved | Remark="exp into last_row: {{.*}}; rows are chosen from what is in memory"

// CHECK-NOT: sinter.fusion

func.func @norm_after_product(%x: tensor<4x8xf32>, %w: tensor<8x16xf32, #panels>, %n: tensor<16xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  %1 = sinter.rms_norm %0, %n {eps = 1.0e-5} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

func.func @product_of_computed(%x: tensor<4x8xf32>, %w: tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %w : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

func.func @two_products(%x: tensor<4x8xf32>, %w: tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

func.func @updated_cache(%c: tensor<1x8x2x4xf32>, %r: tensor<1x1x2x4xf32>, %start: tensor<1xi32>,
                         %count: tensor<1xi32>) -> tensor<1x8x2x4xf32> attributes {sinter.entry} {
  %0 = sinter.cache_append %c, %r, %start, %count : (tensor<1x8x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x8x2x4xf32>
  %1 = sinter.relu %0 : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  return %1 : tensor<1x8x2x4xf32>
}

// The sum is of what was there before the update, which happens in place.
func.func @read_before(%c: tensor<1x8x2x4xf32>, %r: tensor<1x8x2x4xf32>, %start: tensor<1xi32>,
                       %count: tensor<1xi32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
    attributes {sinter.entry} {
  %0 = sinter.add %c, %r : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32>
  %1 = sinter.cache_append %c, %0, %start, %count : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x8x2x4xf32>
  return %1, %0 : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

func.func @reduced_again(%x: tensor<8xf32>, %n: tensor<8xf32>) -> tensor<4x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %n {eps = 1.0e-5} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.broadcast %0 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// One number, needed by every row.
func.func @whole_sum(%x: tensor<16384xf32>) -> tensor<16384x8xf32> attributes {sinter.entry} {
  %0 = sinter.reduce sum %x : (tensor<16384xf32>) -> tensor<f32>
  %1 = sinter.broadcast %0 {dims = array<i64>} : (tensor<f32>) -> tensor<16384x8xf32>
  return %1 : tensor<16384x8xf32>
}

// What is a number a row, and gradients, are in memory as they are.
func.func @attention_grad(%q: tensor<1x4x2x4xf32>, %d: tensor<1x4x4xf32>, %l: tensor<1x4x2xf32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) attributes {sinter.entry} {
  %0 = sinter.slice %d {offsets = array<i64: 0, 0, 2>} : (tensor<1x4x4xf32>) -> tensor<1x4x2xf32>
  %1:3 = sinter.attention_grad %q, %q, %q, %q, %l, %0 {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>)
  %2 = sinter.relu %1#0 : (tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
  return %2, %1#1, %1#2 : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
}

// The logsumexp is written as it is.
func.func @logsumexp(%q: tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
    attributes {sinter.entry} {
  %0:2 = sinter.attention %q, %q, %q {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
  %1 = sinter.exp %0#1 : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  return %0#0, %1 : tensor<1x4x2x4xf32>, tensor<1x4x2xf32>
}

func.func @starved(%x: tensor<1x512x8xf32>, %count: tensor<1xi32>) -> tensor<1x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.exp %x : (tensor<1x512x8xf32>) -> tensor<1x512x8xf32>
  %1 = sinter.last_row %0, %count : (tensor<1x512x8xf32>, tensor<1xi32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// The order of a sum does not depend on what makes its elements.
func.func @sum_of_sums(%x: tensor<4x8xf32>) -> tensor<f32> attributes {sinter.entry} {
  %0 = sinter.reduce mean %x : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Reshapes alone move nothing.
func.func @reshaped_again(%x: tensor<8x1x4x8xf32>) -> tensor<32x8xf32> attributes {sinter.entry} {
  %0 = sinter.reshape %x : (tensor<8x1x4x8xf32>) -> tensor<8x4x8xf32>
  %1 = sinter.reshape %0 : (tensor<8x4x8xf32>) -> tensor<32x8xf32>
  return %1 : tensor<32x8xf32>
}
