// The kept models on several ranks, which are threads here: every bit of the logits is that of one
// rank, of a whole sequence in chunks and of ragged slots token by token.

#include "runtime/Collective/ThreadRanks.h"
#include "test/e2e/CompiledModel.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <mutex>

using namespace sinter;
using namespace sinter::test;

namespace {

CompileOptions makeOptions(std::vector<std::string> entries, int64_t batch, int64_t chunk,
                           DType type) {
  CompileOptions options;
  options.entries = std::move(entries);
  options.batch = batch;
  options.chunk = chunk;
  options.maxSequence = 0;
  options.computeType = options.cacheType = type;
  return options;
}

/// What products multiply by and look up in: numbers, or those in 8 or 4 bits.
struct Weights {
  std::string name;
  std::string rounded = "stored", activations = "stored"; ///< as the options have them
  int64_t group = 4;                                      ///< divides every width of these models
  std::optional<IntegerFormat> stored = std::nullopt;     ///< as a file holds them
};

void PrintTo(const Weights &weights, std::ostream *out) { *out << weights.name; }

/// The logits of a sequence in chunks of five tokens, then those of ragged slots.
std::vector<float> computeLogits(const std::string &name, const std::string &grid, DType type,
                                 const Weights &weights, SharedExecutables &shared,
                                 runtime::Communicator *communicator) {
  CompiledModel model(name);
  if (weights.stored)
    model.useIntegers(*weights.stored, weights.stored->scaleType);
  model.communicator = communicator;
  model.shared = &shared;
  auto optionsOf = [&](std::vector<std::string> entries, int64_t batch, int64_t chunk) {
    CompileOptions options = makeOptions(std::move(entries), batch, chunk, type);
    options.grid = grid;
    options.weights = weights.rounded;
    options.weightsGroup = weights.group;
    options.activations = weights.activations;
    options.quantizesHead = true;
    return options;
  };
  model.compile(optionsOf({"logits"}, 1, 5));
  std::vector<float> logits = model.logits();
  model.compileForLogits(optionsOf({"prefill", "decode"}, 2, 7));
  model.runRagged([&](std::span<const float> row, int64_t) {
    logits.insert(logits.end(), row.begin(), row.end());
  });
  return logits;
}

/// Expects of every rank the bits of one.
void expectSameLogits(const std::string &name, size_t ranks, const std::string &grid, DType type,
                      const Weights &weights) {
  SharedExecutables shared;
  std::vector<float> one = computeLogits(name, "", type, weights, shared, nullptr);
  std::mutex mutex;
  size_t compared = 0;
  auto result = runtime::runThreadRanks(ranks, [&](runtime::Communicator &communicator) {
    std::vector<float> own = computeLogits(name, grid, type, weights, shared, &communicator);
    std::lock_guard lock(mutex);
    EXPECT_EQ(own.size(), one.size());
    auto [first, second] = std::ranges::mismatch(own, one);
    EXPECT_EQ(first, own.end()) << "rank " << communicator.getRank() << ", logit "
                                << first - own.begin() << ": " << *first << " instead of "
                                << *second;
    ++compared;
    return Expected<void>();
  });
  EXPECT_TRUE(result) << result.error().message();
  EXPECT_EQ(compared, ranks);
}

class Ranks : public testing::TestWithParam<std::string> {
protected:
  void expectSameBits(size_t ranks, const std::string &grid, DType type) {
    expectSameLogits(GetParam(), ranks, grid, type, {});
  }
};

TEST_P(Ranks, TwoAlongTensor) { expectSameBits(2, "tensor=2", DType::F32); }

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, Ranks, testing::ValuesIn(modelNames()), testName);

class ManyRanks : public Ranks {};

TEST_P(ManyRanks, ThreeAlongTensor) { expectSameBits(3, "tensor=3", DType::F32); }
TEST_P(ManyRanks, TwoStages) { expectSameBits(2, "pipeline=2", DType::F32); }
TEST_P(ManyRanks, FourAlongTensorInBf16) { expectSameBits(4, "tensor=4", DType::BF16); }

INSTANTIATE_TEST_SUITE_P(Models, ManyRanks,
                         testing::Values("gpt2", "llama", "gemma2", "sinter-mixed", "wide-llama",
                                         "qwen3_5"),
                         testName);

/// Experts in tensors of their own, in one with gates above ups, in one where they take turns, as
/// numbers or as MXFP4, and beside an expert of all tokens.
class ExpertsOnRanks : public Ranks {};

TEST_P(ExpertsOnRanks, TwoAlongTensor) { expectSameBits(2, "tensor=2", DType::F32); }

const std::string kExperts[] = {"mixtral",       "granitemoe",         "gpt_oss",
                                "gpt_oss-mxfp4", "qwen2_moe",          "deepseek_v2",
                                "qwen3_next",    "nemotron_h-experts", "granitemoehybrid",
                                "sinter-experts"};
INSTANTIATE_TEST_SUITE_P(Models, ExpertsOnRanks, testing::ValuesIn(kExperts), testName);

/// Each in two of four other layouts.
class ManyExpertsOnRanks : public Ranks {};
class OtherExpertsOnRanks : public Ranks {};

