#include "compiler/Autodiff/Optimizers/Optimizer.h"

using namespace mlir;
using namespace sinter;

namespace {
/// Gradient descent, with momentum unless that is 0; see SgdOp.
class Sgd : public Optimizer {
public:
  explicit Sgd(const Hyperparameters &numbers) : numbers(numbers) {}

  SmallVector<OptimizerState> getStates(const Parameter &parameter) const override {
    if (numbers.getMomentum() == 0)
      return {};
    return {{("sgd.velocity." + parameter.name).str(), numbers.getStateType(parameter.type)}};
  }

  Update build(UpdateBuilder &builder, const Parameter &parameter, Value value, Value gradient,
               ValueRange states) const override {
    OpBuilder &b = builder.getBuilder();
    Type type = value.getType(), cleared = builder.clearsGradients() ? type : Type();
    Value velocity = states.empty() ? Value() : states.front();
    auto step =
        SgdOp::create(b, builder.getLoc(), type, velocity ? velocity.getType() : Type(), cleared,
                      value, gradient, builder.getScale(), builder.getInput("learning_rate"),
                      velocity, b.getF64FloatAttr(numbers.getMomentum()),
                      velocity && numbers.nesterov ? b.getUnitAttr() : UnitAttr(),
                      b.getF64FloatAttr(parameter.decays ? numbers.weightDecay : 0));
    Update update{step.getNextParameter(), {}, step.getCleared()};
    if (velocity)
      update.states.push_back(step.getNextVelocity());
    return update;
  }

private:
  Hyperparameters numbers;
};
} // namespace

std::unique_ptr<Optimizer> sinter::createSgd(const Hyperparameters &numbers) {
  return std::make_unique<Sgd>(numbers);
}
