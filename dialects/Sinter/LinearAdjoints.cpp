#include "dialects/Sinter/AdjointBuilder.h"

using namespace mlir;
using namespace sinter;

// Y = A B, with A or B transposed where the op says so. dA = dY B^T and dB = A^T dY; of a
// transposed operand, the transpose of that. Integers with scales are not trained.
void MatmulOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  Value gradient = adjoint.getGradient(getResult());
  auto multiply = [&](Value lhs, Value rhs, Value like, bool transposeLhs, bool transposeRhs,
                      Value scales = {}, Value minima = {}) -> Value {
    return MatmulOp::create(adjoint.getBuilder(), adjoint.getLoc(), like.getType(), lhs, rhs,
                            scales, minima, /*row_scales=*/Value(), transposeRhs, transposeLhs);
  };
  if (adjoint.isNeeded(getLhs())) {
    Value rhs = getRhs();
    adjoint.add(getLhs(),
                getTransposeLhs()
                    ? multiply(rhs, gradient, getLhs(), getTransposeRhs(), /*transposeRhs=*/true)
                    : multiply(gradient, rhs, getLhs(), false, !getTransposeRhs(), getScales(),
                               getMinima()));
  }
  if (getScales() || !adjoint.isNeeded(getRhs()))
    return;
  Value lhs = build.flatten(getLhs());
  gradient = build.flatten(gradient);
  adjoint.add(getRhs(),
              getTransposeRhs()
                  ? multiply(gradient, lhs, getRhs(), /*transposeLhs=*/true, getTransposeLhs())
                  : multiply(lhs, gradient, getRhs(), !getTransposeLhs(), false));
}
