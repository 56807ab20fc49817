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

/// The logits of a sequence in chunks of five tokens, then those of ragged slots.
std::vector<float> computeLogits(const std::string &name, const std::string &grid, DType type,
                                 SharedExecutables &shared, runtime::Communicator *communicator) {
  CompiledModel model(name);
  model.communicator = communicator;
  model.shared = &shared;
  CompileOptions options = makeOptions({"logits"}, 1, 5, type);
  options.grid = grid;
  model.compile(options);
  std::vector<float> logits = model.logits();
  options = makeOptions({"prefill", "decode"}, 2, 7, type);
  options.grid = grid;
  model.compileForLogits(options);
  model.runRagged([&](std::span<const float> row, int64_t) {
    logits.insert(logits.end(), row.begin(), row.end());
  });
  return logits;
}

class Ranks : public testing::TestWithParam<std::string> {
protected:
  void expectSameBits(size_t ranks, const std::string &grid, DType type) {
    SharedExecutables shared;
    std::vector<float> one = computeLogits(GetParam(), "", type, shared, nullptr);
    std::mutex mutex;
    size_t compared = 0;
    auto result = runtime::runThreadRanks(ranks, [&](runtime::Communicator &communicator) {
      std::vector<float> own = computeLogits(GetParam(), grid, type, shared, &communicator);
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
                         testing::Values("gpt2", "llama", "gemma2", "sinter-mixed", "wide-llama"),
                         testName);

class RowsOnRanks : public Ranks {};

TEST_P(RowsOnRanks, TwoAlongContext) { expectSameBits(2, "context=2", DType::F32); }
TEST_P(RowsOnRanks, FourAlongRowsAndColumns) { expectSameBits(4, "tensor=2x2", DType::F32); }
TEST_P(RowsOnRanks, TwoStagesOfTwoInBf16) { expectSameBits(4, "tensor=2,pipeline=2", DType::BF16); }
TEST_P(RowsOnRanks, TwoAlongContextInBf16) { expectSameBits(2, "context=2", DType::BF16); }
TEST_P(RowsOnRanks, FourAlongRowsAndColumnsInBf16) { expectSameBits(4, "tensor=2x2", DType::BF16); }

INSTANTIATE_TEST_SUITE_P(Models, RowsOnRanks, testing::Values("gpt2", "llama", "gemma2"), testName);

class DepthOnRanks : public Ranks {};

TEST_P(DepthOnRanks, FourAlongDepthAndColumns) { expectSameBits(4, "tensor=2x1x2", DType::F32); }

// Slots are split over the depth: of two a rank has one, whose products have another order of sums
// where it is a row by itself.
TEST_P(DepthOnRanks, TwoAlongDepth) { expectSameBits(2, "tensor=2x1x1", DType::F32); }

INSTANTIATE_TEST_SUITE_P(Models, DepthOnRanks, testing::Values("llama", "mistral"), testName);

} // namespace
