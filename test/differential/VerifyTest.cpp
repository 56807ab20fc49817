//===- VerifyTest.cpp - Checks that find what is wrong ----------------------===//
//
// Every pass of test/plugin/PlantedDefects.cpp makes one mistake. Each is run by itself
// (verifyPass) and inside a pipeline (verifyPipeline), and must be found, named with its op and its
// layer, and shown by a module that is smaller than the model and still shows it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Verify.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Reference/Differential.h"
#include "frontends/Graph/ModelGraph.h"
#include "frontends/Graph/TextGraph.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "sinter/RunSteps.h"
#include "test/differential/SmallModels.h"
#include <algorithm>
#include <gtest/gtest.h>
#ifdef SINTER_TEST_KERNELS
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#endif

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
/// A model that is compiled for one entry.
class Compiled {
public:
  Compiled(const char *model, const std::string &entry) {
    Expected<ModelSpec> parsed = parseModelSpec(model, "a test's model");
    EXPECT_TRUE(parsed) << parsed.error().message();
    request.graph = makeModelGraph(std::move(*parsed));
    request.options.entries = {entry};
    request.options.batch = 2;
    request.options.chunk = 3;
    request.options.maxSequence = 8;
    request.options.target = "cpu:x86-64-v3";
    request.options.training.epsilon = 1e-3;
    request.options.passPlugins = {SINTER_PLANTED_DEFECTS};
  }

  CompileRequest request;
};

VerifyOptions makeOptions() {
  VerifyOptions options;
  options.run = runStepsApart;
  return options;
}

struct Planted {
  const char *defect, *phase, *model, *entry;
  const char *op, *layer; ///< where it is first
  unsigned mostOps;       ///< of the reduced entry, without constants
};

/// What a phase prints as in a test's name.
void PrintTo(const Planted &planted, std::ostream *os) { *os << planted.defect; }

/// So many of them are planted into graphs.
constexpr size_t kGraphDefects = 10;

const Planted kPlanted[] = {
    {"planted-swapped-operands", "Import", kLlama, "prefill", "attention", "model.layers.0", 1},
    {"planted-dropped-mask", "Import", kLlama, "prefill", "attention", "model.layers.0", 1},
    {"planted-missing-scale", "Import", kGpt2, "logits", "attention", "transformer.h.0", 1},
    {"planted-stale-cache", "Import", kLlama, "decode", "attention", "model.layers.0", 2},
    {"planted-double-rounding", "Precision", kLlama, "prefill", "matmul", "model.layers.0", 1},
    {"planted-dropped-mask", "Autodiff", kGpt2, "train_step", "attention", "transformer.h.0", 1},
    {"planted-wrong-accumulation", "Autodiff", kLlama, "train_step", "add", "model.layers.0", 3},
    {"planted-wrong-offset", "Fusion", kLlama, "prefill", "", "model.layers.0", 1},
    {"planted-wrong-epilogue", "Fusion", kGpt2, "prefill", "matmul+add+gelu", "transformer.h.0", 1},
    {"planted-wrong-order", "Fusion", kGpt2, "decode", "matmul+add+gelu", "transformer.h.0", 1},
    {"planted-fewer-items", "Codegen", kLlama, "logits", "", "model.layers.0", 2},
    {"planted-wrong-instruction", "Codegen", kGpt2, "prefill", "", "transformer.h.0", 2},
    {"planted-swapped-inputs", "Schedule", kLlama, "prefill", "", "model.layers.0", 2},
    {"planted-early-overwrite", "Memory", kLlama, "prefill", "", "model.layers.0", 12},
    {"planted-wrong-address", "Memory", kGpt2, "decode", "", "transformer.h.0", 6},
    {"planted-swapped-inputs", "Schedule", kLlama, "train_step", "", "model.layers.0", 3},
};

