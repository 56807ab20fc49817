//===- Passes.td - Where every byte of a step lives ---------*- tablegen -*-===//
#ifndef SINTER_MEMORY_PASSES
#define SINTER_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def AdvanceCollectivesPass : Pass<"sinter-advance-collectives", "mlir::ModuleOp"> {
  let summary = "collectives begin early, and who needs them begins late";
  let description = [{
    After it a command that moves bytes between ranks stands so far before the first one that must
    follow it, that what is between both is predicted to take as long: parameters that a layer
    gathers arrive while the layer before computes, and gradients leave while the next ones are
    computed. It moves up past what it needs nothing of, and what follows it down. Collectives along
    the same axes keep their order; on a GPU, and not in a pipeline, one may pass those of others. No
    more bytes live at once than before. A remark says how much of them other commands may hide;
    whether they run beside these is for `sinter-assign-streams` to decide, and the list is right in
    one stream, too.

    ```mlir
    plan.program @train {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %w = plan.slice state[0, 64] "w" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %h = plan.alloc 64
      %all = plan.alloc 128
      plan.launch @layer0 grid 1 (%x) -> (%h) {predicted_ns = 5000}
      plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
      plan.launch @layer1 grid 1 (%h, %all) -> (%y) {predicted_ns = 5000}
    }
    // =>
    plan.program @train {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %h = plan.alloc 64
      %w = plan.slice state[0, 64] "w" : tensor<16xf32>
      %all = plan.alloc 128
      plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
      plan.launch @layer0 grid 1 (%x) -> (%h) {predicted_ns = 5000}
      plan.launch @layer1 grid 1 (%h, %all) -> (%y) {predicted_ns = 5000}
    }
    ```
  }];
  let statistics = [
    Statistic<"numAdvanced", "num-advanced", "Collectives that begin earlier">,
    Statistic<"numDelayed", "num-delayed", "Commands that follow a collective later">];
}

def ReuseInPlacePass : Pass<"sinter-reuse-in-place", "mlir::ModuleOp"> {
  let summary = "a command writes over an input that nobody needs any more";
  let description = [{
    After it, where a command has one output that is an alloc, and may write it over one of its
    inputs that is an alloc of the same size and that this command is the last to use, both are one
    alloc. A launch may use its `reusable` inputs, a GEMM the operand of an `add` of its output's
    type and stride. Off, each output has memory of its own.

    ```mlir
    plan.program @decode {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %h = plan.alloc 64
      %g = plan.alloc 64
      plan.launch @up grid 1 (%x) -> (%h)
      plan.launch @gelu grid 1 (%h) -> (%g) {reusable = array<i64: 0>}
      plan.launch @down grid 1 (%g) -> (%y)
    }
    // =>
    plan.program @decode {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %h = plan.alloc 64
      plan.launch @up grid 1 (%x) -> (%h)
      plan.launch @gelu grid 1 (%h) -> (%h) {reusable = array<i64: 0>}
      plan.launch @down grid 1 (%h) -> (%y)
    }
    ```
  }];
  let statistics = [Statistic<"numReused", "num-reused", "Outputs written over an input">];
}

