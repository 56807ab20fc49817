//===- Passes.td - Where every byte of a step lives ---------*- tablegen -*-===//
#ifndef SINTER_MEMORY_PASSES
#define SINTER_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def ReuseInPlacePass : Pass<"sinter-reuse-in-place", "mlir::ModuleOp"> {
  let summary = "a command writes over an input that nobody needs any more";
  let description = [{
    After it, where a command has one output that is an alloc, and may write it over one of its
    inputs that is an alloc of the same size and that this command is the last to use, both are one
    alloc. A launch may use its `reusable` inputs, a GEMM the operand of an `add` of its output's
    type and stride. Off, each output has memory of its own.

    ```mlir
    plan.launch @gelu grid 4(%h) -> (%g) {reusable = array<i64: 0>}
    plan.launch @down grid 4(%g) -> (%y)
    ```
    becomes
    ```mlir
    plan.launch @gelu grid 4(%h) -> (%h) {reusable = array<i64: 0>}
    plan.launch @down grid 4(%h) -> (%y)
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
    no command uses is dropped.

    ```mlir
    %0 = plan.alloc 100
    ```
    becomes
    ```mlir
    %0 = plan.slice arena[128, 100]
    ```
  }];
}

def VerifyMemoryPass : Pass<"sinter-verify-memory", "mlir::ModuleOp"> {
  let summary = "the gate of the Memory phase";
  let description = [{
    After it: programs know the size of their arenas and hold no `plan.alloc`; slices of the arena
    lie inside it, at multiples of 64, and no two that live at once share a byte, found again here
    by comparing all pairs that live at once.
  }];
}

#endif // SINTER_MEMORY_PASSES
