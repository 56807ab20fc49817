//===- AmaxHistoryTest.cpp - Scales of earlier steps' maxima ----------------===//
//
// A small training step in fp8 with histories of maxima, run by the reference evaluator, beside the
// formula of delayed scaling written out here.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Passes.h"
#include "compiler/Precision/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/Base/Float8.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
using Row = std::vector<double>;

// The weight is ones, which fp8 has with any scale here, and the head makes a row's loss 1.5 times
// the sum of what its numbers are rounded to.
constexpr const char *kStep = R"(
func.func @train_step(%in: tensor<1x4xf32> {sinter.input = "x"}, %b: tensor<1x4xf32> {sinter.parameter = "b"},
                      %w: tensor<4x2xf32> {sinter.parameter = "w"}, %head: tensor<2x1xf32> {sinter.parameter = "head"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %x = sinter.add %in, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %0 = sinter.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
  %1 = sinter.matmul %0, %head : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  %2 = sinter.reshape %1 : (tensor<1x1xf32>) -> tensor<1xf32>
  %3 = sinter.reduce sum %2 : (tensor<1xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
)";
// A product of a product, with nothing in between.
constexpr const char *kProducts = R"(
func.func @train_step(%in: tensor<1x4xf32> {sinter.input = "x"}, %b: tensor<1x4xf32> {sinter.parameter = "b"},
                      %v: tensor<4x4xf32> {sinter.parameter = "v"}, %w: tensor<4x2xf32> {sinter.parameter = "w"},
                      %head: tensor<2x1xf32> {sinter.parameter = "head"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  %x = sinter.add %in, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = sinter.matmul %x, %v : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  %0 = sinter.matmul %y, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
  %1 = sinter.matmul %0, %head : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  %2 = sinter.reshape %1 : (tensor<1x1xf32>) -> tensor<1xf32>
  %3 = sinter.reduce sum %2 : (tensor<1xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}
)";
constexpr const char *kHistory = "amax_history.w", *kSoFar = "amax.w";

/// The loss of a row whose scale is of a maximum.
double expectedLoss(const Row &x, double maximum) {
  double sum = 0;
  for (double number : x) {
    double scaled = std::min(std::max(number * 448 / maximum, -448.0), 448.0);
    sum += e4m3ToFloat(floatToE4M3(static_cast<float>(scaled))) * maximum / 448;
  }
  return 1.5 * sum;
}

class AmaxHistoryTest : public testing::Test {
protected:
  void build(const std::string &optimizer, const std::string &scales, const char *step = kStep) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(step, &context);
    PassManager manager(&context, ModuleOp::getOperationName());
    ASSERT_TRUE(
        succeeded(parsePassPipeline("sinter-differentiate,sinter-apply-optimizer{" + optimizer +
                                        "},sinter-quantize-products{" + scales + "}",
                                    manager)));
    ASSERT_TRUE(succeeded(manager.run(*module)));
    states = {{"b", Row(4, 0)}, {"v", Row(16, 1)}, {"w", Row(8, 1)}, {"head", {1, 0.5}}};
  }

  /// Runs an entry, on a row where it reads one, at a rate of zero; returns the loss.
  double run(llvm::StringRef entry, const Row &x = {}) {
    auto function = module->lookupSymbol<func::FuncOp>(entry);
    SmallVector<ReferenceTensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      ReferenceTensor &value =
          arguments.emplace_back(cast<RankedTensorType>(function.getArgumentTypes()[i]));
      if (auto state = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kState)) {
        states[state.str()].resize(value.getNumElements());
        llvm::copy(states[state.str()], value.data().begin());
      } else if (function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput) == "x") {
        llvm::copy(x, value.data().begin());
      }
    }
    auto results = evaluateFunction(function, arguments);
    double loss = 0;
    for (auto [i, result] : llvm::enumerate(results))
      if (auto state = function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState))
        states[state.str()].assign(result.data().begin(), result.data().end());
      else if (function.getResultAttrOfType<StringAttr>(i, SinterDialect::kOutput) == "loss")
        loss = result[0];
    return loss;
  }

  void expectStep(const Row &x, double maximum) {
    EXPECT_NEAR(run("train_step", x), expectedLoss(x, maximum), 1e-3);
  }

  void expectHistory(const std::string &parameter, const Row &expected) {
    const Row &history = states["amax_history." + parameter];
    ASSERT_EQ(history.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(history[i], expected[i], 1e-5) << parameter << " " << i;
  }

  /// How many values are rounded to a type.
  template <typename Element> size_t countRounded() {
    size_t count = 0;
    module->walk([&](CastOp cast) { count += isa<Element>(getElementTypeOrSelf(cast.getType())); });
    return count;
  }

  std::map<std::string, Row> states;

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

// Rows of the state: the activation, the weight and the gradient, whose maximum is the head's.
TEST_F(AmaxHistoryTest, ScalesAreOfTheStepsBefore) {
  build("optimizer=sgd momentum=0", "scales=history history=2");
  expectStep({1000, 3.3, -0.7, 0.01}, 448); // none before: a scale of one, and 1000 saturates
  EXPECT_EQ(states[kHistory], (Row{1000, 0, 1, 0, 1, 0}));
  expectStep({10, 3.3, -0.7, 0.01}, 1000);
  EXPECT_EQ(states[kHistory], (Row{10, 1000, 1, 1, 1, 1}));
  expectStep({-3.125, 2.2, 1.7, 0.4}, 1000); // the larger of two
  expectStep({-30, 2.2, 1.7, 0.4}, 10);      // 1000 is of three steps ago; -30 saturates
  EXPECT_EQ(states[kHistory], (Row{30, 3.125, 1, 1, 1, 1}));
}

TEST_F(AmaxHistoryTest, MarginsLeaveRoom) {
  build("optimizer=sgd momentum=0", "scales=history history=1 margin=2");
  expectStep({5, 3.3, -0.7, 0.01}, 448);
  expectStep({19, 3.3, -0.7, 0.01}, 20);
  EXPECT_EQ(states[kHistory], (Row{19, 1, 1}));
}

// The optimizer leaves such a step out; what comes next has the scales of those before it.
TEST_F(AmaxHistoryTest, OverflowIsNotKept) {
  build("optimizer=sgd momentum=0", "scales=history history=2");
  expectStep({5, 3.3, -0.7, 0.01}, 448);
  EXPECT_FALSE(std::isfinite(run("train_step", {INFINITY, 3.3, -0.7, 0.01})));
  EXPECT_EQ(states[kHistory], (Row{0, 5, 1, 1, 1, 1}));
  expectStep({4, 3.3, -0.7, 0.01}, 5);
}

TEST_F(AmaxHistoryTest, MicrobatchesOfAStepAreOne) {
  build("optimizer=sgd momentum=0 accumulate=2 leaves=1", "scales=history history=2");
  Row large = {50, 3.3, -0.7, 0.01}, small = {5, 3.3, -0.7, 0.01};
  EXPECT_NEAR(run("accumulate", large), expectedLoss(large, 448), 1e-3);
  EXPECT_NEAR(run("accumulate", small), expectedLoss(small, 448), 1e-3);
  EXPECT_EQ(states[kSoFar], (Row{50, 1, 1}));
  run("update");
  EXPECT_EQ(states[kSoFar], (Row{0, 0, 0}));
  EXPECT_EQ(states[kHistory], (Row{50, 0, 1, 0, 1, 0}));
  EXPECT_NEAR(run("accumulate", small), expectedLoss(small, 50), 1e-3);
  EXPECT_NEAR(run("accumulate", small), expectedLoss(small, 50), 1e-3);
  run("update");
  EXPECT_EQ(states[kHistory], (Row{5, 50, 1, 1, 1, 1}));
}

TEST_F(AmaxHistoryTest, ProductsOfProductsAreScaledBefore) {
  build("optimizer=sgd momentum=0", "scales=history history=1", kProducts);
  EXPECT_EQ(countRounded<Float8E5M2Type>(), 2u);
  EXPECT_EQ(countRounded<Float8E4M3FNType>(), 4u);
  run("train_step", {4, 2, 1, -0.5});
  expectHistory("v", {4, 1, 1.5});
  expectHistory("w", {6.5, 1, 1});
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  registerAutodiffPasses();
  registerPrecisionPasses();
  return RUN_ALL_TESTS();
}
