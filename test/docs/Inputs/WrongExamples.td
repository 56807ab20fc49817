def IsolateOpsPass : Pass<"sinter-isolate-ops", "mlir::ModuleOp"> {
  let description = [{
    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // =>
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
}

def OutlineKernelsPass : Pass<"sinter-outline-kernels", "mlir::ModuleOp"> {
  let description = [{
    Names are consistent: the kernel's result is what is returned, not its operand.

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
      %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
      ^bb0(%a: tensor<8xf32>):
        %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
        sinter.yield %1 : tensor<8xf32>
      }
      return %0 : tensor<8xf32>
    }
    // =>
    %0 = sinter.call_kernel @relu(%x) ...
    return %x : tensor<8xf32>
    ```
  }];
}

def VerifyImportPass : Pass<"sinter-verify-import", "mlir::ModuleOp"> {
  let description = [{
    ```mlir
    func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"})
        attributes {sinter.entry} {
      return %x : tensor<4xf32>
    }
    // =>
    error: expected argument 0 to be bound
    ```
  }];
}

def SinkRowSelectionPass : Pass<"sinter-sink-row-selection", "mlir::ModuleOp"> {
  let description = [{
    ```mlir
    func.func @before
    // =>
    func.func @after() ...
    ```
  }];
}

def FormFusionsPass : Pass<"sinter-form-fusions", "mlir::ModuleOp"> {
  let description = [{
    ```mlir
    func.func @shown_only()
    ```
  }];
}
