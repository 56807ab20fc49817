//===- OptimizerStepsTest.cpp - Compiled updates of parameters --------------===//
//
// The steps of test/support/OptimizerSteps.h through the whole compiler and the runtime, in f32: in
// one program and with gradients accumulated, on one thread and on three. With states of bf16 they
// are nearly the same, and the same bits for the same seeds.
//
//===----------------------------------------------------------------------===//

#include "test/support/OptimizerSteps.h"
#include "compiler/Pipelines/Compile.h"
#include "frontends/Graph/TextGraph.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/GradientTree.h"
#include "runtime/Train/TrainPrograms.h"
#include "test/support/TestCache.h"
#include "test/support/ValueOf.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::test;

namespace {
/// The table of kSteppedParameters: ids choose its rows, all of them in order.
constexpr size_t kTable = 2;

/// An entry whose loss is the sum of all parameters times inputs `g<k>`, which are its gradients.
std::string makeEntry(const std::string &name, const std::string &attributes) {
  std::string arguments, body, loss;
  for (size_t k = 0; k < kSteppedParameters.size(); ++k) {
    const SteppedParameter &parameter = kSteppedParameters[k];
    std::string type = parameter.type(), number = std::to_string(k);
    arguments += (k == 0 ? "" : ", ") + ("%p" + number) + ": " + type + " {sinter.parameter = \"" +
                 parameter.name + "\"}, %g" + number + ": " + type + " {sinter.input = \"g" +
                 number + "\"}";
    std::string flat = "tensor<" + std::to_string(parameter.count()) + "xf32>";
    std::string value = "%p" + number;
    if (k == kTable) {
      body += "%ids = sinter.constant dense<[0, 1, 2, 3]> : tensor<4xi32>\n%rows = "
              "sinter.embedding " +
              value + ", %ids : (" + type + ", tensor<4xi32>) -> " + type + "\n";
      value = "%rows";
    }
    body += "%m" + number + " = sinter.mul " + value + ", %g" + number + " : (" + type + ", " +
            type + ") -> " + type + "\n%f" + number + " = sinter.reshape %m" + number + " : (" +
            type + ") -> " + flat + "\n%s" + number + " = sinter.reduce sum %f" + number + " : (" +
            flat + ") -> tensor<f32>\n";
    if (k > 0)
      body += "%t" + number + " = sinter.add " + loss + ", %s" + number +
              " : (tensor<f32>, tensor<f32>) -> tensor<f32>\n";
    loss = (k == 0 ? "%s" : "%t") + number;
  }
  return "func.func @" + name + "(" + arguments +
         ") -> (tensor<f32> {sinter.output = \"loss\"}) attributes {sinter.entry" + attributes +
         "} {\n" + body + "return " + loss + " : tensor<f32>\n}\n";
}

class CompiledRun {
public:
  CompiledRun(const OptimizerSteps &steps, int64_t accumulate, unsigned threads,
              const std::string &stateType = "f32") {
    CompileRequest request;
    request.kernelCache = kernelCache();
    request.graph =
        makeTextGraph(makeEntry("train_step", ", sinter.differentiate") + makeEntry("evaluate", ""),
                      "steps.mlir");
    TrainingOptions &training = request.options.training;
    training.optimizer = steps.optimizer;
    training.stateType = stateType;
    training.momentum = steps.momentum;
    training.nesterov = steps.nesterov;
    training.relativeStep = training.scaleParameter = steps.relativeStep;
    training.gradientClip = steps.gradientClip;
    EXPECT_TRUE(readOption(steps.noDecay, training.noDecay));
    training.accumulate = accumulate;
    auto executable = valueOf(runtime::Executable::fromFlatbuffer(
        valueOf(compile(request)).executable, "the executable"));
    runtime::BindOptions options;
    options.threads = threads;
    session = valueOf(runtime::Session::bind(executable, options));
    for (size_t k = 0; k < kSteppedParameters.size(); ++k) {
      std::span<float> values = parameter(k);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(initialValue(k, i));
    }
  }

  std::span<float> parameter(size_t k) {
    return valueOf(session->state(kSteppedParameters[k].name)).as<float>();
  }

  /// Runs a program with the gradients of a step times `share`; those that it has no input for are
  /// not its business.
  void run(const std::string &name, int step, double share = 1) {
    size_t program = valueOf(session->program(name));
    auto set = [&](const std::string &input, auto value) {
      if (auto view = session->input(program, input, DType::F32)) {
        std::span<float> numbers = view->as<float>();
        for (size_t i = 0; i < numbers.size(); ++i)
          numbers[i] = static_cast<float>(value(i));
      }
    };
    for (size_t k = 0; k < kSteppedParameters.size(); ++k)
      set("g" + std::to_string(k), [&](size_t i) { return share * gradientValue(k, i, step); });
    for (const char *input :
         {"learning_rate", "adamw_learning_rate", "bias_correction1", "bias_correction2", "update"})
      set(input, [&](size_t) { return stepInput(input, step); });
    if (auto words = session->input(program, "seed", DType::I32)) {
      words->as<int32_t>()[0] = seed;
      words->as<int32_t>()[1] = step;
    }
    Expected<void> done = session->run(program);
    EXPECT_TRUE(done) << done.error().message();
  }

