//===- Passes.td - Saying what a module is compiled for -----*- tablegen -*-===//
#ifndef SINTER_ANALYSIS_PASSES
#define SINTER_ANALYSIS_PASSES

include "mlir/Pass/PassBase.td"

def AssignTargetPass : Pass<"sinter-assign-target", "mlir::ModuleOp"> {
  let summary = "describes the machine that a module is compiled for";
  let description = [{
    After it the module has the attribute `sinter.target`, made from a target's name as on the
    command line: `cpu`, or `cpu:NAME` with a processor or level that LLVM knows. An attribute that
    is there already is replaced.

    ```mlir
    // sinter-opt --sinter-assign-target="target=cpu:x86-64-v3 cores=2"
    module {}
    // =>
    module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "...",
      vector_bits = 256, registers = 16, cores = 2, ...>} {
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "The target's name">,
    Option<"cores", "cores", "int64_t", "0", "Cores to use; 0 for all">];
}

#endif // SINTER_ANALYSIS_PASSES
