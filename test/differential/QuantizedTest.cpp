//===- QuantizedTest.cpp - Caches and weights of fewer bits, of kept models -===//
//
// What is compiled with caches of 8 bits, or weights of 8 and 4, of a kept model for each kind of
// attention, beside its graph with the same rounded, in double precision: two steps of prefill and
// of decode, of which each second one reads what the first left.
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
/// A kept model, and a type.
using Rounded = std::tuple<std::string, std::string>;

class Quantized : public testing::TestWithParam<Rounded> {
protected:
  void SetUp() override {
    auto spec = loadModelSpec(fs::path(SINTER_TEST_MODELS) / std::get<0>(GetParam()));
    ASSERT_TRUE(spec) << spec.error().message();
    request.graph = makeModelGraph(std::move(*spec));
    CompileOptions &options = request.options;
    options.entries = {"prefill", "decode"};
    options.batch = 2;
    options.chunk = 7;
    options.maxSequence = 23;
  }

  /// Expects each entry to be the reference's but for `error` of its numbers' size.
  void expectReference(double error) const {
    VerifyOptions options;
    options.run = runStepsApart;
    auto verdicts = verifyPipeline(request, options);
    ASSERT_TRUE(verdicts) << verdicts.error().message();
    EXPECT_EQ(verdicts->size(), 2u);
    for (const Verdict &verdict : *verdicts) {
      EXPECT_EQ(verdict.outcome, Outcome::Holds) << verdict.entry << ": " << verdict.error << " "
                                                 << verdict.message << " " << verdict.pass;
      EXPECT_LE(verdict.error, error) << verdict.entry;
    }
  }

  CompileRequest request;
};

class QuantizedCaches : public Quantized {};
class QuantizedWeights : public Quantized {};

// What is compiled differs from the reference by what lies between two numbers of 8 bits and is
// rounded to another one in f32 than in double precision.
TEST_P(QuantizedCaches, AreThoseOfTheReference) {
  ASSERT_TRUE(readOption(std::get<1>(GetParam()), request.options.cacheType));
  expectReference(3e-3);
}

// Weights are rounded before anything is computed: what is left are the roundings of f32, of
// products in fixed point (decode) and of numbers that integers stand for (prefill).
TEST_P(QuantizedWeights, AreThoseOfTheReference) {
  request.options.weights = std::get<1>(GetParam());
  request.options.weightsGroup = 4; // which divides every width of these models
  request.options.quantizesHead = true;
  expectReference(1e-5);
}

class QuantizedRows : public Quantized {};

// Rows are rounded to 8 bits while the model runs, as those of a cache are.
TEST_P(QuantizedRows, AreThoseOfTheReference) {
  request.options.weights = std::get<1>(GetParam());
  request.options.weightsGroup = 4;
  request.options.activations = "int8";
  request.options.quantizesHead = true;
  expectReference(1e-2);
}

/// The model's folder.
std::string nameTest(const testing::TestParamInfo<Rounded> &info) {
  std::string name = fs::path(std::get<0>(info.param)).filename().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

const auto kModels =
    testing::Values("gemma2", "gpt2", "llama", "llama-head-64", "llama-head-80", "llama-mqa-bias",
                    "qwen2-window", "qwen3", "sinter-alibi-mqa", "sinter-mixed");
const auto kFewModels =
    testing::Values("gemma2", "gpt2", "llama-head-80", "qwen2-window", "sinter-alibi-mqa");

// Experts whose columns are whole panels of any processor's. Of 4 bits so small a model's tokens
// would go to others, had these not been chosen before.
const auto kExperts = testing::Values("../families/qwen2_moe-one");
INSTANTIATE_TEST_SUITE_P(ExpertsInInt8, QuantizedWeights,
                         testing::Combine(kExperts, testing::Values("int8")), nameTest);
INSTANTIATE_TEST_SUITE_P(ExpertsInInt4, QuantizedWeights,
                         testing::Combine(kExperts, testing::Values("int4")), nameTest);
INSTANTIATE_TEST_SUITE_P(Int8, QuantizedCaches, testing::Combine(kModels, testing::Values("int8")),
                         nameTest);
INSTANTIATE_TEST_SUITE_P(Fp8, QuantizedCaches, testing::Combine(kFewModels, testing::Values("fp8")),
                         nameTest);
INSTANTIATE_TEST_SUITE_P(Int8, QuantizedWeights,
                         testing::Combine(kFewModels, testing::Values("int8")), nameTest);
INSTANTIATE_TEST_SUITE_P(Int4, QuantizedWeights,
                         testing::Combine(kFewModels, testing::Values("int4")), nameTest);
INSTANTIATE_TEST_SUITE_P(Int8, QuantizedRows,
                         testing::Combine(testing::Values("llama"), testing::Values("int8")),
                         nameTest);
INSTANTIATE_TEST_SUITE_P(Int4, QuantizedRows, testing::Combine(kFewModels, testing::Values("int4")),
                         nameTest);
} // namespace
