//===- SpeedPassesTest.cpp - Every speed pass, left out ---------------------===//
//
// Programs compute the same with any of the speed passes left out (compiler/Pipelines/Phases.def).
// For each of them, for inference and training, on a processor and on a GPU, a small model is
// looked for that the pass changes; the pipeline without the pass is then checked with it, graph by
// graph and, on a processor or in the emulator, what comes out. Where a pass changes none of the
// models there is no test, and a pass without any is a failure.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Compilation.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Pipelines/Verify.h"
#include "frontends/Graph/ModelGraph.h"
#include "mlir/IR/OperationSupport.h"
#include "sinter/RunSteps.h"
#include "test/differential/SmallModels.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#ifdef SINTER_TEST_KERNELS
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#endif

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
constexpr const char *kSpeedPasses[] = {
#define SINTER_SPEED_PASS(argument) argument,
#include "compiler/Pipelines/Phases.def"
};

/// What a speed pass may be seen at.
struct Case {
  const char *name;
  const char *config; ///< its text, or the folder of a kept model
  bool onProcessor = true, onGpu = true;
  DType type = DType::F32;
  int64_t batch = 2, chunk = 3;
  /// A pass that such sizes are too small for, made to do its work all the same.
  const char *added = nullptr;

  bool isKept() const { return *config != '{'; }
};

constexpr const char *kWide =
    R"({"model_type": "llama", "vocab_size": 257, "hidden_size": 256, "intermediate_size": 300,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 32})";

/// The cheapest first. Kernels of kept models at these sizes are those of the tests in test/e2e,
/// from which they are compiled for the emulator already.
const Case kCases[] = {
    {"llama", kLlama, true, false},
    {"gpt2", kGpt2, true, false},
    {"turned_experts", "../families/gpt_oss", true, false},
    {"kept_llama", "llama", false},
    {"kept_gpt2", "gpt2", false},
    {"wide_bf16", kWide, false, true, DType::BF16},
    {"bf16_rows", kWide, false, true, DType::BF16, 2, 8},
    {"wide_rows", kWide, false, true, DType::F32, 2, 128},
    {"always", kWide, false, true, DType::F32, 2, 16,
     "after:Autodiff:sinter-align-products{always}"},
};

/// A case with the entries and the target of a test.
class Compiled {
public:
  Compiled(const Case &what, bool training, bool gpu) {
    auto parsed = what.isKept()
                      ? loadModelSpec(std::filesystem::path(SINTER_TEST_MODELS) / what.config)
                      : parseModelSpec(what.config, "a test's model");
    EXPECT_TRUE(parsed) << parsed.error().message();
    request.graph = makeModelGraph(std::move(*parsed));
    CompileOptions &options = request.options;
    options.entries = training ? std::vector<std::string>{"train_step"}
                               : std::vector<std::string>{"prefill", "decode"};
    options.target = gpu ? "cuda:sm_90" : "cpu:x86-64-v3";
    options.computeType = what.type;
    options.cacheType = training ? DType::F32 : what.type;
    options.batch = !what.isKept() ? what.batch : training ? 3 : 2;
    options.chunk = !what.isKept() ? what.chunk : training ? 24 : 7;
    options.maxSequence = training ? options.chunk : what.isKept() ? 23 : 2 * what.chunk;
    options.training.epsilon = 1e-3;
    if (what.added)
      options.addedPasses = {what.added};
  }

  CompileRequest request;
};

/// The speed passes that change what they are given on their way through the pipeline.
std::map<std::string, Phase> findChanging(const CompileRequest &request) {
  std::map<std::string, Phase> changing;
  Compilation compilation(request);
  auto begun = compilation.begin();
  EXPECT_TRUE(begun) << begun.error().message();
  auto steps = compilation.listPasses(Phase::Memory);
  EXPECT_TRUE(steps) << steps.error().message();
  for (const PassStep &step : *steps) {
    OperationFingerPrint before(compilation.getModule());
    auto ran = compilation.run(step);
    EXPECT_TRUE(ran) << ran.error().message();
    if (isSpeedPass(step.argument) && OperationFingerPrint(compilation.getModule()) != before)
      changing.insert({step.argument, step.phase});
  }
  return changing;
}

