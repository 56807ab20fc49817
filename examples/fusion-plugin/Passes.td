//===- Passes.td - The plugin's passes ----------------------*- tablegen -*-===//
#ifndef FUSION_PLUGIN_PASSES
#define FUSION_PLUGIN_PASSES

include "mlir/Pass/PassBase.td"

def MergeRowKernelsPass : Pass<"example-merge-row-kernels", "mlir::ModuleOp"> {
  let summary = "a kernel runs inside the one kernel that reads it";
  let description = [{
    Runs after the Fusion phase, on outlined kernels. Where every result of one `rows` kernel is
    read by one other `rows` kernel alone, both become one, and what passed between them no longer
    crosses memory. Only kernels of elementwise ops and row reductions over the same rows are
    merged; the others are left with a remark that says why. Equal pairs share their kernel.

    ```mlir
    func.func private @double(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    func.func private @relu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    func.func @decode(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.entry} {
      %0 = sinter.call_kernel @double(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %1 = sinter.call_kernel @relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    // =>
    func.func private @merged_rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
      ...
    }
    ...
    func.func @decode(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.entry} {
      %0 = sinter.call_kernel @merged_rows(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::func::FuncDialect", "sinter::SinterDialect"];
  let statistics = [Statistic<"numMerged", "num-merged", "Kernel calls that went into another">];
}

def RecognizeSiluPass : Pass<"example-recognize-silu", "mlir::ModuleOp"> {
  let summary = "x * sigmoid(x) is silu(x)";
  let description = [{
    Finds SiLU written out, in either order of the factors, and puts the op in its place, for which
    phases and kernels have more to offer. Afterwards no product of a value with its own sigmoid
    is left. The rewrite is written in PDLL.

    ```mlir
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sinter.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
      %1 = sinter.mul %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    // =>
    func.func @decode(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sinter.silu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::pdl::PDLDialect", "mlir::pdl_interp::PDLInterpDialect",
                           "sinter::SinterDialect"];
}

#endif // FUSION_PLUGIN_PASSES
