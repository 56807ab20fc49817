// RUN: sinter-opt %s --sinter-materialize-copies | FileCheck %s --implicit-check-not=sinter.copy

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

// Read before each of two updates, then dead.
// CHECK-LABEL: func.func @twice
func.func @twice(%c: !cache {sinter.state = "c", sinter.donated = 0 : i64},
    %r: !rows {sinter.input = "r"}, %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
    -> (!cache {sinter.state = "c"}, !cache {sinter.output = "y"}) attributes {sinter.entry} {
  %sum = sinter.call_kernel @add(%c, %c) : (!cache, !cache) -> !cache
  %new = sinter.call_kernel @append(%c, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  %newer = sinter.call_kernel @append(%new, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  return %newer, %sum : !cache, !cache
}

// What a command has made may be written.
// CHECK-LABEL: func.func @made
func.func @made(%c: !cache {sinter.input = "c"}, %r: !rows {sinter.input = "r"},
    %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
    -> (!cache {sinter.output = "y"}) attributes {sinter.entry} {
  %sum = sinter.call_kernel @add(%c, %c) : (!cache, !cache) -> !cache
  %flat = sinter.reshape %sum : (!cache) -> tensor<32xf32>
  %again = sinter.reshape %flat : (tensor<32xf32>) -> !cache
  %new = sinter.call_kernel @append(%again, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  return %new : !cache
}
