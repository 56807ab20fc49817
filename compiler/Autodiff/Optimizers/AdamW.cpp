#include "compiler/Autodiff/Optimizers/Optimizer.h"

using namespace mlir;
using namespace sinter;

namespace {
/// Adam with decoupled weight decay; see AdamWOp.
class AdamW : public Optimizer {
public:
  AdamW(const Hyperparameters &numbers, StringRef rate) : numbers(numbers), rate(rate) {}

  SmallVector<OptimizerState> getStates(const Parameter &parameter) const override {
    RankedTensorType type = numbers.getStateType(parameter.type);
    return {{("adamw.m." + parameter.name).str(), type},
            {("adamw.v." + parameter.name).str(), type}};
  }

  Update build(UpdateBuilder &builder, const Parameter &parameter, Value value, Value gradient,
               ValueRange states) const override {
    OpBuilder &b = builder.getBuilder();
    auto number = [&](double x) { return b.getF64FloatAttr(x); };
    Type type = value.getType(), state = states[0].getType();
    SmallVector<Value> random;
    if (state != type)
      random = {builder.getSeed(), builder.getTag(parameter)};
    auto step = AdamWOp::create(
        b, builder.getLoc(), type, state, state, builder.clearsGradients() ? type : Type(), value,
        gradient, states[0], states[1], builder.getScale(), builder.getInput(rate),
        builder.getInput("bias_correction1"), builder.getInput("bias_correction2"), random,
        number(numbers.beta1), number(numbers.beta2), number(numbers.epsilon),
        number(parameter.decays ? numbers.weightDecay : 0));
    return {step.getNextParameter(), {step.getNextM(), step.getNextV()}, step.getCleared()};
  }

private:
  Hyperparameters numbers;
  std::string rate;
};
} // namespace

std::unique_ptr<Optimizer> sinter::createAdamW(const Hyperparameters &numbers, StringRef rate) {
  return std::make_unique<AdamW>(numbers, rate);
}
