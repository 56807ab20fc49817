//===- Passes.td - Kernels to machine code ------------------*- tablegen -*-===//
#ifndef SINTER_CODEGEN_CPU_PASSES
#define SINTER_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernelsPass : Pass<"sinter-lower-kernels", "mlir::ModuleOp"> {
  let summary = "outlined kernels become loops over memory";
  let description = [{
    After it: for every kernel of kind `rows`, `gemm` or `attention` the module `@kernels` holds a
    function of the same name over flat memrefs, one an operand and one a result (storage
    elements, in the order of the operands and the results), that runs the work items
    `[begin, end)`. The kernel itself keeps its tensor ops and says in `sinter.grid` how many work
    items there are. Pointers are `llvm.noalias`, except of a result and an operand in whose place
    it is or may be put.

    ```mlir
    func.func private @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
        attributes {sinter.kernel = "rows"} {
      %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
    becomes, beside `@k` with `sinter.grid = 4`,
    ```mlir
    module @kernels {
      func.func @k(%x: memref<32xf32>, %y: memref<32xf32>, %begin: index, %end: index) {
        scf.for %item = %begin to %end step %c1 {
          scf.for %i = %c0 to %c8 step %c1 { ... }
        }
        return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

#endif // SINTER_CODEGEN_CPU_PASSES
