//===- Passes.td - Evaluation as a pass ---------------------*- tablegen -*-===//
#ifndef SINTER_REFERENCE_PASSES
#define SINTER_REFERENCE_PASSES

include "mlir/Pass/PassBase.td"

def EvaluatePass : Pass<"sinter-evaluate", "mlir::ModuleOp"> {
  let summary = "runs functions by the ops' definitions";
  let description = [{
    Evaluates `function`, or every function with a body when none is named, on arguments made from
    `seed`, in double precision. `check` ops report what does not hold as errors, and the pass then
    fails. With `print`, the results are printed as remarks, rounded to six digits. The IR is
    unchanged.

    ```mlir
    func.func @relu() {
      %0 = sinter.constant dense<[1.0, -1.0]> : tensor<2xf32>
      %1 = sinter.relu %0 : (tensor<2xf32>) -> tensor<2xf32>
      check.expect_const %1, dense<[1.0, -1.0]> : tensor<2xf32> : tensor<2xf32>
      return
    }
    // =>
    error: expected -1.000000e+00 at [1], got 0.000000e+00
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"", "Only this function">,
    Option<"seed", "seed", "uint64_t", "0", "What arguments are made from">,
    Option<"print", "print", "bool", "false", "Print results">];
}

#endif // SINTER_REFERENCE_PASSES
