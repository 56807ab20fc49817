//===- QuantizedCachesTest.cpp - Caches of 8 bits, of kept models -----------===//
//
// What is compiled with caches of 8 bits, of a kept model for each kind of attention, beside its
// graph with the caches rounded in double precision: two steps of prefill and of decode, of which
// each second one reads what the first left.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Verify.h"
#include "frontends/Graph/ModelGraph.h"
#include "sinter/RunSteps.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

using namespace sinter;
namespace fs = std::filesystem;

namespace {
class QuantizedCaches : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  void SetUp() override {
    auto spec = loadModelSpec(fs::path(SINTER_TEST_MODELS) / std::get<0>(GetParam()));
    ASSERT_TRUE(spec) << spec.error().message();
    request.graph = makeModelGraph(std::move(*spec));
    CompileOptions &options = request.options;
    options.entries = {"prefill", "decode"};
    ASSERT_TRUE(readOption(std::get<1>(GetParam()), options.cacheType));
    options.batch = 2;
    options.chunk = 7;
    options.maxSequence = 23;
  }

  std::vector<Verdict> verify() const {
    VerifyOptions options;
    options.run = runStepsApart;
    auto verdicts = verifyPipeline(request, options);
    EXPECT_TRUE(verdicts) << verdicts.error().message();
    return verdicts ? std::move(*verdicts) : std::vector<Verdict>();
  }

  CompileRequest request;
};

// What is compiled differs from the reference by what lies between two numbers of 8 bits and is
// rounded to another one in f32 than in double precision.
TEST_P(QuantizedCaches, AreThoseOfTheReference) {
  std::vector<Verdict> verdicts = verify();
  EXPECT_EQ(verdicts.size(), 2u);
  for (const Verdict &verdict : verdicts) {
    EXPECT_EQ(verdict.outcome, Outcome::Holds)
        << verdict.entry << ": " << verdict.error << " " << verdict.message << " " << verdict.pass;
    EXPECT_LE(verdict.error, 3e-3) << verdict.entry;
  }
}

std::string nameTest(const testing::TestParamInfo<QuantizedCaches::ParamType> &info) {
  std::string name = std::get<0>(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Int8, QuantizedCaches,
                         testing::Combine(testing::Values("gemma2", "gpt2", "llama",
                                                          "llama-head-64", "llama-head-80",
                                                          "llama-mqa-bias", "qwen2-window", "qwen3",
                                                          "sinter-alibi-mqa", "sinter-mixed"),
                                          testing::Values("int8")),
                         nameTest);
INSTANTIATE_TEST_SUITE_P(Fp8, QuantizedCaches,
                         testing::Combine(testing::Values("gemma2", "gpt2", "llama-head-80",
                                                          "qwen2-window", "sinter-alibi-mqa"),
                                          testing::Values("fp8")),
                         nameTest);
} // namespace
