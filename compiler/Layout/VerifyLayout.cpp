#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYLAYOUTPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyLayoutPass : sinter::impl::VerifyLayoutPassBase<VerifyLayoutPass> {
  using VerifyLayoutPassBase::VerifyLayoutPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    TargetAttr target = TargetAttr::lookup(getOperation());
    bool panels = !target || target.readsPackedRhs();
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        function.walk([&](MatmulOp matmul) {
          valid &= succeeded(panels ? verifyPackedRhs(matmul) : verifyPlain(matmul));
        });
        if (!panels)
          function.walk([&](GroupedMatmulOp matmul) { valid &= succeeded(verifyPlain(matmul)); });
      }
    if (!valid)
      signalPassFailure();
  }

private:
  template <typename Op> static LogicalResult verifyPlain(Op matmul) {
    RankedTensorType rhs = matmul.getRhs().getType();
    bool pairs = rhs.getElementType().isInteger(4);
    if (matmul.getLhs().getType().getEncoding() || bool(rhs.getEncoding()) != pairs)
      return matmul.emitError(
          "expected plain operands, but integers of four bits in a panel, for a "
          "GPU after Layout");
    if (matmul.getScales() && !matmul.getTransposeRhs())
      return matmul.emitError("expected rows of integers, [n, k], for a GPU after Layout");
    return success();
  }

  static LogicalResult verifyPackedRhs(MatmulOp matmul) {
    RankedTensorType rhs = matmul.getRhs().getType();
    bool packed = !matmul.getTransposeRhs() && isa_and_nonnull<PanelsAttr>(rhs.getEncoding());
    if (!packed && !mayStayDense(matmul.getRhs()))
      return matmul.emitError("expected a right-hand side in panels, not transposed, or an f32 "
                              "state as it is, after Layout");
    RankedTensorType lhs = matmul.getLhs().getType();
    if (matmul.getTransposeLhs() && lhs.getElementType().isBF16() &&
        !isa_and_nonnull<PanelsAttr>(lhs.getEncoding()))
      return matmul.emitError("expected a transposed left-hand side of bf16 in panels after "
                              "Layout");
    return success();
  }
};
} // namespace
