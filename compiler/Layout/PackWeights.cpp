#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Layout/Passes.h"
#include "compiler/Layout/TransposeMatrix.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct PackWeightsPass : sinter::impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;

  void runOnOperation() override {
    target = TargetAttr::lookup(getOperation());
    if (target && !target.readsPackedRhs())
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        function.walk([&](MatmulOp matmul) {
          packLhs(matmul);
          packRhs(matmul);
        });
  }

private:
  /// The matrix in panels, for a product. One that is done again is not to keep the panels of the
  /// first one alive.
  Value pack(OpBuilder &builder, MatmulOp matmul, Value matrix) {
    auto type = cast<RankedTensorType>(matrix.getType());
    PanelsAttr panels = matmul.getScales() ? getScaledPanels(&getContext(), target)
                                           : getPanels(type.getElementType(), target);
    auto packed = RankedTensorType::get(type.getShape(), type.getElementType(), panels);
    auto pack = PackOp::create(builder, matmul.getLoc(), packed, matrix);
    if (Attribute again = matmul->getAttr(SinterDialect::kRecompute))
      pack->setAttr(SinterDialect::kRecompute, again);
    return pack;
  }

  /// Pairs of 16-bit numbers are neighbours along k, which they are not in the rows of a transposed
  /// lhs. Kernels read f32 there as it is.
  void packLhs(MatmulOp matmul) {
    RankedTensorType type = matmul.getLhs().getType();
    if (!matmul.getTransposeLhs() || type.getEncoding() || type.getElementTypeBitWidth() != 16)
      return;
    OpBuilder builder(matmul);
    matmul.getLhsMutable().assign(pack(builder, matmul, matmul.getLhs()));
  }

  void packRhs(MatmulOp matmul) {
    Value rhs = matmul.getRhs();
    if (cast<RankedTensorType>(rhs.getType()).getEncoding() || makesPanels(matmul))
      return;
    OpBuilder builder(matmul);
    Value scales = matmul.getScales();
    if (matmul.getTransposeRhs()) {
      rhs = transposeMatrix(builder, matmul.getLoc(), rhs);
      if (scales)
        scales = transposeMatrix(builder, matmul.getLoc(), scales);
      matmul.setTransposeRhs(false);
    }
    matmul.getRhsMutable().assign(pack(builder, matmul, rhs));
    if (scales)
      matmul.getScalesMutable().assign(pack(builder, matmul, scales));
  }

  TargetAttr target;
};
} // namespace
