#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/ElementOpInterface.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace sinter {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct LowerKernelsPass : sinter::impl::LowerKernelsPassBase<LowerKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerKernelsPassBase::getDependentDialects(registry);
    registerElementModels(registry);
  }

  using LowerKernelsPassBase::LowerKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto lowering = createKernelsModule(module);
    if (failed(lowering))
      return signalPassFailure();
    if (!lowering->code)
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(module);
    OpBuilder builder = OpBuilder::atBlockEnd(lowering->code.getBody());
    for (auto [kernel, family] : lowering->kernels) {
      FailureOr<int64_t> grid =
          family->lowerToLoops(kernel, createLoopKernel(builder, kernel), target);
      if (failed(grid))
        return signalPassFailure();
      kernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(*grid));
    }
  }
};
} // namespace
