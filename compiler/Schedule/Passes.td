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

    Two branches that each widen and narrow again, written breadth first, run depth first after it:

    ```mlir
    func.func private @widen(%x: tensor<8xf32>) -> tensor<800xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.constant dense<0.0> : tensor<800xf32>
      return %0 : tensor<800xf32>
    }
    func.func private @narrow(%x: tensor<800xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.slice %x {offsets = array<i64: 0>} : (tensor<800xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func @decode(%x: tensor<8xf32> {sinter.input = "x"}, %y: tensor<8xf32> {sinter.input = "y"})
        -> (tensor<8xf32> {sinter.output = "a"}, tensor<8xf32> {sinter.output = "b"}) attributes {sinter.entry} {
      %wide0 = sinter.call_kernel @widen(%x) : (tensor<8xf32>) -> tensor<800xf32>
      %wide1 = sinter.call_kernel @widen(%y) : (tensor<8xf32>) -> tensor<800xf32>
      %narrow0 = sinter.call_kernel @narrow(%wide0) : (tensor<800xf32>) -> tensor<8xf32>
      %narrow1 = sinter.call_kernel @narrow(%wide1) : (tensor<800xf32>) -> tensor<8xf32>
      return %narrow0, %narrow1 : tensor<8xf32>, tensor<8xf32>
    }
    // =>
    func.func @decode(%x: tensor<8xf32> {sinter.input = "x"}, %y: tensor<8xf32> {sinter.input = "y"}) ... {
      %wide0 = sinter.call_kernel @widen(%x) : (tensor<8xf32>) -> tensor<800xf32>
      %narrow0 = sinter.call_kernel @narrow(%wide0) : (tensor<800xf32>) -> tensor<8xf32>
      %wide1 = sinter.call_kernel @widen(%y) : (tensor<8xf32>) -> tensor<800xf32>
      %narrow1 = sinter.call_kernel @narrow(%wide1) : (tensor<800xf32>) -> tensor<8xf32>
      return %narrow0, %narrow1 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def MaterializeCopiesPass : Pass<"sinter-materialize-copies", "mlir::ModuleOp"> {
  let summary = "copies what an update in place would destroy";
  let description = [{
    After it every operand that a result replaces in place is dead after the op, is no other operand
    of it, and lies in memory that may be written: not a constant, not an argument that is not
    donated.

    ```mlir
    !cache = tensor<1x4x1x8xf32>
    !rows = tensor<1x1x1x8xf32>
    !slots = tensor<1xi32>
    func.func private @append(%c: !cache, %r: !rows, %s: !slots, %n: !slots) -> !cache
        attributes {sinter.kernel = "rows"} {
      %0 = sinter.cache_append %c, %r, %s, %n : (!cache, !rows, !slots, !slots) -> !cache
      return %0 : !cache
    }
    func.func @decode(%c: !cache {sinter.state = "c", sinter.donated = 0 : i64}, %r: !rows {sinter.input = "r"},
                      %s: !slots {sinter.input = "s"}, %n: !slots {sinter.input = "n"})
        -> (!cache {sinter.state = "c"}, !cache {sinter.output = "before"}) attributes {sinter.entry} {
      %0 = sinter.call_kernel @append(%c, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
      return %0, %c : !cache, !cache
    }
    // =>
    func.func @decode(%c: !cache {...}, %r: !rows {...}, %s: !slots {...}, %n: !slots {...}) -> ... {
      %copy = sinter.copy %c : (!cache) -> !cache
      %0 = sinter.call_kernel @append(%copy, %r, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
      return %0, %c : !cache, !cache
    }
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
    States, preprocessed parameters and constants have one offset for all programs, inputs and outputs
    one in their own program; all are multiples of 64. What lives inside a step is a `plan.alloc`.

    Only `@preprocess` reads the checkpoint: a `sinter.parameter` of another entry is copied there
    to the parameter space.

    `call_kernel` becomes `plan.launch` with the kernel's `sinter.grid`, a `library_gemm` fusion
    `plan.gemm`, a `pack` fusion `plan.pack`; a reshape costs nothing. A returned value is computed
    where it belongs (in the output's slice, in the state's) if nothing else needs those bytes
    meanwhile, and copied there at the end if not.

    ```mlir
    func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {sinter.grid = 1 : i64, sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func @decode(%x: tensor<8xf32> {sinter.input = "x"}) -> (tensor<8xf32> {sinter.output = "y"})
        attributes {sinter.entry} {
      %0 = sinter.call_kernel @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // =>
    plan.program @decode {
      %x = plan.slice input[0, 32] "x" : tensor<8xf32>
      %y = plan.slice output[0, 32] "y" : tensor<8xf32>
      plan.launch @relu grid 1 (%x) -> (%y)
        {bytes = 64 : i64, flops = 8 : i64, label = "relu", output_types = [f32], reusable = array<i64: 0>}
    }
    ```
  }];
  let dependentDialects = ["sinter::plan::PlanDialect"];
}

def OfferLibraryAttentionPass : Pass<"sinter-offer-library-attention", "mlir::ModuleOp"> {
  let summary = "a GPU may choose between our attention and the library's";
  let description = [{
    After it every launch of the template `attention_forward` that the target's library may compute,
    too, is a choice between both, the kernel first. What the library can do, and the workspace that
    it is given, a `plan.alloc`, are in the target's description (compiler/Analysis/Target.h): no
    library is asked, and it need not be there. Which one runs is found when the executable is
    bound. What the library is not offered stays a launch, and a remark says why: positions that
    only the device knows (those of a cache), ALiBi, soft caps, dropout, heads that do not begin at
    multiples of 16 bytes.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-lower-to-plan \
    //   --sinter-offer-library-attention
    !rows = tensor<2x40x2x64xbf16>
    func.func private @attend(%q: !rows) -> !rows attributes {sinter.kernel = "attention"} {
      %0:2 = sinter.attention %q, %q, %q
        {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
        : (!rows, !rows, !rows) -> (tensor<2x40x2x64xf32>, tensor<2x40x2xf32>)
      %1 = sinter.cast %0#0 : (tensor<2x40x2x64xf32>) -> !rows
      return %1 : !rows
    }
    func.func @train(%q: !rows {sinter.input = "q"}) -> (!rows {sinter.output = "y"}) attributes {sinter.entry} {
      %0 = sinter.call_kernel @attend(%q) : (!rows) -> !rows
      return %0 : !rows
    }
    // =>
    plan.program @train {
      %q = plan.slice input[0, 20480] "q" : !rows
      %y = plan.slice output[0, 20480] "y" : !rows
      %workspace = plan.alloc 256
      plan.alternatives {
        plan.launch @attend grid 4(%q) -> (%y) {...}
      } or {
        plan.attention(%q, %q, %q) workspace(%workspace) -> (%y) {batch = 2 : i64, ...}
      }
    }
    ```
  }];
  let dependentDialects = ["sinter::plan::PlanDialect"];
}

def VerifySchedulePass : Pass<"sinter-verify-schedule", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Schedule phase";
  let description = [{
    After it: a module holds programs, constants and kernels only; a slice is made before
    the commands that use it; what a step allocates is written before it is read; commands write
    to state, output and alloc slices only, `@preprocess` also to parameters, and only `@preprocess` reads
    the checkpoint; named slices of one name
    and space agree across programs, and others do not overlap.

    ```mlir
    plan.program @decode {
      %a = plan.alloc 64
      %y = plan.slice output[0, 64] "y"
      plan.copy(%a) -> (%y)
    }
    // =>
    error: expected what it reads to be written before
    ```
  }];
}

#endif // SINTER_SCHEDULE_PASSES
