//===- Muon.cpp - Orthogonal updates of matrices ----------------------------===//
//
// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024. A matrix P [m, n]
// moves by its momentum with all singular values made about 1, which five steps of a Newton-Schulz
// iteration do with products alone:
//
//   B' = B + (1 - momentum) (G - B)
//   X  = N / |N|, N = G + momentum (B' - G)                    (Nesterov's look ahead)
//   five times: A = X X^T;  X = a X + (b A + c A A) X
//   P' = P - learning_rate (sqrt(max(1, m / n)) X + weight_decay P)
//
// with (a, b, c) = (3.4445, -4.7750, 2.0315). Where m > n the iteration is done from the right,
// A = X^T X, on the smaller Gram matrix. Vectors, embeddings and the head are updated by AdamW with
// a learning rate of their own, the input `adamw_learning_rate`. B' may be held in bf16; N is made
// of it before it is rounded.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Optimizers/Optimizer.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

static constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
static constexpr int kSteps = 5;
static constexpr double kSmallestNorm = 1e-7;

namespace {
class Muon : public Optimizer {
public:
  explicit Muon(const Hyperparameters &numbers)
      : numbers(numbers), adamw(createAdamW(numbers, "adamw_learning_rate")) {}

  SmallVector<OptimizerState> getStates(const Parameter &parameter) const override {
    if (!isOrthogonalized(parameter))
      return adamw->getStates(parameter);
    return {{("muon.momentum." + parameter.name).str(), numbers.getStateType(parameter.type)}};
  }

  Update build(UpdateBuilder &b, const Parameter &parameter, Value value, Value gradient,
               ValueRange states) const override {
    if (!isOrthogonalized(parameter))
      return adamw->build(b, parameter, value, gradient, states);
    Value g = b.scaleGradient(gradient);
    Value before = b.cast(states[0], parameter.type.getElementType());
    Value momentum = b.lerp(before, g, 1 - numbers.getMomentum());
    Value step = orthogonalize(b, b.lerp(g, momentum, numbers.getMomentum()));
    double m = parameter.type.getDimSize(0), n = parameter.type.getDimSize(1);
    Value rate = b.getInput("learning_rate");
    Value stride = b.scaled(std::sqrt(std::max(1.0, m / n)), rate);
    Value kept = value;
    if (parameter.decays && numbers.weightDecay != 0)
      kept = b.mul(value, b.spread(b.shifted(b.scaled(-numbers.weightDecay, rate), 1.0), value));
    Value next = b.sub(kept, b.mul(step, b.spread(stride, step)));
    return {
        b.guard(next, value), {b.cast(b.guard(momentum, before), numbers.stateElement)}, nullptr};
  }

private:
  static bool isOrthogonalized(const Parameter &parameter) {
    return parameter.type.getRank() == 2 && !parameter.isTable;
  }

  static Value orthogonalize(UpdateBuilder &b, Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    bool tall = type.getDimSize(0) > type.getDimSize(1);
    Value norm = b.unary<SqrtOp>(b.sumSquares(x));
    x = b.div(x, b.spread(b.maximum(norm, b.constant(norm, kSmallestNorm)), x));
    for (int i = 0; i < kSteps; ++i) {
      Value gram = b.matmul(x, x, /*transposeLhs=*/tall, /*transposeRhs=*/!tall);
      Value polynomial = b.add(b.scaled(kB, gram), b.scaled(kC, b.matmul(gram, gram)));
      Value turned = tall ? b.matmul(x, polynomial) : b.matmul(polynomial, x);
      x = b.add(b.scaled(kA, x), turned);
    }
    return x;
  }

  Hyperparameters numbers;
  std::unique_ptr<Optimizer> adamw;
};
} // namespace

std::unique_ptr<Optimizer> sinter::createMuon(const Hyperparameters &numbers) {
  return std::make_unique<Muon>(numbers);
}
