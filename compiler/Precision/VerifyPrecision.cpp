#include "compiler/Analysis/Target.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYPRECISIONPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyPrecisionPass : sinter::impl::VerifyPrecisionPassBase<VerifyPrecisionPass> {
  using VerifyPrecisionPassBase::VerifyPrecisionPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        function.walk([&](FusibleOpInterface op) { valid &= succeeded(verify(op)); });
    if (!valid)
      signalPassFailure();
  }

private:
  LogicalResult verify(FusibleOpInterface op) {
    FusionRole role = op.getFusionRole();
    TargetAttr target = TargetAttr::lookup(getOperation());
    bool tileDots = target && target.hasMatrixUnits();
    if (role == FusionRole::Contraction && !tileDots) {
      Type operand = getElementTypeOrSelf(cast<MatmulOp>(op).getLhs());
      if (!operand.isF32() && !operand.isBF16() && operand.getIntOrFloatBitWidth() != 8)
        return op.emitError("expected operands of f32, bf16 or i8 after Precision");
    }
    if (auto matmul = dyn_cast<MatmulOp>(op.getOperation());
        matmul && isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(matmul.getRhs()))) {
      if (!matmul.getRowScales() && isa<Float8E5M2Type>(getElementTypeOrSelf(matmul.getRhs())))
        return op.emitError("expected rows of fp8 where weights are f8E5M2 after Precision");
      if (matmul.getRowScales() && target && !hasFp8Products(target))
        return op.emitError("expected a GPU of compute capability 9.0 or later, which multiplies "
                            "fp8, got ")
               << target.getChip();
    }
    bool accumulates = role == FusionRole::Contraction || role == FusionRole::Attention ||
                       role == FusionRole::AttentionGrad || role == FusionRole::RowReduction ||
                       role == FusionRole::ColumnReduction;
    if (accumulates && !llvm::all_of(op->getResults(), [](Value result) {
          Type type = getElementTypeOrSelf(result);
          return type.isF32() || type.getIntOrFloatBitWidth() == 8;
        }))
      return op.emitError("expected an f32 result after Precision");
    return success();
  }
};
} // namespace