def AssignOffsetsPass : Pass<"sinter-assign-offsets", "mlir::ModuleOp"> {
  let summary = "puts what lives inside a step into one arena";
  let description = [{
    After it no `plan.alloc` is left: each has become a slice of the arena, at a multiple of 64, and
    those that live at once do not overlap (Packer.h says how). An alloc lives from the first
    command that uses it to the last one. `arena_bytes` and `arena_lower_bound` of the program say
    how large the arena is and how small any arena must be; a remark gives both. An alloc that
    no command uses is dropped. Where the target has several streams, memory is used again as late
    as the arena does not grow by, so that commands seldom wait for each other's.

    ```mlir
    plan.program @decode {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %a = plan.alloc 64
      %b = plan.alloc 100
      %c = plan.alloc 64
      plan.launch @up grid 1 (%x) -> (%a)
      plan.launch @gelu grid 1 (%a) -> (%b)
      plan.launch @down grid 1 (%b) -> (%c)
      plan.launch @norm grid 1 (%c) -> (%y)
    }
    // =>
    plan.program @decode attributes {arena_bytes = 192 : i64, arena_lower_bound = 192 : i64} {
      %x = plan.slice input[0, 64] "x" : tensor<16xf32>
      %y = plan.slice output[0, 64] "y" : tensor<16xf32>
      %a = plan.slice arena[128, 64]
      %b = plan.slice arena[0, 100]
      %c = plan.slice arena[128, 64]
      plan.launch @up grid 1 (%x) -> (%a)
      plan.launch @gelu grid 1 (%a) -> (%b)
      plan.launch @down grid 1 (%b) -> (%c)
      plan.launch @norm grid 1 (%c) -> (%y)
    }
    ```
  }];
}

def AssignStreamsPass : Pass<"sinter-assign-streams", "mlir::ModuleOp"> {
  let summary = "puts commands that leave a part of a GPU idle beside others";
  let description = [{
    After it, where the target has several streams and a program is predicted to take less time in
    them, its commands say their `stream`, and with `waits` the numbers of those commands of other
    streams that they begin after: the fewest with which any two commands of which one writes what
    the other touches keep their order (Streams.h says how). A remark says what was put beside what
    is in stream 0, and what both ways are predicted to take. The list is as it was, and right in
    one stream too. `@preprocess` runs command by command and is left alone. What moves bytes between
    ranks has stream 1 for itself, on a processor, too; on a GPU, and not in a pipeline, collectives
    along other axes than the first ones have a stream of their own where that is predicted to gain
    more than an event costs, with a remark of both times.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-assign-streams
    plan.program @train attributes {arena_bytes = 512 : i64, arena_lower_bound = 512 : i64} {
      %x = plan.slice input[0, 256] "x" : tensor<64xf32>
      %y = plan.slice arena[0, 256]
      %z = plan.slice arena[256, 256]
      %w = plan.slice output[0, 256] "w" : tensor<64xf32>
      plan.launch @products grid 16 (%x) -> (%y) {predicted_ns = 90000, label = "products"}
      plan.launch @sums grid 8 (%x) -> (%z) {predicted_ns = 100000, label = "sums"}
      plan.launch @both grid 500 (%y, %z) -> (%w) {predicted_ns = 3000, label = "both"}
    }
    // =>
    plan.launch @products grid 16(%x) -> (%y) {label = "products", predicted_ns = 90000 : i64}
    plan.launch @sums grid 8(%x) -> (%z) {label = "sums", predicted_ns = 100000 : i64, stream = 1 : i64}
    plan.launch @both grid 500(%y, %z) -> (%w) {label = "both", predicted_ns = 3000 : i64, waits = array<i64: 1>}
    ...
    ```
  }];
  let options = [Option<"always", "always", "bool", "false",
    "takes streams wherever a command could begin earlier, whatever events cost">];
}

def VerifyMemoryPass : Pass<"sinter-verify-memory", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Memory phase";
  let description = [{
    After it: programs know the size of their arenas and hold no `plan.alloc`; slices of the arena
    lie inside it, at multiples of 64, and no two that live at once share a byte, found again here
    by comparing all pairs that live at once. Commands wait for earlier ones of other streams, and
    no two of which one writes what the other touches may run at once, found again here by comparing
    all pairs that streams and waits leave without an order.

    ```mlir
    plan.program @decode attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
      %x = plan.slice input[0, 64] "x"
      %a = plan.slice arena[0, 128]
      %b = plan.slice arena[64, 64]
      plan.copy(%x) -> (%b)
      plan.copy(%b) -> (%a)
    }
    // =>
    error: expected slices that live at once not to overlap; both live at command 1
    ```
  }];
}

#endif // SINTER_MEMORY_PASSES
