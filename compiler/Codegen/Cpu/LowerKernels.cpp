#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/ElementOpInterface.h"
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

using Generator = FailureOr<int64_t> (*)(func::FuncOp, func::FuncOp, const TargetAttr &);

/// A rows kernel, or one op with a generator of its own.
static FailureOr<int64_t> lowerRows(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                    const TargetAttr &target) {
  Operation *alone = findLoneOp(tensorKernel);
  if (isa_and_nonnull<EmbeddingGradOp>(alone))
    return lowerScatterKernel(tensorKernel, loopKernel);
  if (isa_and_nonnull<SampleOp>(alone))
    return lowerSampleKernel(tensorKernel, loopKernel, target);
  return lowerRowsKernel(tensorKernel, loopKernel, RowsOptions());
}

/// The generator of a kind of kernel, or null where none is needed.
static Generator getGenerator(FusionKind kind) {
  switch (kind) {
  case FusionKind::Attention:
    return lowerAttentionKernel;
  case FusionKind::AttentionGrad:
    return lowerAttentionGradKernel;
  case FusionKind::Gemm:
    return lowerGemmKernel;
  case FusionKind::Rows:
    return lowerRows;
  default:
    return nullptr;
  }
}

namespace {
struct LowerKernelsPass : sinter::impl::LowerKernelsPassBase<LowerKernelsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerKernelsPassBase::getDependentDialects(registry);
    registerElementModels(registry);
  }

  using LowerKernelsPassBase::LowerKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto lowering = createKernelsModule(module, [](FusionKind kind) { return getGenerator(kind); });
    if (failed(lowering))
      return signalPassFailure();
    if (!lowering->code)
      return markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(module);
    OpBuilder builder = OpBuilder::atBlockEnd(lowering->code.getBody());
    for (auto [kernel, kind] : lowering->kernels) {
      FailureOr<int64_t> grid =
          getGenerator(kind)(kernel, createLoopKernel(builder, kernel), target);
      if (failed(grid))
        return signalPassFailure();
      kernel->setAttr(kGridAttribute, builder.getI64IntegerAttr(*grid));
    }
  }
};
} // namespace
