#include "compiler/Global/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYGLOBALPASS
#include "compiler/Global/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyGlobalPass : sinter::impl::VerifyGlobalPassBase<VerifyGlobalPass> {
  using VerifyGlobalPassBase::VerifyGlobalPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        function.walk([&](Operation *op) { valid &= succeeded(verify(op)); });
    if (!valid)
      signalPassFailure();
  }

private:
  static bool isDense(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || !tensor.getEncoding();
  }

  static LogicalResult verify(Operation *op) {
    if (llvm::all_of(op->getOperandTypes(), isDense) && llvm::all_of(op->getResultTypes(), isDense))
      return success();
    return op->emitError("expected only dense tensors in an entry after Global");
  }
};
} // namespace
