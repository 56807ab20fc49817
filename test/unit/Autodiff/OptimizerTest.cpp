//===- OptimizerTest.cpp - Steps of every optimizer -------------------------===//
//
// What ApplyOptimizer builds, run by the reference evaluator in double precision.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/Train/GradientTree.h"
#include "test/support/OptimizerSteps.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
using Numbers = std::vector<std::vector<double>>;

/// Ids choose rows of the table, as the optimizer is to see.
constexpr const char *kEmbedding = R"(
  %ids = sinter.constant dense<0> : tensor<4xi32>
  %rows = sinter.embedding %p2, %ids : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4x3xf32>
)";

/// A training run by the reference evaluator. Gradients come in as inputs `g<k>`.
class TrainingRun {
public:
  explicit TrainingRun(const std::string &options, bool scalesLoss = false) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    std::string arguments, results, returned, types;
    for (auto [k, parameter] : llvm::enumerate(kSteppedParameters)) {
      std::string type = parameter.type();
      std::string number = std::to_string(k), comma = k == 0 ? "" : ", ";
      arguments += comma + "%p" + number + ": " + type + " {sinter.parameter = \"" +
                   parameter.name + "\"}, %g" + number + ": " + type + " {sinter.input = \"g" +
                   number + "\"}";
      results += comma + type + " {sinter.gradient = \"" + parameter.name + "\"}";
      returned += comma + "%g" + number;
      types += comma + type;
    }
    if (scalesLoss)
      arguments += ", %s: tensor<f32> {sinter.input = \"loss_scale\"}";
    module = parseSourceString<ModuleOp>("func.func @train_step(" + arguments + ") -> (" + results +
                                             ") attributes {sinter.entry} {" + kEmbedding +
                                             "return " + returned + " : " + types + " }",
                                         &context);
    EXPECT_TRUE(module);
    PassManager manager(&context, ModuleOp::getOperationName());
    EXPECT_TRUE(succeeded(parsePassPipeline("sinter-apply-optimizer{" + options + "}", manager)));
    EXPECT_TRUE(succeeded(manager.run(*module)));
    for (auto [k, parameter] : llvm::enumerate(kSteppedParameters))
      for (int64_t i = 0; i < parameter.count(); ++i)
        states[parameter.name].push_back(initialValue(k, i));
  }

  /// Runs an entry with the gradients of a step times `scale`.
  void run(llvm::StringRef entry, int step, double scale = 1) {
    auto function = module->lookupSymbol<func::FuncOp>(entry);
    ASSERT_TRUE(function) << entry.str();
    SmallVector<ReferenceTensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      ReferenceTensor &value =
          arguments.emplace_back(cast<RankedTensorType>(function.getArgumentTypes()[i]));
      auto state = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kState);
      if (state) {
        std::vector<double> &numbers = states[state.str()];
        numbers.resize(value.getNumElements());
        llvm::copy(numbers, value.data().begin());
        continue;
      }
      auto input = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput).getValue();
      if (input.consume_front("g"))
        for (int64_t e = 0; e < value.getNumElements(); ++e)
          value[e] = scale * gradientValue(std::stoul(input.str()), e, step);
      else if (input == "seed")
        value[0] = seed, value[1] = step;
      else
        value[0] = input == "loss_scale" ? lossScale : stepInput(input, step);
    }
    auto results = evaluateFunction(function, arguments);
    for (auto [i, result] : llvm::enumerate(results))
      if (auto state = function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState))
        states[state.str()].assign(result.data().begin(), result.data().end());
      else if (function.getResultAttrOfType<StringAttr>(i, SinterDialect::kOutput) == "grad_norm")
        norm = result[0];
  }

  /// Compares the parameters with numbers, in the order of kSteppedParameters.
  void expectParameters(const Numbers &expected, double tolerance) {
    for (auto [k, parameter] : llvm::enumerate(kSteppedParameters))
      for (int64_t i = 0; i < parameter.count(); ++i)
        EXPECT_NEAR(states[parameter.name][i], expected[k][i], tolerance)
            << parameter.name << " " << i;
  }

  Numbers getParameters() {
    Numbers numbers;
    for (const SteppedParameter &parameter : kSteppedParameters)
      numbers.push_back(states[parameter.name]);
    return numbers;
  }

  std::map<std::string, std::vector<double>> states;
  double norm = 0, lossScale = 1, seed = 0;

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

class OptimizerStepsTest : public testing::TestWithParam<OptimizerSteps> {};

