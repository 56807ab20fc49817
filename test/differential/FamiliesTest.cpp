// The kept models, of every family, with their own weights: after every pass of the graph phases
// the entries still give the logits that they should, in f32 and in bf16.

#include "compiler/Analysis/Target.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Precision/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "test/support/ReferenceModel.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

class Families : public testing::TestWithParam<std::string> {
protected:
  Families() : model(GetParam()) {}

  /// Runs all passes, with an error measured after each.
  void run(const char *computeType, double tolerance, double (ReferenceModel::*measure)()) {
    (*model.module)
        ->setAttr(SinterDialect::kTarget, *parseTarget(&model.context, "cpu:x86-64-v4", 2));
    PrecisionOptions precision;
    precision.computeType = computeType;
    OpPassManager passes(ModuleOp::getOperationName());
    buildPrecisionPipeline(passes, precision);
    buildFusionPipeline(passes);
    for (Pass &pass : passes.getPasses()) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      pass.printAsTextualPipeline(stream);
      PassManager manager(&model.context, ModuleOp::getOperationName());
      ASSERT_TRUE(succeeded(parsePassPipeline(text, manager)));
      ASSERT_TRUE(succeeded(manager.run(*model.module))) << text;
      model.reset();
      ASSERT_LE((model.*measure)(), tolerance) << text;
    }
  }

  ReferenceModel model;
};

TEST_P(Families, LogitsInF32) {
  model.build(1, model.length, {"logits"});
  run("f32", 1e-5, &ReferenceModel::logitsError);
}

TEST_P(Families, RaggedStepsInF32) {
  model.build(2, 7, {"prefill", "decode"});
  run("f32", 1e-5, &ReferenceModel::raggedError);
}

TEST_P(Families, LogitsInBf16) {
  model.build(1, model.length, {"logits"});
  run("bf16", 2e-2, &ReferenceModel::logitsError);
}

INSTANTIATE_TEST_SUITE_P(Models, Families, testing::ValuesIn(modelNames()),
                         [](const auto &info) { return testNameOf(info.param); });

} // namespace

int main(int argc, char **argv) {
  registerPrecisionPasses();
  registerFusionPasses();
  mlir::registerPass([] { return mlir::createCSEPass(); });
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
