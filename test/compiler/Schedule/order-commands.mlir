// RUN: sinter-opt %s --sinter-order-commands | FileCheck %s
// RUN: sinter-opt %s --sinter-order-commands %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

func.func private @widen(%x: tensor<8xf32>) -> tensor<800xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.constant dense<0.0> : tensor<800xf32>
  return %0 : tensor<800xf32>
}
func.func private @narrow(%x: tensor<800xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.slice %x {offsets = array<i64: 0>} : (tensor<800xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// REMARK: Passed{{.*}}OrderCommands{{.*}}live bytes 3200 instead of 6400
// CHECK-LABEL: func.func @branches
func.func @branches(%x: tensor<8xf32> {sinter.input = "x"}, %y: tensor<8xf32> {sinter.input = "y"})
    -> (tensor<8xf32> {sinter.output = "a"}, tensor<8xf32> {sinter.output = "b"})
    attributes {sinter.entry} {
  // CHECK: %[[WIDE0:.*]] = sinter.call_kernel @widen(%arg0)
  // CHECK: %[[NARROW0:.*]] = sinter.call_kernel @narrow(%[[WIDE0]])
  // CHECK: %[[WIDE1:.*]] = sinter.call_kernel @widen(%arg1)
  // CHECK: %[[NARROW1:.*]] = sinter.call_kernel @narrow(%[[WIDE1]])
  // CHECK: return %[[NARROW0]], %[[NARROW1]]
  %wide0 = sinter.call_kernel @widen(%x) : (tensor<8xf32>) -> tensor<800xf32>
  %wide1 = sinter.call_kernel @widen(%y) : (tensor<8xf32>) -> tensor<800xf32>
  %narrow0 = sinter.call_kernel @narrow(%wide0) : (tensor<800xf32>) -> tensor<8xf32>
  %narrow1 = sinter.call_kernel @narrow(%wide1) : (tensor<800xf32>) -> tensor<8xf32>
  return %narrow0, %narrow1 : tensor<8xf32>, tensor<8xf32>
}

func.func private @pack(%w: tensor<800xf32>) -> tensor<800xf32> attributes {sinter.kernel = "rows"} {
  return %w : tensor<800xf32>
}
func.func private @hidden(%x: tensor<8xf32>) -> tensor<1600xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.constant dense<0.0> : tensor<1600xf32>
  return %0 : tensor<1600xf32>
}
func.func private @project(%h: tensor<1600xf32>, %w: tensor<800xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.slice %h {offsets = array<i64: 0>} : (tensor<1600xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The second pack leaves fewer bytes alive than the hidden values, and yet it waits for its turn.
// CHECK-LABEL: func.func @packs
func.func @packs(%x: tensor<8xf32> {sinter.input = "x"}, %w0: tensor<800xf32> {sinter.parameter = "w0"},
                 %w1: tensor<800xf32> {sinter.parameter = "w1"})
    -> (tensor<8xf32> {sinter.output = "y"}, tensor<8xf32> {sinter.output = "z"}) attributes {sinter.entry} {
  // CHECK: %[[P0:.*]] = sinter.call_kernel @pack(%arg1)
  // CHECK: %[[H0:.*]] = sinter.call_kernel @hidden(%arg0)
  // CHECK: sinter.call_kernel @project(%[[H0]], %[[P0]])
  // CHECK: %[[H1:.*]] = sinter.call_kernel @hidden(%arg0)
  // CHECK: %[[P1:.*]] = sinter.call_kernel @pack(%arg2)
  // CHECK: sinter.call_kernel @project(%[[H1]], %[[P1]])
  %p0 = sinter.call_kernel @pack(%w0) : (tensor<800xf32>) -> tensor<800xf32>
  %h0 = sinter.call_kernel @hidden(%x) : (tensor<8xf32>) -> tensor<1600xf32>
  %h1 = sinter.call_kernel @hidden(%x) : (tensor<8xf32>) -> tensor<1600xf32>
  %p1 = sinter.call_kernel @pack(%w1) : (tensor<800xf32>) -> tensor<800xf32>
  %y0 = sinter.call_kernel @project(%h0, %p0) : (tensor<1600xf32>, tensor<800xf32>) -> tensor<8xf32>
  %y1 = sinter.call_kernel @project(%h1, %p1) : (tensor<1600xf32>, tensor<800xf32>) -> tensor<8xf32>
  return %y0, %y1 : tensor<8xf32>, tensor<8xf32>
}