class VerifyPlanted : public testing::TestWithParam<Planted> {
protected:
  /// That the reduced module is small, and that a graph's pass still differs on it.
  static void expectReproduces(const Verdict &verdict) {
    const Planted &planted = GetParam();
    DialectRegistry registry;
    registerDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    auto module = parseSourceString<ModuleOp>(verdict.reproducer, &context);
    ASSERT_TRUE(module) << verdict.reproducer;
    auto entry = module->lookupSymbol<func::FuncOp>(planted.entry);
    ASSERT_TRUE(entry);
    EXPECT_LE(llvm::count_if(entry.front().without_terminator(),
                             [](Operation &op) { return !op.hasTrait<OpTrait::ConstantLike>(); }),
              planted.mostOps)
        << verdict.reproducer;
    bool isGraph =
        StringRef("Import Autodiff Precision Global Layout Fusion").contains(planted.phase);
    if (!isGraph)
      return;
    auto run = [&](ModuleOp candidate) {
      PassManager manager(&context, ModuleOp::getOperationName());
      if (failed(parsePassPipeline(planted.defect, manager)))
        return failure();
      return manager.run(candidate);
    };
    GeneratedInputs inputs;
    inputs.chunk = planted.entry == std::string_view("decode") ? 1 : 3;
    inputs.maxSequence = 8;
    inputs.steps = 2;
    DifferentialOptions options;
    options.inputs[planted.entry] = inputs;
    Differences again = comparePass(*module, run, options);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again.front().outcome, Outcome::Differs);
  }

  static void expectFound(const Expected<std::vector<Verdict>> &verdicts) {
    const Planted &planted = GetParam();
    ASSERT_TRUE(verdicts) << verdicts.error().message();
    ASSERT_EQ(verdicts->size(), 1u);
    const Verdict &verdict = verdicts->front();
    EXPECT_NE(verdict.outcome, Outcome::Holds);
    EXPECT_NE(verdict.outcome, Outcome::Unchanged);
    EXPECT_EQ(verdict.pass, planted.defect) << verdict.message;
    EXPECT_EQ(verdict.phase, planted.phase);
    EXPECT_EQ(verdict.layer, planted.layer) << verdict.reproducer;
    if (*planted.op)
      EXPECT_EQ(verdict.op, planted.op) << verdict.reproducer;
    EXPECT_FALSE(verdict.op.empty());
    expectReproduces(verdict);
  }
};

TEST_P(VerifyPlanted, IsFound) {
  Compiled compiled(GetParam().model, GetParam().entry);
  expectFound(verifyPass(compiled.request, GetParam().defect, GetParam().phase, makeOptions()));
}

class VerifyPlantedInPipeline : public VerifyPlanted {};

TEST_P(VerifyPlantedInPipeline, IsFound) {
  Compiled compiled(GetParam().model, GetParam().entry);
  compiled.request.options.addedPasses = {std::string("after:") + GetParam().phase + ":" +
                                          GetParam().defect};
  expectFound(verifyPipeline(compiled.request, makeOptions()));
}

std::string nameTest(const testing::TestParamInfo<Planted> &info) {
  std::string name = std::string(info.param.defect + 8) + "_" + info.param.entry;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Defects, VerifyPlanted, testing::ValuesIn(kPlanted), nameTest);

// Behind Fusion both look for the pass in the same way.
INSTANTIATE_TEST_SUITE_P(Defects, VerifyPlantedInPipeline,
                         testing::ValuesIn(kPlanted, kPlanted + kGraphDefects + 1), nameTest);

/// The outcomes of one of the plugin's passes on one entry.
Outcome verifyOne(const char *pass, const char *phase) {
  Compiled compiled(kLlama, "prefill");
  auto verdicts = verifyPass(compiled.request, pass, phase, makeOptions());
  EXPECT_TRUE(verdicts) << verdicts.error().message();
  return verdicts && verdicts->size() == 1 ? verdicts->front().outcome : Outcome::Differs;
}

TEST(VerifyVerdicts, TellNothingFromRight) {
  for (const char *phase : {"Import", "Memory"})
    EXPECT_EQ(verifyOne("planted-nothing", phase), Outcome::Unchanged) << phase;
  EXPECT_EQ(verifyOne("planted-harmless", "Import"), Outcome::Holds);
  EXPECT_EQ(verifyOne("planted-harmless", "Precision"), Outcome::Holds);
}

TEST(VerifyVerdicts, TellAnErrorFromAWrongResult) {
  Compiled compiled(kLlama, "prefill");
  for (const char *phase : {"Import", "Memory"}) {
    auto verdicts = verifyPass(compiled.request, "planted-error", phase, makeOptions());
    ASSERT_TRUE(verdicts) << verdicts.error().message();
    ASSERT_EQ(verdicts->size(), 1u);
    EXPECT_EQ(verdicts->front().outcome, Outcome::Failed);
    EXPECT_EQ(verdicts->front().pass, "planted-error");
    EXPECT_NE(verdicts->front().message.find("expected another module"), std::string::npos)
        << verdicts->front().message;
  }
}

