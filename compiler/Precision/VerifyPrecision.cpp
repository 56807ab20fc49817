#include "compiler/Analysis/KernelLayouts.h"
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
  static LogicalResult verifyPlain(MatmulOp matmul) {
    if (matmul.getLhs().getType().getEncoding() || matmul.getRhs().getType().getEncoding())
      return matmul.emitError("expected plain operands for a GPU after Precision");
    return success();
  }

  LogicalResult verify(FusibleOpInterface op) {
    FusionRole role = op.getFusionRole();
    TargetAttr target = TargetAttr::lookup(getOperation());
    bool panels = !target || target.readsPackedRhs();
    if (role == FusionRole::Contraction && !panels) {
      if (failed(verifyPlain(cast<MatmulOp>(op))))
        return failure();
    } else if (role == FusionRole::Contraction) {
      auto matmul = cast<MatmulOp>(op);
      if (!getElementTypeOrSelf(matmul.getLhs()).isF32() &&
          !getElementTypeOrSelf(matmul.getLhs()).isBF16())
        return op.emitError("expected operands of f32 or bf16 after Precision");
      RankedTensorType rhs = matmul.getRhs().getType();
      bool packed = !matmul.getTransposeRhs() && isa_and_nonnull<PanelsAttr>(rhs.getEncoding());
      if (!packed && !mayStayDense(matmul.getRhs()))
        return op.emitError("expected a right-hand side in panels, not transposed, or an f32 state "
                            "as it is, after Precision");
      RankedTensorType lhs = matmul.getLhs().getType();
      if (matmul.getTransposeLhs() && lhs.getElementType().isBF16() &&
          !isa_and_nonnull<PanelsAttr>(lhs.getEncoding()))
        return op.emitError("expected a transposed left-hand side of bf16 in panels after "
                            "Precision");
    }
    bool accumulates = role == FusionRole::Contraction || role == FusionRole::Attention ||
                       role == FusionRole::AttentionGrad || role == FusionRole::RowReduction ||
                       role == FusionRole::ColumnReduction;
    if (accumulates && !llvm::all_of(op->getResults(), [](Value result) {
          return getElementTypeOrSelf(result).isF32();
        }))
      return op.emitError("expected an f32 result after Precision");
    return success();
  }
};
} // namespace
