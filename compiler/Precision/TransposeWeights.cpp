#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_TRANSPOSEWEIGHTSPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Whether a matrix is a parameter or a part of one, rounded or not: it is prepared once.
static bool isWeight(Value matrix) {
  while (matrix.getDefiningOp<CastOp>() || matrix.getDefiningOp<SliceOp>())
    matrix = matrix.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(matrix);
  auto entry =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return entry && entry.getArgAttr(argument.getArgNumber(), SinterDialect::kParameter);
}

namespace {
struct TransposeWeightsPass : sinter::impl::TransposeWeightsPassBase<TransposeWeightsPass> {
  using TransposeWeightsPassBase::TransposeWeightsPassBase;

  void runOnOperation() override {
    TargetAttr target = TargetAttr::lookup(getOperation());
    if (!target || !target.fusesGemv())
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        for (auto matmul : function.getOps<MatmulOp>())
          if (!matmul.getTransposeRhs() && isWeight(matmul.getRhs()))
            transpose(matmul);
  }

private:
  static void transpose(MatmulOp matmul) {
    OpBuilder builder(matmul);
    RankedTensorType type = matmul.getRhs().getType();
    auto transposed =
        RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    matmul.getRhsMutable().assign(TransposeOp::create(builder, matmul.getLoc(), transposed,
                                                      matmul.getRhs(), ArrayRef<int64_t>{1, 0}));
    matmul.setTransposeRhs(true);
  }
};
} // namespace