TEST_P(OptimizerStepsTest, AreThoseOfPyTorch) {
  const OptimizerSteps &steps = GetParam();
  std::string options = "optimizer=" + steps.optimizer +
                        " momentum=" + std::to_string(steps.momentum) +
                        " nesterov=" + (steps.nesterov ? "true" : "false") +
                        " grad-clip=" + std::to_string(steps.gradientClip) +
                        (steps.relativeStep ? "" : " relative-step=false scale-parameter=false");
  if (!steps.noDecay.empty())
    options += " no-decay=" + steps.noDecay;
  TrainingRun run(options);
  for (int step = 1; step <= 5; ++step) {
    run.run("train_step", step);
    EXPECT_NEAR(run.norm, kGradientNorms[step - 1], 1e-6);
  }
  // Constants of the graph are f32.
  run.expectParameters(steps.expected, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerStepsTest, testing::ValuesIn(kOptimizerSteps),
                         [](const auto &info) { return info.param.name; });

TEST(Optimizers, AccumulateIsOneStepOfTheSum) {
  const double shares[] = {0.5, 0.25, 0.125, 0.0625, 0.0625};
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon"})
    for (uint64_t leaves : {1, 2, 8}) {
      std::string options = std::string("optimizer=") + optimizer;
      TrainingRun whole(options), parts(options + " accumulate=5 leaves=" + std::to_string(leaves));
      auto tree = runtime::GradientTree::make(std::size(shares), leaves, /*ranks=*/1);
      for (int step = 1; step <= 3; ++step) {
        whole.run("train_step", step);
        for (auto [i, share] : llvm::enumerate(shares)) {
          parts.run("accumulate", step, share);
          for (uint64_t carry = 1; carry <= tree->carriesAfter(i); ++carry)
            parts.run(runtime::carryProgram(carry), step);
        }
        parts.run("update", step);
        EXPECT_NEAR(parts.norm, whole.norm, 1e-9);
        for (const auto &[name, values] : parts.states)
          if (name.starts_with("gradient"))
            for (double sum : values)
              EXPECT_EQ(sum, 0) << name;
      }
      EXPECT_EQ(parts.states.contains("gradient.bias"), true);
      EXPECT_EQ(parts.states.contains("gradient0.bias"), leaves > 1);
      EXPECT_EQ(parts.states.contains("gradient1.bias"), leaves > 2);
      parts.expectParameters(whole.getParameters(), 1e-12);
    }
}

TEST(Optimizers, LossScaleCancels) {
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon"}) {
    std::string options = std::string("optimizer=") + optimizer;
    TrainingRun plain(options), scaled(options, /*scalesLoss=*/true);
    scaled.lossScale = 1024;
    for (int step = 1; step <= 3; ++step) {
      plain.run("train_step", step);
      scaled.run("train_step", step, 1024);
      EXPECT_NEAR(scaled.norm, plain.norm, 1e-9);
    }
    scaled.expectParameters(plain.getParameters(), 1e-12);
  }
}

/// Whether bf16 has a number.
static bool isNarrow(double value) {
  return (std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffff) == 0 &&
         static_cast<float>(value) == value;
}

TEST(Optimizers, NarrowStatesGiveNearlyTheSameSteps) {
  for (std::string options : {"optimizer=adamw", "optimizer=sgd", "optimizer=sgd nesterov=true",
                              "optimizer=muon", "optimizer=muon accumulate=2"}) {
    TrainingRun wide(options), narrow(options + " state-dtype=bf16");
    bool accumulates = options.ends_with("accumulate=2");
    for (int step = 1; step <= 5; ++step)
      for (TrainingRun *run : {&wide, &narrow}) {
        run->run(accumulates ? "accumulate" : "train_step", step);
        if (accumulates)
          run->run("update", step);
      }
    // Five steps move a parameter by 0.15 at most. Muon makes what rounding adds to a matrix of a
    // lower rank as large as all else.
    narrow.expectParameters(wide.getParameters(),
                            options.starts_with("optimizer=muon") ? 3e-2 : 1e-3);
    EXPECT_NE(narrow.getParameters(), wide.getParameters());
    for (const auto &[name, values] : narrow.states)
      if (name.starts_with("adamw.") || name.starts_with("sgd.") || name.starts_with("muon."))
        for (size_t i = 0; i < values.size(); ++i) {
          EXPECT_TRUE(isNarrow(values[i])) << name << " " << values[i];
          EXPECT_NEAR(values[i], wide.states[name][i], 0.04 * std::abs(values[i]) + 1e-4) << name;
        }
  }
}

// An update of a thousandth of the difference is less than half of bf16's last place long before
// the mean squared gradient is reached: rounded to nearest it would stay at 0.4 of it.
TEST(Optimizers, NarrowSecondMomentsFollowSmallUpdates) {
  TrainingRun run("optimizer=adamw beta2=0.999 grad-clip=0 state-dtype=bf16");
  constexpr int kSteps = 3000;
  for (int step = 0; step < kSteps; ++step) {
    run.seed = step;
    run.run("train_step", 1);
  }
  double ratio = 0, count = 0;
  for (auto [k, parameter] : llvm::enumerate(kSteppedParameters))
    for (int64_t i = 0; i < parameter.count(); ++i, ++count)
      ratio += run.states["adamw.v." + parameter.name][i] / std::pow(gradientValue(k, i, 1), 2);
  EXPECT_NEAR(ratio / count, 1 - std::pow(0.999, kSteps), 0.01);
}

TEST(Optimizers, OverflowChangesNothing) {
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon", "adamw state-dtype=bf16",
                                "sgd state-dtype=bf16", "muon state-dtype=bf16"})
    for (double factor : {std::nan(""), HUGE_VAL}) {
      TrainingRun run(std::string("optimizer=") + optimizer);
      run.run("train_step", 1);
      auto before = run.states;
      run.run("train_step", 2, factor);
      EXPECT_FALSE(std::isfinite(run.norm));
      EXPECT_EQ(run.states, before) << optimizer;
    }
}

int main(int argc, char **argv) {
  registerAutodiffPasses();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
