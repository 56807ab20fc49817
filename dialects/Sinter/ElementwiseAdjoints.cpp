#include "dialects/Sinter/AdjointTerm.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

template <typename Op, typename... Arguments>
AdjointTerm AdjointTerm::make(Arguments... arguments) const {
  return {*adjoint,
          Op::create(adjoint->getBuilder(), adjoint->getLoc(), value.getType(), arguments...)
              .getResult()};
}

AdjointTerm AdjointTerm::constant(double number) const {
  return {*adjoint, ConstantOp::create(adjoint->getBuilder(), adjoint->getLoc(),
                                       cast<RankedTensorType>(value.getType()), number)
                        .getResult()};
}

namespace sinter {
AdjointTerm AdjointTerm::operator-() const { return make<NegOp>(value); }
AdjointTerm operator+(AdjointTerm lhs, AdjointTerm rhs) {
  return lhs.make<AddOp>(lhs.value, rhs.value);
}
AdjointTerm operator-(AdjointTerm lhs, AdjointTerm rhs) {
  return lhs.make<SubOp>(lhs.value, rhs.value);
}
AdjointTerm operator*(AdjointTerm lhs, AdjointTerm rhs) {
  return lhs.make<MulOp>(lhs.value, rhs.value);
}
AdjointTerm operator/(AdjointTerm lhs, AdjointTerm rhs) {
  return lhs.make<DivOp>(lhs.value, rhs.value);
}
AdjointTerm sigmoid(AdjointTerm x) { return x.make<SigmoidOp>(x.value); }
AdjointTerm step(AdjointTerm x) { return x.make<StepOp>(x.value); }
AdjointTerm geluDerivative(AdjointTerm x, bool tanh) {
  return x.make<GeluDerivativeOp>(x.value, tanh);
}
} // namespace sinter

void CastOp::buildAdjoint(Adjoint &adjoint) {
  if (!adjoint.isNeeded(getOperand()))
    return;
  Value gradient = adjoint.getGradient(getResult());
  adjoint.add(getOperand(), CastOp::create(adjoint.getBuilder(), adjoint.getLoc(),
                                           getOperand().getType(), gradient));
}
