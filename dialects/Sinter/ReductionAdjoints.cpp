#include "dialects/Sinter/AdjointBuilder.h"

using namespace mlir;
using namespace sinter;

// A row's maximum hands its gradient to the elements that equal it.
void ReduceOp::buildAdjoint(Adjoint &adjoint) {
  if (!adjoint.isNeeded(getOperand()))
    return;
  AdjointBuilder build(adjoint);
  RankedTensorType type = getOperand().getType();
  int64_t width = type.getShape().back();
  Value gradient = adjoint.getGradient(getResult());
  if (getKind() == ReductionKind::Mean)
    gradient = build.scale(gradient, 1.0 / static_cast<double>(width));
  gradient = build.spread(gradient, width);
  if (getKind() == ReductionKind::Max) {
    Value below = StepOp::create(adjoint.getBuilder(), adjoint.getLoc(), type,
                                 build.sub(build.spread(getResult(), width), getOperand()));
    Value one = build.splat(type.getShape(), type.getElementType(), 1.0);
    gradient = build.mul(gradient, build.sub(one, below));
  }
  adjoint.add(getOperand(), gradient);
}

/// The operand's gradient by `Grad`, and those of weight and bias, which it sums over blocks of
/// rows.
template <typename Grad, typename Norm> static void buildNormAdjoint(Norm norm, Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  OpBuilder &builder = adjoint.getBuilder();
  RankedTensorType type = norm.getType();
  int64_t width = type.getShape().back();
  int64_t blocks = build.countBlocks(type.getNumElements() / width);
  OperandRange parameters = norm->getOperands().drop_front();
  SmallVector<Type> types(std::is_same_v<Norm, LayerNormOp> ? 3 : 2, type.clone({blocks, width}));
  types.front() = type;
  auto grad = Grad::create(builder, adjoint.getLoc(), types, norm.getOperand(), norm.getWeight(),
                           adjoint.getGradient(norm.getResult()), norm.getEps());
  adjoint.add(norm.getOperand(), grad->getResult(0));
  for (auto [i, parameter] : llvm::enumerate(parameters))
    if (adjoint.isNeeded(parameter))
      adjoint.add(parameter, build.sumRows(grad->getResult(i + 1)));
}

void RmsNormOp::buildAdjoint(Adjoint &adjoint) { buildNormAdjoint<RmsNormGradOp>(*this, adjoint); }

void LayerNormOp::buildAdjoint(Adjoint &adjoint) {
  buildNormAdjoint<LayerNormGradOp>(*this, adjoint);
}
