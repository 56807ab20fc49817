#include "compiler/Autodiff/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYAUTODIFFPASS
#include "compiler/Autodiff/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyAutodiffPass : sinter::impl::VerifyAutodiffPassBase<VerifyAutodiffPass> {
  using VerifyAutodiffPassBase::VerifyAutodiffPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) && failed(verify(function)))
        return signalPassFailure();
  }

private:
  static LogicalResult verify(func::FuncOp function) {
    if (function->hasAttr(SinterDialect::kDifferentiate))
      return function.emitError("expected no function to differentiate after Autodiff");
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (Attribute name = function.getResultAttr(i, SinterDialect::kGradient))
        return function.emitError("expected every gradient to be used after Autodiff, got ")
               << name;
    WalkResult result = function.walk([](LinearCrossEntropyOp op) {
      op.emitError("expected losses to be written out after Autodiff");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