struct LeftOut {
  std::string pass;
  Phase phase;
  const Case *what;
  bool training, gpu;
};

/// For each speed pass, mode and target the first case that the pass changes, if there is one.
std::vector<LeftOut> findTests() {
  std::vector<LeftOut> tests;
  for (bool gpu : {false, true})
    for (bool training : {false, true}) {
      std::set<std::string> missing(std::begin(kSpeedPasses), std::end(kSpeedPasses));
      for (const Case &what : kCases) {
        if (!(gpu ? what.onGpu : what.onProcessor))
          continue;
        Compiled compiled(what, training, gpu);
        for (const auto &[pass, phase] : findChanging(compiled.request))
          if (missing.erase(pass))
            tests.push_back({pass, phase, &what, training, gpu});
      }
    }
  return tests;
}

std::string nameTest(const LeftOut &test) {
  std::string name = test.pass.substr(std::string("sinter-").size());
  std::ranges::replace(name, '-', '_');
  return name + (test.training ? "_training" : "_inference") + (test.gpu ? "_cuda_" : "_cpu_") +
         test.what->name;
}

/// The pipeline without a pass, beside the reference.
class WithoutPass : public testing::Test {
public:
  explicit WithoutPass(const LeftOut &test) : test(test) {}

  void TestBody() override {
    Compiled compiled(*test.what, test.training, test.gpu);
    // What was made to be done is looked at itself: the pipeline does without it.
    if (!test.what->added)
      compiled.request.options.disabledPasses = {test.pass};
    VerifyOptions options;
#ifdef SINTER_TEST_KERNELS
    std::optional<fake::FakeCuda> fake;
    if (test.gpu && runsInEmulator()) {
      fake.emplace(fake::FakeOptions{.cache = SINTER_TEST_KERNELS});
      options.run = runSteps;
    }
#endif
    if (!test.gpu)
      options.run = runStepsApart;
    auto verdicts = verifyPipeline(compiled.request, options);
    ASSERT_TRUE(verdicts) << verdicts.error().message();
    EXPECT_EQ(verdicts->size(), compiled.request.options.entries.size());
    for (const Verdict &verdict : *verdicts)
      EXPECT_EQ(verdict.outcome, Outcome::Holds)
          << verdict.entry << ": " << verdict.error << " " << verdict.message << " " << verdict.pass
          << " " << verdict.op << " of " << verdict.layer << "\n"
          << verdict.reproducer;
#ifdef SINTER_TEST_KERNELS
    for (const std::string &complaint : fake ? fake->complaints() : std::vector<std::string>())
      ADD_FAILURE() << complaint;
#endif
  }

private:
#ifdef SINTER_TEST_KERNELS
  /// Kernels are what passes behind Fusion change, and the emulator takes its time.
  bool runsInEmulator() const {
    return test.phase > Phase::Fusion && simt::Program::whyNot().empty();
  }
#endif

  LeftOut test;
};

/// A pass that no model shows is a pass that nothing tests.
class EverySpeedPass : public testing::Test {
public:
  explicit EverySpeedPass(const std::vector<LeftOut> &tests) : tests(tests) {}

  void TestBody() override {
    for (const char *pass : kSpeedPasses)
      EXPECT_TRUE(
          std::ranges::any_of(tests, [&](const LeftOut &test) { return test.pass == pass; }))
          << pass << " changes none of the models here: add one to kCases that it does";
  }

private:
  std::vector<LeftOut> tests;
};
} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<LeftOut> tests = findTests();
  for (const LeftOut &test : tests)
    testing::RegisterTest("WithoutPass", nameTest(test).c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [=]() -> testing::Test * { return new WithoutPass(test); });
  testing::RegisterTest("EverySpeedPass", "IsLeftOutSomewhere", nullptr, nullptr, __FILE__,
                        __LINE__, [=]() -> testing::Test * { return new EverySpeedPass(tests); });
  return RUN_ALL_TESTS();
}