// What differentiation adds has nothing before it to be compared with but the loss.
TEST(VerifyGradients, AreTheDerivativeOfTheLoss) {
  Compiled compiled(kLlama, "train_step");
  auto right = verifyPass(compiled.request, "sinter-differentiate", "", makeOptions());
  ASSERT_TRUE(right) << right.error().message();
  ASSERT_EQ(right->size(), 1u);
  EXPECT_EQ(right->front().outcome, Outcome::Holds) << right->front().message;
  auto wrong = verifyPass(compiled.request, "planted-wrong-gradient", "Import", makeOptions());
  ASSERT_TRUE(wrong) << wrong.error().message();
  ASSERT_EQ(wrong->size(), 1u);
  EXPECT_EQ(wrong->front().outcome, Outcome::Differs);
  EXPECT_EQ(wrong->front().message,
            "the gradient of lm_head.weight is not the derivative of the loss");
  compiled.request.options.addedPasses = {"after:Import:planted-wrong-gradient"};
  auto pipeline = verifyPipeline(compiled.request, makeOptions());
  ASSERT_TRUE(pipeline) << pipeline.error().message();
  ASSERT_EQ(pipeline->size(), 1u);
  EXPECT_EQ(pipeline->front().outcome, Outcome::Differs);
  EXPECT_EQ(pipeline->front().pass, "planted-wrong-gradient");
}

// Factors of layers are fixed: their gradient is zero, and the derivative is that of the others.
TEST(VerifyGradients, OfWhatIsTrained) {
  Compiled compiled(R"({"model_type": "sinter", "vocab_size": 40, "hidden_size": 24,
      "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
      "max_position_embeddings": 32, "layer_scales": true, "num_kv_shared_layers": 1})",
                    "train_step");
  auto right = verifyPass(compiled.request, "sinter-differentiate", "", makeOptions());
  ASSERT_TRUE(right) << right.error().message();
  ASSERT_EQ(right->size(), 1u);
  EXPECT_EQ(right->front().outcome, Outcome::Holds) << right->front().message;
}

// Graphs of a GPU's pipeline need none.
TEST(VerifyForGpu, FindsWhatIsWrongInAGraph) {
  Compiled compiled(kLlama, "prefill");
  compiled.request.options.target = "cuda:sm_90";
  auto right = verifyPipeline(compiled.request, VerifyOptions());
  ASSERT_TRUE(right) << right.error().message();
  ASSERT_EQ(right->size(), 1u);
  EXPECT_EQ(right->front().outcome, Outcome::Holds);
  EXPECT_NE(right->front().message.find("no device"), std::string::npos);
  compiled.request.options.addedPasses = {"after:Fusion:planted-dropped-mask"};
  auto wrong = verifyPipeline(compiled.request, VerifyOptions());
  ASSERT_TRUE(wrong) << wrong.error().message();
  ASSERT_EQ(wrong->size(), 1u);
  EXPECT_EQ(wrong->front().outcome, Outcome::Differs);
  EXPECT_EQ(wrong->front().pass, "planted-dropped-mask");
  EXPECT_EQ(wrong->front().layer, "model.layers.0");
  auto later = verifyPass(compiled.request, "sinter-assign-streams", "", VerifyOptions());
  ASSERT_FALSE(later);
  EXPECT_NE(later.error().message().find("no device"), std::string::npos);
}

#ifdef SINTER_TEST_KERNELS
// Few kernels, which the emulator has soon compiled.
constexpr const char *kGraph = R"(
func.func @logits(%x: tensor<4x32xf32> {sinter.input = "x"},
                  %y: tensor<4x32xf32> {sinter.input = "y"},
                  %w: tensor<32xf32> {sinter.parameter = "w"})
    -> (tensor<4x32xf32> {sinter.output = "z"}) attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5 : f64}
      : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32> loc("model.layers.0.norm")
  %1 = sinter.silu %0 : (tensor<4x32xf32>) -> tensor<4x32xf32> loc("model.layers.0.mlp")
  %2 = sinter.sub %1, %y
      : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32> loc("model.layers.0.mlp")
  return %2 : tensor<4x32xf32>
})";