  /// The bytes of all states.
  std::vector<std::byte> getStates() {
    std::vector<std::byte> all;
    for (const fb::Binding *state : *session->getExecutable().getRoot().states()) {
      std::span<const std::byte> bytes = valueOf(session->state(state->name()->str())).bytes;
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  int32_t seed = 1;

  double output(const char *program, const char *name) {
    return valueOf(session->output(valueOf(session->program(program)), name, DType::F32))
        .as<float>()[0];
  }

  /// All steps; the parameters after them.
  std::vector<float> runAll(int64_t accumulate) {
    for (int step = 1; step <= 5; ++step) {
      if (accumulate == 1) {
        run("train_step", step);
      } else {
        const double shares[] = {0.5, 0.25, 0.25};
        auto tree = valueOf(runtime::GradientTree::make(std::size(shares), /*leaves=*/8, 1));
        for (size_t i = 0; i < std::size(shares); ++i) {
          run("accumulate", step, shares[i]);
          for (uint64_t carry = 1; carry <= tree.carriesAfter(i); ++carry)
            run(runtime::carryProgram(carry), step);
        }
        run("update", step);
      }
      EXPECT_NEAR(output(accumulate == 1 ? "train_step" : "update", "grad_norm"),
                  kGradientNorms[step - 1], 1e-5);
    }
    std::vector<float> all;
    for (size_t k = 0; k < kSteppedParameters.size(); ++k)
      all.insert(all.end(), parameter(k).begin(), parameter(k).end());
    return all;
  }

private:
  std::unique_ptr<runtime::Session> session;
};

class CompiledOptimizer : public testing::TestWithParam<OptimizerSteps> {};

TEST_P(CompiledOptimizer, StepsAreThoseOfPyTorch) {
  std::vector<double> expected;
  for (const std::vector<double> &numbers : GetParam().expected)
    expected.insert(expected.end(), numbers.begin(), numbers.end());
  for (int64_t accumulate : {1, 3}) {
    CompiledRun one(GetParam(), accumulate, /*threads=*/1);
    std::vector<float> values = one.runAll(accumulate);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 2e-5) << i << " with " << accumulate;
    CompiledRun three(GetParam(), accumulate, /*threads=*/3);
    EXPECT_EQ(three.runAll(accumulate), values);

    // What is read only is what was updated.
    one.run("evaluate", 1);
    double loss = 0;
    size_t at = 0;
    for (size_t k = 0; k < kSteppedParameters.size(); ++k)
      for (int64_t i = 0; i < kSteppedParameters[k].count(); ++i)
        loss += values[at++] * gradientValue(k, i, 1);
    EXPECT_NEAR(one.output("evaluate", "loss"), loss, 1e-4);
  }
}

TEST_P(CompiledOptimizer, NarrowStates) {
  bool rounds = GetParam().optimizer == "adamw" || GetParam().optimizer == "muon";
  if (GetParam().optimizer == "adafactor")
    GTEST_SKIP() << "its states are f32";
  for (int64_t accumulate : {1, 3}) {
    CompiledRun wide(GetParam(), accumulate, /*threads=*/1);
    CompiledRun one(GetParam(), accumulate, /*threads=*/1, "bf16");
    CompiledRun three(GetParam(), accumulate, /*threads=*/3, "bf16");
    CompiledRun other(GetParam(), accumulate, /*threads=*/1, "bf16");
    other.seed = 2;
    std::vector<float> expected = wide.runAll(accumulate), values = one.runAll(accumulate);
    // Muon makes what rounding adds to a matrix of a lower rank as large as all else.
    double tolerance = GetParam().optimizer == "muon" ? 3e-2 : 1e-3;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], tolerance) << i << " with " << accumulate;
    EXPECT_EQ(three.runAll(accumulate), values);
    EXPECT_EQ(three.getStates(), one.getStates());
    other.runAll(accumulate);
    EXPECT_EQ(other.getStates() != one.getStates(), rounds);
    // Two bytes less a state and element.
    size_t perParameter = GetParam().optimizer == "adamw" ? 2 : GetParam().momentum > 0 ? 1 : 0;
    size_t kept = perParameter * values.size();
    if (GetParam().optimizer == "muon") // AdamW's for the table and the bias
      for (size_t k : {kTable, kTable + 1})
        kept += kSteppedParameters[k].count();
    EXPECT_EQ(wide.getStates().size() - one.getStates().size(), 2 * kept);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledOptimizer, testing::ValuesIn(kOptimizerSteps),
                         [](const auto &info) { return info.param.name; });
} // namespace
