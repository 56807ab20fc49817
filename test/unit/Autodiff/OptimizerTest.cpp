//===- OptimizerTest.cpp - Steps of every optimizer -------------------------===//
//
// Five steps from given parameters with given gradients, which change from step to step, as does
// the learning rate: what ApplyOptimizer builds, run by the reference evaluator, against numbers
// from torch.optim.AdamW and SGD, transformers' Adafactor and Muon written in PyTorch, all in
// double precision after torch.nn.utils.clip_grad_norm_. The parameters are
//
//   wide.weight [3, 5], tall.weight [6, 2], embed.weight [4, 3], bias [5],
//
// element i of parameter k is cos(0.3 i + k) at first, and its gradient at step t (from 1) is
// (1 + 0.1 i) sin(0.7 i + 1.3 t + 0.5 k); the learning rate is 0.01 t and weight decay 0.1.
// Constants of the graph are f32: 1e-6 is what they and nine decimals of the numbers leave.
//
//===----------------------------------------------------------------------===//

#include "compiler/Autodiff/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
using Expected = std::vector<std::vector<double>>;

const std::vector<std::pair<std::string, std::vector<int64_t>>> kParameters = {
    {"wide.weight", {3, 5}}, {"tall.weight", {6, 2}}, {"embed.weight", {4, 3}}, {"bias", {5}}};

/// A training run by the reference evaluator. Gradients come in as inputs `g<k>`.
class TrainingRun {
public:
  explicit TrainingRun(const std::string &options, bool scalesLoss = false) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    std::string arguments, results, returned, types;
    for (auto [k, parameter] : llvm::enumerate(kParameters)) {
      auto &[name, shape] = parameter;
      std::string type = "tensor<";
      for (int64_t extent : shape)
        type += std::to_string(extent) + "x";
      type += "f32>";
      std::string number = std::to_string(k), comma = k == 0 ? "" : ", ";
      arguments += comma + "%p" + number + ": " + type + " {sinter.parameter = \"" + name +
                   "\"}, %g" + number + ": " + type + " {sinter.input = \"g" + number + "\"}";
      results += comma + type + " {sinter.gradient = \"" + name + "\"}";
      returned += comma + "%g" + number;
      types += comma + type;
    }
    if (scalesLoss)
      arguments += ", %s: tensor<f32> {sinter.input = \"loss_scale\"}";
    module = parseSourceString<ModuleOp>("func.func @train_step(" + arguments + ") -> (" + results +
                                             ") attributes {sinter.entry} { return " + returned +
                                             " : " + types + " }",
                                         &context);
    EXPECT_TRUE(module);
    PassManager manager(&context, ModuleOp::getOperationName());
    EXPECT_TRUE(succeeded(parsePassPipeline("sinter-apply-optimizer{" + options + "}", manager)));
    EXPECT_TRUE(succeeded(manager.run(*module)));
    for (auto [k, parameter] : llvm::enumerate(kParameters))
      for (int64_t i = 0, end = count(k); i < end; ++i)
        states[parameter.first].push_back(std::cos(0.3 * i + k));
  }

  static int64_t count(size_t k) {
    int64_t elements = 1;
    for (int64_t extent : kParameters[k].second)
      elements *= extent;
    return elements;
  }

  static double gradient(size_t k, int64_t i, int step) {
    return (1 + 0.1 * i) * std::sin(0.7 * i + 1.3 * step + 0.5 * k);
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
          value[e] = scale * gradient(std::stoul(input.str()), e, step);
      else
        value[0] = input == "learning_rate"      ? 0.01 * step
                   : input == "bias_correction1" ? 1 - std::pow(0.9, step)
                   : input == "bias_correction2" ? 1 - std::pow(0.95, step)
                   : input == "update"           ? step
                   : input == "loss_scale"       ? lossScale
                                                 : std::nan("");
    }
    auto results = evaluateFunction(function, arguments);
    for (auto [i, result] : llvm::enumerate(results))
      if (auto state = function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState))
        states[state.str()].assign(result.data().begin(), result.data().end());
      else if (function.getResultAttrOfType<StringAttr>(i, SinterDialect::kOutput) == "grad_norm")
        norm = result[0];
  }

  /// Compares the parameters with numbers, in the order of kParameters.
  void expectParameters(const Expected &expected, double tolerance = 1e-6) {
    for (auto [k, parameter] : llvm::enumerate(kParameters))
      for (int64_t i = 0; i < count(k); ++i)
        EXPECT_NEAR(states[parameter.first][i], expected[k][i], tolerance)
            << parameter.first << " " << i;
  }

  Expected getParameters() {
    Expected numbers;
    for (const auto &[name, shape] : kParameters)
      numbers.push_back(states[name]);
    return numbers;
  }

  std::map<std::string, std::vector<double>> states;
  double norm = 0, lossScale = 1;

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

