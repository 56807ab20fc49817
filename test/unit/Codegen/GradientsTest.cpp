//===- GradientsTest.cpp - Gradient ops against central differences ----------===//

#include "compiler/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {
/// Functions `@forward(operands...) -> y` and `@backward(operands..., gradient of y) -> gradients`
/// of the first operands, all in f64.
class GradientPair {
public:
  explicit GradientPair(StringRef text)
      : module(parseSourceString<ModuleOp>(text, &sinter::jit::getContext())) {}

  bool isValid() const { return bool(module); }

  /// Compares the gradients of sum(weights * y) with central differences, element by element.
  void check(SmallVector<ReferenceTensor> operands) {
    auto forward = module->lookupSymbol<func::FuncOp>("forward");
    auto backward = module->lookupSymbol<func::FuncOp>("backward");
    ReferenceTensor weights =
        makeNormal(cast<RankedTensorType>(forward.getResultTypes()[0]), /*seed=*/99);
    auto evaluateLoss = [&]() {
      ReferenceTensor y = evaluateFunction(forward, operands).front();
      double loss = 0;
      for (int64_t i = 0; i < y.getNumElements(); ++i)
        loss += y[i] * weights[i];
      return loss;
    };
    SmallVector<ReferenceTensor> arguments(operands);
    arguments.push_back(weights);
    SmallVector<ReferenceTensor> gradients = evaluateFunction(backward, arguments);
    constexpr double step = 1e-5;
    for (auto [n, gradient] : llvm::enumerate(gradients))
      for (int64_t i = 0; i < gradient.getNumElements(); ++i) {
        double &x = operands[n][i], at = x;
        x = at + step;
        double above = evaluateLoss();
        x = at - step;
        double below = evaluateLoss();
        x = at;
        double expected = (above - below) / (2 * step);
        EXPECT_NEAR(gradient[i], expected, 1e-7 * std::max(1.0, std::abs(expected)))
            << "element " << i << " of gradient " << n;
      }
  }

private:
  OwningOpRef<ModuleOp> module;
};

ReferenceTensor makeFloats(ArrayRef<int64_t> shape, unsigned seed) {
  return makeNormal(RankedTensorType::get(shape, Float64Type::get(&sinter::jit::getContext())),
                    seed);
}

ReferenceTensor makeIds(ArrayRef<int64_t> shape, ArrayRef<double> ids) {
  ReferenceTensor tensor(
      RankedTensorType::get(shape, IntegerType::get(&sinter::jit::getContext(), 32)));
  llvm::copy(ids, tensor.data().begin());
  return tensor;
}
} // namespace

