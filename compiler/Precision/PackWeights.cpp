#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Whether a product's kernel should make panels of its right-hand side itself, a piece at a time,
/// rather than read ones that were made before: where the matrix changes from step to step, is so
/// large that its panels would be much of the step's memory, and meets so few rows that they are
/// one block, which reads each panel once. Of a vocabulary this holds in every block of a loss.
static bool makesPanels(MatmulOp matmul) {
  constexpr int64_t fewestRows = 32, leastBytes = 32 << 20;
  return mayStayDense(matmul.getRhs()) && !matmul.getTransposeLhs() &&
         matmul.getM() >= fewestRows && matmul.getM() <= kBlockRows &&
         4 * matmul.getK() * matmul.getN() >= leastBytes;
}

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
    auto packed = RankedTensorType::get(type.getShape(), type.getElementType(),
                                        getPanels(type.getElementType(), target));
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
    Location loc = matmul.getLoc();
    if (matmul.getTransposeRhs()) {
      auto type = cast<RankedTensorType>(rhs.getType());
      auto transposed =
          RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
      rhs = TransposeOp::create(builder, loc, transposed, rhs, ArrayRef<int64_t>{1, 0});
      matmul.setTransposeRhs(false);
    }
    matmul.getRhsMutable().assign(pack(builder, matmul, rhs));
  }

  TargetAttr target;
};
} // namespace
