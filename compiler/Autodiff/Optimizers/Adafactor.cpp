//===- Adafactor.cpp - Second moments as rows times columns -----------------===//
//
// Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018, algorithms
// 4 and 5, as the transformers library has it with scale_parameter and relative_step. For a matrix
// P with the gradient G at step t, d = 1 - t^-0.8:
//
//   r' = d r + (1 - d) mean over columns of (G^2 + eps1)      a value a row
//   c' = d c + (1 - d) mean over rows of (G^2 + eps1)         a value a column
//   U  = G / sqrt(r' c' / mean(r'))
//   P' = P - rate (U / max(1, rms(U)) + weight_decay P)
//   rate = max(eps2, rms(P)) * min(0.01, 1 / sqrt(t))
//
// A vector keeps the second moment of each element instead of r and c. There is no first moment.
// Without relative step the input `learning_rate` takes the place of min(0.01, 1 / sqrt(t)),
// without scale_parameter 1 that of max(eps2, rms(P)). The input `update` is t.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Optimizers/Optimizer.h"
#include "dialects/Sinter/AdjointBuilder.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

static constexpr double kEps1 = 1e-30;
static constexpr double kEps2 = 1e-3;
static constexpr double kDecayExponent = -0.8;

namespace {
class Adafactor : public Optimizer {
public:
  explicit Adafactor(const Hyperparameters &numbers) : numbers(numbers) {}

  SmallVector<OptimizerState> getStates(const Parameter &parameter) const override {
    if (!isFactored(parameter.type))
      return {{("adafactor.v." + parameter.name).str(), parameter.type}};
    ArrayRef<int64_t> shape = parameter.type.getShape();
    Type element = parameter.type.getElementType();
    return {
        {("adafactor.row." + parameter.name).str(), RankedTensorType::get(shape[0], element)},
        {("adafactor.column." + parameter.name).str(), RankedTensorType::get(shape[1], element)}};
  }

  Update build(UpdateBuilder &b, const Parameter &parameter, Value value, Value gradient,
               ValueRange states) const override {
    Value time = b.getInput("update");
    // t^-0.8 is e^(-0.8 log t), exactly 1 for t = 1: nothing is left of the state's zeros.
    Value fresh = b.unary<ExpOp>(b.scaled(kDecayExponent, b.unary<LogOp>(time)));
    auto decay = [&](Value state, Value next) {
      return b.add(state, b.mul(b.spread(fresh, state), b.sub(next, state)));
    };
    Value g = b.scaleGradient(gradient);
    Value squares = b.shifted(b.mul(g, g), kEps1);
    Update update;
    Value step;
    if (isFactored(parameter.type)) {
      double rows = parameter.type.getDimSize(0);
      AdjointBuilder sums(b.getBuilder(), b.getLoc());
      Value row = decay(states[0], b.reduce(squares, ReductionKind::Mean));
      Value column = decay(states[1], b.scaled(1 / rows, sums.sumRows(squares)));
      Value relative = b.div(row, b.spread(b.scaled(1 / rows, b.sum(row)), row));
      step = b.mul(b.mul(g, b.spread(b.unary<RsqrtOp>(relative), g, {0})),
                   b.spread(b.unary<RsqrtOp>(column), g, {1}));
      update.states = {b.guard(row, states[0]), b.guard(column, states[1])};
    } else {
      Value v = decay(states[0], squares);
      step = b.mul(g, b.unary<RsqrtOp>(v));
      update.states = {b.guard(v, states[0])};
    }
    Value clip = b.maximum(rootMeanSquare(b, step), b.constant(time, 1.0));
    Value rate = numbers.relativeStep
                     ? b.minimum(b.unary<RsqrtOp>(time),
                                 b.constant(time, OptimizerOptions::largestRelativeStep))
                     : b.getInput("learning_rate");
    if (numbers.scaleParameter)
      rate = b.mul(rate, b.maximum(rootMeanSquare(b, value), b.constant(time, kEps2)));
    Value next = b.sub(value, b.mul(step, b.spread(b.div(rate, clip), step)));
    if (parameter.decays && numbers.weightDecay != 0)
      next = b.sub(next, b.mul(value, b.spread(b.scaled(numbers.weightDecay, rate), value)));
    update.parameter = b.guard(next, value);
    return update;
  }

private:
  static bool isFactored(RankedTensorType type) { return type.getRank() == 2; }

  static Value rootMeanSquare(UpdateBuilder &b, Value x) {
    double count = cast<RankedTensorType>(x.getType()).getNumElements();
    return b.unary<SqrtOp>(b.scaled(1 / count, b.sumSquares(x)));
  }

  Hyperparameters numbers;
};
} // namespace

std::unique_ptr<Optimizer> sinter::createAdafactor(const Hyperparameters &numbers) {
  return std::make_unique<Adafactor>(numbers);
}
