// RUN: sinter-opt %s --sinter-order-commands | FileCheck %s
// RUN: sinter-opt %s --sinter-order-commands %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

func.func private @widen(%x: tensor<8xf32>) -> tensor<800xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.constant dense<0.0> : tensor<800xf32>
  return %0 : tensor<800xf32>
}
func.func private @append(%c: tensor<1x4x1x8xf32>, %r: tensor<1x1x1x8xf32>, %s: tensor<1xi32>,
    %n: tensor<1xi32>) -> tensor<1x4x1x8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.cache_append %c, %r, %s, %n
    : (tensor<1x4x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x4x1x8xf32>
  return %0 : tensor<1x4x1x8xf32>
}
func.func private @read(%c: tensor<1x4x1x8xf32>) -> tensor<1x1x1x8xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.slice %c {offsets = array<i64: 0, 0, 0, 0>} : (tensor<1x4x1x8xf32>) -> tensor<1x1x1x8xf32>
  return %0 : tensor<1x1x1x8xf32>
}

// A chain has one order.
// REMARK: Missed{{.*}}OrderCommands{{.*}}list scheduling would live in 0 bytes, the program's order in 0
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<8xf32> {sinter.input = "x"}) -> (tensor<800xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  %0 = sinter.call_kernel @widen(%x) : (tensor<8xf32>) -> tensor<800xf32>
  return %0 : tensor<800xf32>
}

// The append needs no memory and could run first, but the read wants the old rows.
// CHECK-LABEL: func.func @read_before_update
func.func @read_before_update(%c: tensor<1x4x1x8xf32> {sinter.state = "c", sinter.donated = 0 : i64},
    %r: tensor<1x1x1x8xf32> {sinter.input = "r"}, %s: tensor<1xi32> {sinter.input = "s"},
    %n: tensor<1xi32> {sinter.input = "n"})
    -> (tensor<1x4x1x8xf32> {sinter.state = "c"}, tensor<1x1x1x8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  // CHECK: sinter.call_kernel @read
  // CHECK: sinter.call_kernel @append
  %old = sinter.call_kernel @read(%c) : (tensor<1x4x1x8xf32>) -> tensor<1x1x1x8xf32>
  %new = sinter.call_kernel @append(%c, %r, %s, %n)
    : (tensor<1x4x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x4x1x8xf32>
  return %new, %old : tensor<1x4x1x8xf32>, tensor<1x1x1x8xf32>
}

// Not an entry.
// CHECK-LABEL: func.func @other
func.func @other() {
  return
}
