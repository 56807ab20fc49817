// The kept models, of every family, compiled and run: the logits of the whole sequence at once, in
// chunks, and of ragged slots token by token are those of the reference, within 1e-5 in f32,
// 3e-3 in f16 and 2e-2 in bf16 (with experts 0.16: a token whose last expert is barely likelier
// than the next one may get that instead). The number of threads changes no bit, other prompts
// beside one no token, leaving out all speed passes nothing but roundings. Wide models, and one or
// two of every other family, do the same.

#include "test/e2e/CompiledModel.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::test;

namespace {

class Logits : public testing::TestWithParam<std::string> {
protected:
  Logits() : model(GetParam()) {}

  /// Options for `entries` of `batch` slots and chunks of `chunk` tokens.
  static CompileOptions options(std::vector<std::string> entries, int64_t batch, int64_t chunk,
                                DType type = DType::F32) {
    CompileOptions result;
    result.entries = std::move(entries);
    result.batch = batch;
    result.chunk = chunk;
    result.maxSequence = 0;
    result.computeType = result.cacheType = type;
    return result;
  }

  /// How far bf16 may be from the reference, where it may be as far as `tolerance` without experts.
  double getBf16Tolerance(double tolerance) const {
    return model.spec.hasExperts() ? 8 * tolerance : tolerance;
  }

  CompiledModel model;
};

TEST_P(Logits, OfOneChunk) {
  model.compile(options({"logits"}, 1, model.length));
  EXPECT_LE(model.worstError(model.logits()), 1e-5);
}

TEST_P(Logits, OfChunks) {
  model.compile(options({"logits"}, 1, 5));
  EXPECT_LE(model.worstError(model.logits()), 1e-5);
}

TEST_P(Logits, OfRaggedSlots) {
  model.compileForLogits(options({"prefill", "decode"}, 2, 7));
  model.runRagged([&](std::span<const float> row, int64_t position) {
    EXPECT_LE(model.errorOf(row, position, 1), 1e-5) << position;
  });
}

TEST_P(Logits, InBf16) {
  model.compile(options({"logits"}, 1, model.length, DType::BF16));
  double error = model.errorOf(model.logits());
  RecordProperty("error", std::to_string(error));
  EXPECT_LE(error, getBf16Tolerance(2e-2));
}

TEST_P(Logits, InF16) {
  CompileOptions f16 = options({"logits"}, 1, model.length, DType::F16);
  f16.cacheType = DType::F32;
  model.compile(f16);
  double error = model.errorOf(model.logits());
  RecordProperty("error", std::to_string(error));
  EXPECT_LE(error, 3e-3);
  // Rounding to f16 leaves its trace.
  EXPECT_GE(error, 1e-5);
}

TEST_P(Logits, OfRaggedSlotsInBf16) {
  model.compileForLogits(options({"prefill", "decode"}, 2, 7, DType::BF16));
  model.runRagged([&](std::span<const float> row, int64_t position) {
    // Single rows scatter more than the whole.
    EXPECT_LE(model.errorOf(row, position, 1), getBf16Tolerance(4e-2)) << position;
  });
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, Logits, testing::ValuesIn(modelNames()), testName);

class OtherLogits : public Logits {};

TEST_P(OtherLogits, AreThoseOfTheReference) {
  model.compileForLogits(options({"prefill", "decode"}, 2, 7));
  model.runRagged([&](std::span<const float> row, int64_t position) {
    EXPECT_LE(model.errorOf(row, position, 1), 1e-5) << position;
  });
  model.compile(options({"logits"}, 1, model.length, DType::BF16), /*threads=*/3);
  // PyTorch's own in bf16 is up to 4.5e-2 of these (gemma4_unified).
  EXPECT_LE(model.errorOf(model.logits()), getBf16Tolerance(3e-2));
}

INSTANTIATE_TEST_SUITE_P(Wide, OtherLogits, testing::ValuesIn(wideModelNames()), testName);
INSTANTIATE_TEST_SUITE_P(Families, OtherLogits, testing::ValuesIn(familyModelNames()), testName);

TEST(LogitsOfThreads, AreTheSameBits) {
  for (const char *name : {"llama", "gemma2", "sinter-alibi-mqa", "qwen3_5"}) {
    CompiledModel model(name);
    CompileOptions options;
    options.entries = {"logits"};
    options.chunk = model.length;
    options.maxSequence = 0;
    model.compile(options, 1);
    std::vector<float> one = model.logits();
    model.compile(options, 3);
    EXPECT_EQ(one, model.logits()) << name;
  }
}

// More prompts than slots, of all lengths: prompts begin while others are continued, and slots that
// decode wait for them.
TEST(TokensOfAPrompt, AreTheSameBesideOthers) {
  for (auto [name, type] : {std::pair("gemma2", DType::F32),
                            {"gemma2", DType::BF16},
                            {"mixtral", DType::F32},
                            {"mixtral", DType::BF16},
                            {"wide-llama", DType::F32},
                            {"deepseek_v3", DType::F32},
                            {"mamba2", DType::F32},
                            {"lfm2", DType::F32},
                            {"qwen3_5", DType::F32}}) {
    CompiledModel model(name);
    CompileOptions options;
    options.entries = {"prefill", "decode"};
    options.batch = 3;
    options.chunk = 7;
    options.maxSequence = 0;
    options.computeType = options.cacheType = type;
    model.compile(options, /*threads=*/2);
    std::vector<runtime::GenerateRequest> requests;
    for (int64_t i = 0; i < 9; ++i) {
      int64_t count = std::min<int64_t>(1 + i * 5 % 17, model.length - 8);
      requests.push_back({{model.tokens.end() - count, model.tokens.end()}, 2 + i * 3 % 7, {}});
      // Drawn tokens tell logits apart that greedy ones do not.
      requests.back().sampling.temperature = 2;
      requests.back().sampling.seed = static_cast<uint64_t>(i);
    }
    std::vector<std::vector<int32_t>> together = model.generate(requests);
    for (size_t i = 0; i < requests.size(); ++i)
      EXPECT_EQ(model.generate({requests[i]}).front(), together[i]) << name << " " << i;
  }
}

TEST(LogitsOfSharedTables, AreTheSameBits) {
  for (const char *name : {"gpt2", "gemma2", "llama-mqa-bias", "qwen2-window"}) {
    CompiledModel model(name);
    CompileOptions options;
    options.entries = {"logits"};
    options.chunk = model.length;
    options.maxSequence = 0;
    model.compile(options);
    std::vector<float> shared = model.logits();
    options.disabledPasses = {"sinter-share-tables"};
    model.compile(options);
    EXPECT_EQ(shared, model.logits()) << name;
  }
}

TEST(LogitsWithoutSpeedPasses, AreTheSame) {
  for (const char *name : {"gpt2", "llama", "gemma2", "phi3", "sinter-mixed"}) {
    CompiledModel model(name);
    CompileOptions options;
    options.entries = {"logits"};
    options.chunk = model.length;
    options.maxSequence = 0;
#define SINTER_SPEED_PASS(argument) options.disabledPasses.push_back(argument);
#include "compiler/Pipelines/Phases.def"
    model.compile(options);
    EXPECT_LE(model.worstError(model.logits()), 1e-5) << name;
  }
}

} // namespace