TEST_P(ManyExpertsOnRanks, ThreeAlongTensorInBf16) { expectSameBits(3, "tensor=3", DType::BF16); }
TEST_P(ManyExpertsOnRanks, FourAlongRowsAndColumns) { expectSameBits(4, "tensor=2x2", DType::F32); }
TEST_P(OtherExpertsOnRanks, FourAlongTensorInBf16) { expectSameBits(4, "tensor=4", DType::BF16); }
TEST_P(OtherExpertsOnRanks, TwoStagesOfTwoInBf16) {
  expectSameBits(4, "tensor=2,pipeline=2", DType::BF16);
}

INSTANTIATE_TEST_SUITE_P(Models, ManyExpertsOnRanks,
                         testing::Values("mixtral", "granitemoe", "gpt_oss-mxfp4", "deepseek_v2",
                                         "qwen3_next"),
                         testName);
INSTANTIATE_TEST_SUITE_P(Models, OtherExpertsOnRanks,
                         testing::Values("gpt_oss", "qwen2_moe", "sinter-experts",
                                         "nemotron_h-experts", "granitemoehybrid"),
                         testName);

class RowsOnRanks : public Ranks {};

TEST_P(RowsOnRanks, TwoAlongContext) { expectSameBits(2, "context=2", DType::F32); }
TEST_P(RowsOnRanks, FourAlongRowsAndColumns) { expectSameBits(4, "tensor=2x2", DType::F32); }
TEST_P(RowsOnRanks, TwoStagesOfTwoInBf16) { expectSameBits(4, "tensor=2,pipeline=2", DType::BF16); }
TEST_P(RowsOnRanks, TwoAlongContextInBf16) { expectSameBits(2, "context=2", DType::BF16); }
TEST_P(RowsOnRanks, FourAlongRowsAndColumnsInBf16) { expectSameBits(4, "tensor=2x2", DType::BF16); }

INSTANTIATE_TEST_SUITE_P(Models, RowsOnRanks, testing::Values("gpt2", "llama", "gemma2", "qwen3_5"),
                         testName);

class DepthOnRanks : public Ranks {};

TEST_P(DepthOnRanks, FourAlongDepthAndColumns) { expectSameBits(4, "tensor=2x1x2", DType::F32); }

// Slots are split over the depth: of two a rank has one, whose products have another order of sums
// where it is a row by itself.
TEST_P(DepthOnRanks, TwoAlongDepth) { expectSameBits(2, "tensor=2x1x1", DType::F32); }

INSTANTIATE_TEST_SUITE_P(Models, DepthOnRanks, testing::Values("llama", "mistral"), testName);

class QuantizedRanks : public testing::TestWithParam<std::tuple<std::string, Weights>> {
protected:
  void expectSameBits(size_t ranks, const std::string &grid) {
    auto [name, weights] = GetParam();
    expectSameLogits(name, ranks, grid, DType::F32, weights);
  }
};

// A vocabulary of 67 is padded, and so are its scales.
TEST_P(QuantizedRanks, TwoAlongTensor) { expectSameBits(2, "tensor=2"); }

class ManyQuantizedRanks : public QuantizedRanks {};

TEST_P(ManyQuantizedRanks, FourAlongTensor) { expectSameBits(4, "tensor=4"); }
TEST_P(ManyQuantizedRanks, FourAlongRowsAndColumns) { expectSameBits(4, "tensor=2x2"); }

const Weights kRounded[] = {{"Int8", "int8"},
                            {"Int4", "int4"},
                            {"Int8Rows", "int8", "int8", 0},
                            {"Int4Rows", "int4", "int8"}};

// Of files, tables are looked up in and, where they are the head, multiplied by.
const Weights kStored[] = {
    {.name = "StoredInt8", .stored = IntegerFormat{DType::I8, 4, DType::F16}},
    {.name = "StoredInt8Minima", .stored = IntegerFormat{DType::I8, 4, DType::BF16, true}},
    {.name = "StoredInt4", .stored = IntegerFormat{DType::I4, 4, DType::F32}},
    {.name = "StoredInt4Minima", .stored = IntegerFormat{DType::I4, 4, DType::F16, true}},
    {.name = "StoredInt4MinimaRows",
     .activations = "int8",
     .stored = IntegerFormat{DType::I4, 4, DType::F16, true}},
    {.name = "StoredFp8", .stored = IntegerFormat{DType::E4M3, 4, DType::F32}},
};

std::string quantizedTestName(const testing::TestParamInfo<QuantizedRanks::ParamType> &info) {
  return std::get<0>(info.param) + std::get<1>(info.param).name;
}
INSTANTIATE_TEST_SUITE_P(Rounded, QuantizedRanks,
                         testing::Combine(testing::Values("gpt2", "llama", "phi3", "qwen2_moe"),
                                          testing::ValuesIn(kRounded)),
                         quantizedTestName);
INSTANTIATE_TEST_SUITE_P(Stored, QuantizedRanks,
                         testing::Combine(testing::Values("llama", "gemma2", "phi3"),
                                          testing::ValuesIn(kStored)),
                         quantizedTestName);
INSTANTIATE_TEST_SUITE_P(Rounded, ManyQuantizedRanks,
                         testing::Combine(testing::Values("phi3"), testing::ValuesIn(kRounded)),
                         quantizedTestName);
INSTANTIATE_TEST_SUITE_P(Stored, ManyQuantizedRanks,
                         testing::Combine(testing::Values("gemma2"), testing::ValuesIn(kStored)),
                         quantizedTestName);

} // namespace
