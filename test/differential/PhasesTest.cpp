//===- PhasesTest.cpp - Before and after every pass -------------------------===//
//
// Every pass of the graph phases is run on small models, and what the entries compute after it is
// compared with what they computed before, by the reference evaluator in double precision: with
// all passes, and with each speed pass left out.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Target.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Precision/Passes.h"
#include "compiler/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
struct Case {
  std::string model;
  std::string computeType;
  std::vector<std::string> disabled;
};

void PrintTo(const Case &value, std::ostream *stream) {
  *stream << value.model << " " << value.computeType;
  for (const std::string &pass : value.disabled)
    *stream << " without " << pass;
}

class Phases : public testing::TestWithParam<Case> {
protected:
  Phases() {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    module = parseSourceFile<ModuleOp>(SINTER_TEST_INPUTS "/" + GetParam().model + ".mlir",
                                       ParserConfig(&context));
  }

  /// The results of every entry but @prepare, which feeds the others.
  std::map<std::string, NamedTensors> evaluate() {
    std::map<std::string, NamedTensors> results;
    for (auto function : module->getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) &&
          function.getName() != SinterDialect::kPrepareEntry) {
        FailureOr<NamedTensors> values = evaluateEntry(*module, function.getName(), /*seed=*/1);
        EXPECT_TRUE(succeeded(values)) << function.getName().str();
        if (succeeded(values))
          results[function.getName().str()] = std::move(*values);
      }
    return results;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(Phases, computeTheSame) {
  ASSERT_TRUE(module);
  (*module)->setAttr(SinterDialect::kTarget, *parseTarget(&context, "cpu:x86-64-v4", 2));
  PrecisionOptions precision;
  precision.computeType = GetParam().computeType;
  FusionOptions fusion;
  fusion.disabledPasses = GetParam().disabled;
  OpPassManager passes(ModuleOp::getOperationName());
  buildPrecisionPipeline(passes, precision);
  buildFusionPipeline(passes, fusion);

  auto before = evaluate();
  ASSERT_FALSE(before.empty());
  for (Pass &pass : passes.getPasses()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    pass.printAsTextualPipeline(stream);
    PassManager manager(&context, ModuleOp::getOperationName());
    ASSERT_TRUE(succeeded(parsePassPipeline(text, manager)));
    ASSERT_TRUE(succeeded(manager.run(*module))) << text;
    auto after = evaluate();
    // Rounding to bf16 is the one thing that a pass may change.
    bool rounds = GetParam().computeType == "bf16" &&
                  pass.getArgument() == "sinter-assign-compute-type";
    ASSERT_EQ(before.size(), after.size());
    for (auto &[entry, expected] : before)
      EXPECT_LE(relativeError(after[entry], expected), rounds ? 3e-2 : 1e-6)
          << text << " in " << entry;
    before = std::move(after);
  }
}

std::vector<Case> makeCases() {
  const char *speedPasses[] = {"sinter-merge-matmuls", "sinter-sink-row-selection",
                               "sinter-hoist-parameters", "sinter-form-fusions",
                               "sinter-select-library-gemm"};
  std::vector<Case> cases;
  for (const char *model : {"gpt", "llama"}) {
    cases.push_back({model, "f32", {}});
    cases.push_back({model, "bf16", {}});
    for (const char *pass : speedPasses)
      cases.push_back({model, "f32", {pass}});
    cases.push_back({model, "f32", {std::begin(speedPasses), std::end(speedPasses)}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, Phases, testing::ValuesIn(makeCases()));
} // namespace

int main(int argc, char **argv) {
  registerPrecisionPasses();
  registerFusionPasses();
  mlir::registerPass([] { return mlir::createCSEPass(); });
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