TEST(VerifyForGpu, FindsWhatIsWrongInWhatTheEmulatorRuns) {
  if (std::string reason = simt::Program::whyNot(); !reason.empty())
    GTEST_SKIP() << reason;
  fake::FakeCuda fake{fake::FakeOptions{.cache = SINTER_TEST_KERNELS}};
  CompileRequest request;
  request.graph = makeTextGraph(kGraph, "graph.mlir");
  request.options.target = "cuda:sm_90";
  request.options.passPlugins = {SINTER_PLANTED_DEFECTS};
  VerifyOptions options;
  options.run = runSteps;
  auto right = verifyPass(request, "all", "", options);
  ASSERT_TRUE(right) << right.error().message();
  for (const Verdict &verdict : *right)
    EXPECT_TRUE(verdict.outcome == Outcome::Holds || verdict.outcome == Outcome::Unchanged)
        << verdict.pass << ": " << verdict.message;
  EXPECT_GT(fake.statistics().kernels, 0u);
  request.options.addedPasses = {"after:Schedule:planted-swapped-inputs"};
  auto wrong = verifyPipeline(request, options);
  ASSERT_TRUE(wrong) << wrong.error().message();
  ASSERT_EQ(wrong->size(), 1u);
  EXPECT_EQ(wrong->front().outcome, Outcome::Differs) << wrong->front().message;
  EXPECT_EQ(wrong->front().pass, "planted-swapped-inputs");
  EXPECT_EQ(wrong->front().layer, "model.layers.0");
  for (const std::string &complaint : fake.complaints())
    ADD_FAILURE() << complaint;
}

// Products of 8 bits on both sides, of few rows and of many, beside the formulas of their graph.
// Where a row's numbers differ in their last bit, one may be rounded the other way: a step of its
// 127th, or of e4m3's eighth.
TEST(VerifyForGpu, ProductsOf8BitsAreTheReferences) {
  if (std::string reason = simt::Program::whyNot(); !reason.empty())
    GTEST_SKIP() << reason;
  fake::FakeCuda fake{fake::FakeOptions{.cache = SINTER_TEST_KERNELS}};
  for (const char *type : {"int8", "fp8"})
    for (const char *entry : {"prefill", "decode"}) {
      SCOPED_TRACE(std::string(type) + " " + entry);
      Compiled compiled(kLlama, entry);
      CompileOptions &target = compiled.request.options;
      target.target = "cuda:sm_90";
      target.chunk = 7;
      target.weights = type;
      target.activations = target.weights == "int8" ? "int8" : "stored";
      target.quantizesHead = true;
      VerifyOptions options;
      options.run = runSteps;
      auto verdicts = verifyPipeline(compiled.request, options);
      ASSERT_TRUE(verdicts) << verdicts.error().message();
      ASSERT_EQ(verdicts->size(), 1u);
      EXPECT_EQ(verdicts->front().outcome, Outcome::Holds)
          << verdicts->front().pass << ": " << verdicts->front().message;
      EXPECT_LE(verdicts->front().error, target.weights == "int8" ? 3e-3 : 3e-2);
    }
  EXPECT_GT(fake.statistics().kernels, 0u);
  for (const std::string &complaint : fake.complaints())
    ADD_FAILURE() << complaint;
}
#endif

class VerifyEntries : public testing::TestWithParam<const char *> {};

// Every pass of every phase of one model, and the pipeline of another.
TEST_P(VerifyEntries, Hold) {
  Compiled llama(kLlama, GetParam());
  auto passes = verifyPass(llama.request, "all", "", makeOptions());
  ASSERT_TRUE(passes) << passes.error().message();
  EXPECT_GT(passes->size(), 20u);
  for (const Verdict &verdict : *passes)
    EXPECT_TRUE(verdict.outcome == Outcome::Holds || verdict.outcome == Outcome::Unchanged)
        << verdict.pass << ": " << verdict.error << " " << verdict.message;
  Compiled gpt2(kGpt2, GetParam());
  auto pipeline = verifyPipeline(gpt2.request, makeOptions());
  ASSERT_TRUE(pipeline) << pipeline.error().message();
  ASSERT_EQ(pipeline->size(), 1u);
  EXPECT_EQ(pipeline->front().outcome, Outcome::Holds) << pipeline->front().message;
}

INSTANTIATE_TEST_SUITE_P(Entries, VerifyEntries,
                         testing::Values("prefill", "decode", "train_step", "evaluate"),
                         [](const auto &info) { return std::string(info.param); });
} // namespace
