//===- PhasesTest.cpp - Before and after every pass -------------------------===//
//
// Every pass of the graph phases is run on a small model of every family, and what the entries
// compute after it is compared with what they computed before, by the reference evaluator in
// double precision: with all passes, with none of the speed passes (SpeedPassesTest.cpp leaves out
// one at a time), and in narrow types. The kernels that come out are then given to the code
// generators, for two targets: what Fusion forms, Codegen accepts.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Reference/Evaluator.h"
#include "compiler/Reference/StepLogits.h"
#include "frontends/Graph/BuildGraph.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/Format/PipelineStages.h"
#include "test/support/ReferenceModel.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
/// Options of the phases, by what is left out.
struct Variant {
  const char *name;
  std::string computeType = "f32";
  std::string cacheType = "f32";
  std::vector<std::string> disabled;
};

const std::vector<std::string> kSpeedPasses = {
#define SINTER_SPEED_PASS(argument) argument,
#include "compiler/Pipelines/Phases.def"
};

std::vector<Variant> makeVariants() {
  return {{"all", "f32", "f32", {}},
          {"bf16", "bf16", "bf16", {}},
          {"none", "f32", "f32", kSpeedPasses}};
}

class Phases : public testing::TestWithParam<std::tuple<std::string, Variant>> {
protected:
  Phases() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
  }

  void build(const char *target) {
    auto spec = loadModelSpec(test::modelsFolder() / std::get<0>(GetParam()));
    ASSERT_TRUE(spec) << spec.error().message();
    GraphOptions options;
    options.batch = 2;
    options.chunk = 3;
    options.maxSequence = 8;
    options.entries = {"prefill", "decode", "logits"};
    vocabulary = spec->vocabSize;
    hasExperts = spec->hasExperts();
    auto graph = buildGraph(context, *spec, options);
    ASSERT_TRUE(graph) << graph.error().message();
    module = std::move(*graph);
    (*module)->setAttr(SinterDialect::kTarget, *parseTarget(&context, target, 2));
  }

  /// The passes up to and with Fusion.
  static std::vector<PassStep> listGraphPasses() {
    const Variant &variant = std::get<1>(GetParam());
    CompileOptions options;
    EXPECT_TRUE(readOption(variant.computeType, options.computeType));
    EXPECT_TRUE(readOption(variant.cacheType, options.cacheType));
    options.disabledPasses = variant.disabled;
    auto steps = listPasses(options, Phase::Fusion);
    EXPECT_TRUE(steps) << steps.error().message();
    return steps ? std::move(*steps) : std::vector<PassStep>();
  }

  /// The results of every entry but @preprocess, which feeds the others.
  std::map<std::string, NamedTensors> evaluate() {
    std::map<std::string, NamedTensors> results;
    for (auto function : module->getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) && !runtime::isPreprocess(function.getName())) {
        FailureOr<NamedTensors> values =
            evaluateEntry(*module, function.getName(), inputs[function.getName().str()]);
        EXPECT_TRUE(succeeded(values)) << function.getName().str();
        if (succeeded(values))
          results[function.getName().str()] = std::move(*values);
      }
    return results;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  int64_t vocabulary = 0;
  bool hasExperts = false;
  EntryInputs inputs;
};

TEST_P(Phases, computeTheSame) {
  ASSERT_NO_FATAL_FAILURE(build("cpu:x86-64-v4"));
  returnLogits(*module);
  GeneratedInputs generated;
  generated.seed = 1;
  generated.vocabulary = vocabulary;
  inputs = makeEntryInputs(*module, generated);
  auto before = evaluate();
  ASSERT_EQ(before.size(), 3u);
  for (const PassStep &step : listGraphPasses()) {
    PassManager manager(&context, ModuleOp::getOperationName());
    ASSERT_TRUE(succeeded(parsePassPipeline(step.text, manager)));
    OperationFingerPrint untouched(module->getOperation());
    ASSERT_TRUE(succeeded(manager.run(*module))) << step.text;
    if (OperationFingerPrint(module->getOperation()) == untouched)
      continue;
    auto after = evaluate();
    // Rounding to bf16 or f16 is the one thing that a pass may change. With experts a token whose
    // last expert is barely likelier than the next one may get that instead.
    bool rounds = step.text.find("f16") != std::string::npos;
    double rounding = hasExperts ? 0.16 : 5e-2;
    ASSERT_EQ(before.size(), after.size());
    for (auto &[entry, expected] : before)
      EXPECT_LE(relativeError(after[entry], expected), rounds ? rounding : 1e-6)
          << step.text << " in " << entry;
    before = std::move(after);
  }
}

TEST_P(Phases, makeKernelsThatCanBeGenerated) {
  for (const char *target : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
    ASSERT_NO_FATAL_FAILURE(build(target));
    PassManager manager(&context, ModuleOp::getOperationName());
    for (const PassStep &step : listGraphPasses())
      ASSERT_TRUE(succeeded(parsePassPipeline(step.text, manager)));
    manager.addPass(createLowerKernelsPass());
    EXPECT_TRUE(succeeded(manager.run(*module))) << target;
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<std::string, Variant>> &info) {
  return test::testNameOf(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Models, Phases,
                         testing::Combine(testing::ValuesIn(test::modelNames()),
                                          testing::ValuesIn(makeVariants())),
                         nameOf);
// The rarer type.
INSTANTIATE_TEST_SUITE_P(Partial, Phases,
                         testing::Combine(testing::Values("gpt2", "gpt_neox", "gemma2", "llama",
                                                          "phi3", "qwen2"),
                                          testing::Values(Variant{"f16", "f16", "f32", {}})),
                         nameOf);
} // namespace

int main(int argc, char **argv) {
  registerPasses();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
