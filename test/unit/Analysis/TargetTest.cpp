#include "compiler/Analysis/Target.h"
#include "runtime/Base/CpuFeatures.h"
#include "test/support/Environment.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
class AssumedCpu : public testing::TestWithParam<const char *> {
protected:
  AssumedCpu() : variable("SINTER_CPU", GetParam()) { context.loadDialect<SinterDialect>(); }

  void SetUp() override {
    if (auto found = runtime::assumedCpu(); !found)
      GTEST_SKIP() << found.error().message();
  }

  MLIRContext context;
  test::Variable variable;
};
} // namespace

TEST_P(AssumedCpu, IsTheTargetCpu) {
  auto assumed = parseTarget(&context, "cpu", 2);
  ASSERT_TRUE(assumed) << assumed.error().message();
  EXPECT_EQ(*assumed, *parseTarget(&context, std::string("cpu:") + GetParam(), 2));
}

TEST_P(AssumedCpu, HasTheSameFeaturesToCompilerAndRuntime) {
  TargetAttr target = *parseTarget(&context, "cpu", 2);
  for (const std::string &name : runtime::cpuFeatures())
    EXPECT_TRUE(target.hasFeature(name) || name == "64bit") << name; // to LLVM that is a mode
  llvm::SmallVector<llvm::StringRef> features;
  target.getFeatures().split(features, ',');
  for (llvm::StringRef feature : features)
    if (feature.consume_front("+") && runtime::isKnownCpuFeature(feature))
      EXPECT_TRUE(runtime::hasCpuFeature(feature)) << feature.str();
}

INSTANTIATE_TEST_SUITE_P(, AssumedCpu, testing::Values("x86-64-v3", "x86-64-v4", "cooperlake"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TargetErrors, AssumedCpuIsNone) {
  test::Variable variable("SINTER_CPU", "pentium4");
  MLIRContext context;
  context.loadDialect<SinterDialect>();
  auto target = parseTarget(&context, "cpu", 2);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().what, "SINTER_CPU=pentium4");
}