void expectSteps(const std::string &options, const Expected &expected) {
  constexpr double kNorms[] = {7.482391468, 7.589352996, 7.545382319, 7.514066143, 7.611497846};
  TrainingRun run(options);
  for (int step = 1; step <= 5; ++step) {
    run.run("train_step", step);
    EXPECT_NEAR(run.norm, kNorms[step - 1], 1e-6);
  }
  run.expectParameters(expected);
}
} // namespace

TEST(Optimizers, AdamW) {
  const Expected expected = {
      {0.956174124, 0.935793101, 0.835504504, 0.664233875, 0.39553726, 0.087370826, -0.233273031,
       -0.528183997, -0.773306393, -0.919000062, -0.979859438, -0.949732692, -0.831590412,
       -0.676975176, -0.465824897},
      {0.519452282, 0.278735026, 0.023170467, -0.274746535, -0.555603034, -0.790293523,
       -0.955195009, -1.034601958, -0.986583901, -0.847638204, -0.628009389, -0.342803448},
      {-0.40914955, -0.636026848, -0.808233237, -0.940399606, -0.991207588, -0.957699014,
       -0.843657753, -0.615036512, -0.326711263, -0.004678075, 0.314191847, 0.602705376},
      {-0.964290573, -0.935801659, -0.860433925, -0.711411075, -0.503887138}};
  expectSteps("optimizer=adamw no-decay=embed", expected);
}

TEST(Optimizers, Momentum) {
  const Expected expected = {
      {0.922063736, 0.924467806, 0.847146469, 0.676292452, 0.412878212, 0.081347914, -0.270976943,
       -0.585422181, -0.810438792, -0.91894961, -0.916219193, -0.833959703, -0.71299259,
       -0.582698551, -0.447587278},
      {0.514801425, 0.300510121, 0.048393432, -0.23565117, -0.530438074, -0.797279293, -0.98786197,
       -1.060087854, -0.995034344, -0.806651489, -0.538555916, -0.248251332},
      {-0.365891345, -0.569012159, -0.743434078, -0.882039094, -0.965505922, -0.965606842,
       -0.857079029, -0.63280987, -0.314404757, 0.04843171, 0.391226914, 0.655932749},
      {-0.935053252, -0.91559524, -0.842728446, -0.721350547, -0.545748018}};
  expectSteps("optimizer=sgd grad-clip=0", expected);
}

TEST(Optimizers, Nesterov) {
  const Expected expected = {
      {0.942899258, 0.902516473, 0.781223988, 0.589181686, 0.343289027, 0.065876532, -0.217401807,
       -0.480261655, -0.698641947, -0.853205173, -0.931059244, -0.926514768, -0.840978712,
       -0.682292172, -0.463854701},
      {0.510498262, 0.254640037, -0.02470703, -0.302990269, -0.555190185, -0.758062243, -0.89252494,
       -0.945846087, -0.913191072, -0.798167746, -0.612228794, -0.373091145},
      {-0.390654043, -0.625775404, -0.806010916, -0.915288933, -0.943309793, -0.88667897,
       -0.749644522, -0.54416172, -0.289040645, -0.008113357, 0.272372758, 0.526683847},
      {-0.987382356, -0.984805997, -0.895428736, -0.726888727, -0.49338768}};
  expectSteps("optimizer=sgd nesterov=true", expected);
}

