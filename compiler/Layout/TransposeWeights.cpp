#include "compiler/Layout/Passes.h"
#include "compiler/Layout/TransposeMatrix.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_TRANSPOSEWEIGHTSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Whether a matrix is a parameter, a part of one or put together of such, rounded or not: it is
/// preprocessed once.
static bool isWeight(Value matrix) {
  while (matrix.getDefiningOp<CastOp>() || matrix.getDefiningOp<SliceOp>())
    matrix = matrix.getDefiningOp()->getOperand(0);
  if (auto concat = matrix.getDefiningOp<ConcatOp>())
    return llvm::all_of(concat.getOperands(), isWeight);
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
          if (!matmul.getTransposeRhs() && (matmul.getScales() || isWeight(matmul.getRhs())))
            transpose(matmul);
  }

private:
  static void transpose(MatmulOp matmul) {
    OpBuilder builder(matmul);
    for (MutableOperandRange matrix : {MutableOperandRange(matmul.getRhsMutable()),
                                       matmul.getScalesMutable(), matmul.getMinimaMutable()})
      if (!matrix.empty())
        matrix.assign(transposeMatrix(builder, matmul.getLoc(), matrix[0].get()));
    matmul.setTransposeRhs(true);
  }
};
} // namespace
