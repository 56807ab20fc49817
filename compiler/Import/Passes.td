//===- Passes.td - Accepting frontend IR --------------------*- tablegen -*-===//
#ifndef SINTER_IMPORT_PASSES
#define SINTER_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def VerifyImportPass : Pass<"sinter-verify-import", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Import phase";
  let description = [{
    After it: at least one entry function exists; entries hold only ops of the `sinter` dialect and
    `return`, no fusions yet; every argument of an entry is bound as a parameter, a state or an
    input, every result as an output or a state, each name once; a state argument is donated to the
    result of the same name, of the same type, or there is none and the state is only read.

    ```mlir
    func.func @decode(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
      return %x : tensor<4xf32>
    }
    // =>
    error: expected argument 0 to be bound by one of sinter.parameter, sinter.state, sinter.input
    ```
  }];
}

#endif // SINTER_IMPORT_PASSES