TEST(Optimizers, PlainDescent) {
  const Expected expected = {
      {0.988448957, 0.940971384, 0.808794879, 0.605464772, 0.350565411, 0.067144284, -0.220654027,
       -0.489305201, -0.716974373, -0.884329489, -0.97561732, -0.980295925, -0.895043682,
       -0.725489529, -0.486803724},
      {0.53320254, 0.260587151, -0.034790627, -0.325001574, -0.583456139, -0.787772828,
       -0.921583507, -0.975140772, -0.945060641, -0.833796748, -0.64936223, -0.405431206},
      {-0.411620954, -0.661350687, -0.850455112, -0.961070512, -0.983568703, -0.917456313,
       -0.770771125, -0.558303274, -0.299326392, -0.015559613, 0.270225103, 0.535027978},
      {-0.993865611, -0.993332809, -0.901877919, -0.727498901, -0.486868805}};
  expectSteps("optimizer=sgd momentum=0", expected);
}

TEST(Optimizers, Adafactor) {
  const Expected expected = {
      {0.996478883, 0.948992828, 0.813761923, 0.618316525, 0.360048907, 0.070272179, -0.224282294,
       -0.50056922, -0.734092292, -0.899943729, -0.986290484, -0.985166879, -0.889963025,
       -0.723263457, -0.488825803},
      {0.538037775, 0.265904221, -0.029646579, -0.319623087, -0.586726877, -0.798027654,
       -0.935821154, -0.999339339, -0.96281371, -0.845377926, -0.655874409, -0.399416453},
      {-0.417998262, -0.665709819, -0.85298977, -0.967352137, -0.99338792, -0.932380681,
       -0.787362464, -0.573163099, -0.306499442, -0.015644676, 0.281098668, 0.553435839},
      {-0.995288711, -0.984183656, -0.897498538, -0.725830165, -0.488214488}};
  expectSteps("optimizer=adafactor", expected);
}

TEST(Optimizers, Muon) {
  const Expected expected = {
      {0.972018114, 0.941078124, 0.8167956, 0.607535508, 0.338935345, 0.047013894, -0.226049402,
       -0.489755273, -0.725808581, -0.905779361, -0.985103335, -0.975226452, -0.882244482,
       -0.716322043, -0.489309293},
      {0.535363458, 0.262311308, -0.027200289, -0.324457088, -0.583421922, -0.78987346,
       -0.931584155, -0.976750784, -0.948932643, -0.831801319, -0.638404832, -0.402641147},
      {-0.402923988, -0.626360653, -0.796039599, -0.926342141, -0.976494601, -0.943580782,
       -0.831255386, -0.605946109, -0.321817834, -0.004482861, 0.309685175, 0.593852061},
      {-0.964290573, -0.935801659, -0.860433925, -0.711411075, -0.503887138}};
  expectSteps("optimizer=muon momentum=0.95", expected);
}

TEST(Optimizers, AccumulateIsOneStepOfTheSum) {
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon"}) {
    std::string options = std::string("optimizer=") + optimizer;
    TrainingRun whole(options), parts(options + " accumulate=4");
    for (int step = 1; step <= 3; ++step) {
      whole.run("train_step", step);
      for (double share : {0.5, 0.25, 0.125, 0.125})
        parts.run("accumulate", step, share);
      parts.run("update", step);
      EXPECT_NEAR(parts.norm, whole.norm, 1e-9);
      for (double sum : parts.states["gradient.wide.weight"])
        EXPECT_EQ(sum, 0);
      for (double sum : parts.states["gradient.bias"])
        EXPECT_EQ(sum, 0);
    }
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

TEST(Optimizers, OverflowChangesNothing) {
  for (const char *optimizer : {"adamw", "sgd", "adafactor", "muon"})
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
