//===- Passes.td - From graph to plan -----------------------*- tablegen -*-===//
#ifndef SINTER_SCHEDULE_PASSES
#define SINTER_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def OrderCommandsPass : Pass<"sinter-order-commands", "mlir::ModuleOp"> {
  let summary = "orders each entry so that few bytes live at once";
  let description = [{
    List scheduling: of the ops whose operands are ready, the one runs next that leaves the fewest
    bytes alive, if that is no more than before; else the first in the program's order, which is
    also what settles ties. An op that reads a value stays before the op that updates it in place.
    The new order is kept only where its peak is below that of the old one; a remark gives both. Off,
    entries keep their order.

    Two branches that each widen and narrow again, written breadth first,
    ```mlir
    %wide0 = sinter.call_kernel @widen(%x) : (tensor<8xf32>) -> tensor<800xf32>
    %wide1 = sinter.call_kernel @widen(%y) : (tensor<8xf32>) -> tensor<800xf32>
    %narrow0 = sinter.call_kernel @narrow(%wide0) : (tensor<800xf32>) -> tensor<8xf32>
    %narrow1 = sinter.call_kernel @narrow(%wide1) : (tensor<800xf32>) -> tensor<8xf32>
    ```
    run depth first after it: `%wide0, %narrow0, %wide1, %narrow1`.
  }];
}

def MaterializeCopiesPass : Pass<"sinter-materialize-copies", "mlir::ModuleOp"> {
  let summary = "copies what an update in place would destroy";
  let description = [{
    After it every operand that a result replaces in place is dead after the op, is no other operand
    of it, and lies in memory that may be written: not a constant, not an argument that is not
    donated.

    ```mlir
    %new = sinter.call_kernel @append(%cache, %rows) : ... // cache_append into %cache
    %sum = sinter.call_kernel @add(%cache, %new) : ...     // still reads the old one
    ```
    becomes
    ```mlir
    %copy = sinter.copy %cache : (tensor<8xf32>) -> tensor<8xf32>
    %new = sinter.call_kernel @append(%copy, %rows) : ...
    %sum = sinter.call_kernel @add(%cache, %new) : ...
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def LowerToPlanPass : Pass<"sinter-lower-to-plan", "mlir::ModuleOp"> {
  let summary = "entries become programs of commands over slices";
  let description = [{
    After it every entry is a `plan.program` of its name, every constant that is not computed in a
    kernel a `plan.constant`, and no op of the graph is left but in a GPU's kernels, which are
    printed with what they compute (the loop kernels in `@kernels` stay, too).
    States, prepared parameters and constants have one offset for all programs, inputs and outputs
    one in their own program; all are multiples of 64. What lives inside a step is a `plan.alloc`.

    Only `@prepare` reads the checkpoint: a `sinter.parameter` of another entry is copied there
    to the parameter space.

    `call_kernel` becomes `plan.launch` with the kernel's `sinter.grid`, a `library_gemm` fusion
    `plan.gemm`, a `pack` fusion `plan.pack`; a reshape costs nothing. A returned value is computed
    where it belongs (in the output's slice, in the state's) if nothing else needs those bytes
    meanwhile, and copied there at the end if not.

    ```mlir
    func.func @decode(%x: tensor<8xf32> {sinter.input = "x"})
        -> (tensor<8xf32> {sinter.output = "y"}) attributes {sinter.entry} {
      %0 = sinter.call_kernel @k(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    plan.program @decode {
      %0 = plan.slice input[0, 32] "x" : tensor<8xf32>
      %1 = plan.slice output[0, 32] "y" : tensor<8xf32>
      plan.launch @k grid 1 (%0) -> (%1) {label = "relu", ...}
    }
    ```
  }];
  let dependentDialects = ["sinter::plan::PlanDialect"];
}

def OfferLibraryAttentionPass : Pass<"sinter-offer-library-attention", "mlir::ModuleOp"> {
  let summary = "a GPU may choose between our attention and the library's";
  let description = [{
    After it every launch of the template `attention_forward` that cuDNN computes, too, is a choice
    between both, the kernel first. The library is asked for the workspace that it needs, which is a
    `plan.alloc`; where it is not installed or refuses, the launch stays and a remark says why. So
    does one with what the library is not asked for: positions that only the device knows (those of
    a cache), ALiBi, soft caps, dropout, heads that do not begin at multiples of 16 bytes.

    ```mlir
    plan.launch @attention grid 24 (%qkv) -> (%out)
    ```
    becomes
    ```mlir
    %workspace = plan.alloc 256
    plan.choice {
      plan.launch @attention grid 24 (%qkv) -> (%out)
    } or {
      plan.attention(%qkv, %qkv, %qkv) workspace(%workspace) -> (%out) {batch = 2 : i64, ...}
    }
    ```
  }];
  let options = [Option<"workspace", "workspace", "int64_t", "-1",
    "the bytes that the library needs; -1: it is asked">];
  let dependentDialects = ["sinter::plan::PlanDialect"];
}

def VerifySchedulePass : Pass<"sinter-verify-schedule", "mlir::ModuleOp"> {
  let summary = "the gate of the Schedule phase";
  let description = [{
    After it: a module holds programs, constants and kernels only; a slice is made before
    the commands that use it; what a step allocates is written before it is read; commands write
    to state, output and alloc slices only, `@prepare` also to parameters, and only `@prepare` reads
    the checkpoint; named slices of one name
    and space agree across programs, and others do not overlap.
  }];
}

#endif // SINTER_SCHEDULE_PASSES