TEST(Gradients, RmsNorm) {
  GradientPair pair(R"(
func.func @forward(%x: tensor<2x3x5xf64>, %w: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %0 = sinter.rms_norm %x, %w {eps = 0.01} : (tensor<2x3x5xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
  return %0 : tensor<2x3x5xf64>
}
func.func @backward(%x: tensor<2x3x5xf64>, %w: tensor<5xf64>, %g: tensor<2x3x5xf64>) -> (tensor<2x3x5xf64>, tensor<5xf64>) {
  %0:2 = sinter.rms_norm_grad %x, %w, %g {eps = 0.01} : (tensor<2x3x5xf64>, tensor<5xf64>, tensor<2x3x5xf64>) -> (tensor<2x3x5xf64>, tensor<3x5xf64>)
  %1 = sinter.column_sum %0#1 : (tensor<3x5xf64>) -> tensor<5xf64>
  return %0#0, %1 : tensor<2x3x5xf64>, tensor<5xf64>
})");
  ASSERT_TRUE(pair.isValid());
  pair.check({makeFloats({2, 3, 5}, 1), makeFloats({5}, 2)});
}

TEST(Gradients, LayerNorm) {
  GradientPair pair(R"(
func.func @forward(%x: tensor<4x5xf64>, %w: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<4x5xf64> {
  %0 = sinter.layer_norm %x, %w, %b {eps = 0.01} : (tensor<4x5xf64>, tensor<5xf64>, tensor<5xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @backward(%x: tensor<4x5xf64>, %w: tensor<5xf64>, %b: tensor<5xf64>, %g: tensor<4x5xf64>) -> (tensor<4x5xf64>, tensor<5xf64>, tensor<5xf64>) {
  %0:3 = sinter.layer_norm_grad %x, %w, %g {eps = 0.01} : (tensor<4x5xf64>, tensor<5xf64>, tensor<4x5xf64>) -> (tensor<4x5xf64>, tensor<2x5xf64>, tensor<2x5xf64>)
  %1 = sinter.column_sum %0#1 : (tensor<2x5xf64>) -> tensor<5xf64>
  %2 = sinter.column_sum %0#2 : (tensor<2x5xf64>) -> tensor<5xf64>
  return %0#0, %1, %2 : tensor<4x5xf64>, tensor<5xf64>, tensor<5xf64>
})");
  ASSERT_TRUE(pair.isValid());
  pair.check({makeFloats({4, 5}, 1), makeFloats({5}, 2), makeFloats({5}, 3)});
}

TEST(Gradients, CrossEntropy) {
  for (const char *penalty : {"0.0", "0.3"}) {
    std::string attribute = std::string("{z_loss = ") + penalty + " : f64}";
    GradientPair pair(R"(
func.func @forward(%x: tensor<4x6xf64>, %t: tensor<4xi32>) -> tensor<4xf64> {
  %0 = sinter.cross_entropy %x, %t )" +
                      attribute + R"( : (tensor<4x6xf64>, tensor<4xi32>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @backward(%x: tensor<4x6xf64>, %t: tensor<4xi32>, %g: tensor<4xf64>) -> tensor<4x6xf64> {
  %0 = sinter.cross_entropy_grad %x, %t, %g )" +
                      attribute +
                      R"( : (tensor<4x6xf64>, tensor<4xi32>, tensor<4xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
})");
    ASSERT_TRUE(pair.isValid());
    // Targets before and beyond the vocabulary are ignored.
    pair.check({makeFloats({4, 6}, 1), makeIds({4}, {5, -1, 6, 2})});
  }
}

TEST(Gradients, Embedding) {
  GradientPair pair(R"(
func.func @forward(%w: tensor<4x3xf64>, %i: tensor<2x3xi32>) -> tensor<2x3x3xf64> {
  %0 = sinter.embedding %w, %i : (tensor<4x3xf64>, tensor<2x3xi32>) -> tensor<2x3x3xf64>
  return %0 : tensor<2x3x3xf64>
}
func.func @backward(%w: tensor<4x3xf64>, %i: tensor<2x3xi32>, %g: tensor<2x3x3xf64>) -> tensor<4x3xf64> {
  %0 = sinter.embedding_grad %i, %g {rows = 4 : i64} : (tensor<2x3xi32>, tensor<2x3x3xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
})");
  ASSERT_TRUE(pair.isValid());
  pair.check({makeFloats({4, 3}, 1), makeIds({2, 3}, {1, 3, 1, -5, 9, 1})});
}

TEST(Gradients, Pick) {
  GradientPair pair(R"(
func.func @forward(%x: tensor<4x3xf64>, %i: tensor<4xi32>) -> tensor<4xf64> {
  %0 = sinter.pick %x, %i : (tensor<4x3xf64>, tensor<4xi32>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @backward(%x: tensor<4x3xf64>, %i: tensor<4xi32>, %g: tensor<4xf64>) -> tensor<4x3xf64> {
  %0 = sinter.one_hot %i : (tensor<4xi32>) -> tensor<4x3xf64>
  %1 = sinter.broadcast %g {dims = array<i64: 0>} : (tensor<4xf64>) -> tensor<4x3xf64>
  %2 = sinter.mul %0, %1 : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %2 : tensor<4x3xf64>
})");
  ASSERT_TRUE(pair.isValid());
  pair.check({makeFloats({4, 3}, 1), makeIds({4}, {0, -1, 2, 3})});
}

TEST(Gradients, Dropout) {
  // The same elements are dropped from the gradient.
  GradientPair pair(R"(
func.func @forward(%x: tensor<4x5xf64>, %s: tensor<2xi32>) -> tensor<4x5xf64> {
  %0 = sinter.dropout %x, %s {probability = 0.4, stream = 2 : i64} : (tensor<4x5xf64>, tensor<2xi32>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @backward(%x: tensor<4x5xf64>, %s: tensor<2xi32>, %g: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %0 = sinter.dropout %g, %s {probability = 0.4, stream = 2 : i64} : (tensor<4x5xf64>, tensor<2xi32>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
})");
  ASSERT_TRUE(pair.isValid());
  pair.check({makeFloats({4, 5}, 1), makeIds({2}, {3, 4})});
}
