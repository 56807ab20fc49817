// RUN: sinter-opt %s --sinter-materialize-copies | FileCheck %s

!cache = tensor<1x4x1x8xf32>
!rows = tensor<1x1x1x8xf32>
!slots = tensor<1xi32>

func.func private @append(%c: !cache, %r: !rows, %s: !slots, %n: !slots) -> !cache
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.cache_append %c, %r, %s, %n : (!cache, !rows, !slots, !slots) -> !cache
  return %0 : !cache
}
func.func private @add(%a: !cache, %b: !cache) -> !cache attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %a, %b : (!cache, !cache) -> !cache
  return %0 : !cache
}

// The old cache is read after the update.
// CHECK-LABEL: func.func @read_later
func.func @read_later(%c: !cache {sinter.state = "c", sinter.donated = 0 : i64},
    %r: !rows {sinter.input = "r"}, %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
    -> (!cache {sinter.state = "c"}, !cache {sinter.output = "y"}) attributes {sinter.entry} {
  // CHECK: %[[COPY:.*]] = sinter.copy %arg0
  // CHECK: %[[NEW:.*]] = sinter.call_kernel @append(%[[COPY]],
  // CHECK: sinter.call_kernel @add(%arg0, %[[NEW]])
  %new = sinter.call_kernel @append(%c, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  %sum = sinter.call_kernel @add(%c, %new) : (!cache, !cache) -> !cache
  return %new, %sum : !cache, !cache
}

// Read later under another shape.
// CHECK-LABEL: func.func @read_reshaped
func.func @read_reshaped(%c: !cache {sinter.state = "c", sinter.donated = 0 : i64},
    %r: !rows {sinter.input = "r"}, %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
    -> (!cache {sinter.state = "c"}, tensor<32xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %flat = sinter.reshape %c : (!cache) -> tensor<32xf32>
  // CHECK: %[[COPY:.*]] = sinter.copy %arg0
  // CHECK: sinter.call_kernel @append(%[[COPY]],
  %new = sinter.call_kernel @append(%c, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  return %new, %flat : !cache, tensor<32xf32>
}

// A constant and an argument that is not donated may not be written.
// CHECK-LABEL: func.func @not_writable
func.func @not_writable(%c: !cache {sinter.input = "c"},
    %r: !rows {sinter.input = "r"}, %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
    -> (!cache {sinter.output = "x"}, !cache {sinter.output = "y"}) attributes {sinter.entry} {
  %zero = sinter.constant dense<0.0> : !cache
  // CHECK: %[[COPY0:.*]] = sinter.copy %arg0
  // CHECK: sinter.call_kernel @append(%[[COPY0]],
  %0 = sinter.call_kernel @append(%c, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  // CHECK: %[[COPY1:.*]] = sinter.copy %{{.*}}
  // CHECK: sinter.call_kernel @append(%[[COPY1]],
  %1 = sinter.call_kernel @append(%zero, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  return %0, %1 : !cache, !cache
}
