#include "runtime/Data/BatchLoader.h"
#include "runtime/Data/Permutation.h"
#include "test/unit/Training/Tokens.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;

namespace {

using Ids = std::vector<int32_t>;

BatchOptions sized(uint64_t batch, uint64_t sequence, DataOrder order) {
  BatchOptions options;
  options.batch = batch;
  options.sequence = sequence;
  options.order = order;
  options.seed = 5;
  return options;
}

TEST(Permutation, VisitsEachOnce) {
  for (uint64_t count : {1, 2, 3, 5, 16, 17, 255, 256, 257, 1000, 65537}) {
    Permutation permutation(count, 3, 0);
    std::vector<bool> seen(count);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t image = permutation(i);
      ASSERT_LT(image, count);
      EXPECT_FALSE(seen[image]) << count << ": " << image;
      seen[image] = true;
    }
  }
}

TEST(Permutation, SeedsAndEpochsDiffer) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed : {0, 1, 2})
    for (uint64_t epoch : {0, 1, 2}) {
      Permutation permutation(100, seed, epoch);
      std::vector<uint64_t> order;
      for (uint64_t i = 0; i < 100; ++i)
        order.push_back(permutation(i));
      orders.insert(order);
    }
  EXPECT_EQ(orders.size(), 9u);
}

TEST(Permutation, FewElementsTakeEveryOrder) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    Permutation permutation(3, 1, epoch);
    orders.insert({permutation(0), permutation(1), permutation(2)});
  }
  EXPECT_EQ(orders.size(), 6u);
}

// Each image is as likely for each index: over many epochs the mean image is the middle.
TEST(Permutation, IsFair) {
  constexpr uint64_t count = 37, epochs = 4000;
  for (uint64_t index : {uint64_t(0), uint64_t(1), count - 1}) {
    double sum = 0;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch)
      sum += double(Permutation(count, 9, epoch)(index));
    // The deviation of the mean is 10.7 / sqrt(4000) = 0.17.
    EXPECT_NEAR(sum / epochs, double(count - 1) / 2, 0.7);
  }
}

TEST(Batches, SequentialReadsAsTheCommandLineSays) {
  BatchReader reader(countingStream(20), sized(2, 3, DataOrder::Sequential));
  Microbatch batch;
  reader.read(0, batch);
  EXPECT_EQ(batch.tokens, (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(batch.targets, (Ids{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch.valid, 6u);
  EXPECT_TRUE(batch.first.empty());
  reader.read(2, batch);
  EXPECT_EQ(batch.tokens, (Ids{12, 13, 14, 15, 16, 17}));
  reader.read(3, batch); // wraps: the stream has 20
  EXPECT_EQ(batch.tokens, (Ids{18, 19, 0, 1, 2, 3}));
  EXPECT_EQ(batch.targets, (Ids{19, 0, 1, 2, 3, 4}));
}

TEST(Batches, ShuffledVisitsEachWindowOncePerEpoch) {
  // 10 windows of 3, and 2 tokens left over; 4 rows a batch, so epochs end inside batches.
  BatchReader reader(countingStream(33), sized(4, 3, DataOrder::Shuffled));
  std::vector<int32_t> starts;
  Microbatch batch;
  for (uint64_t number = 0; number < 10; ++number) {
    reader.read(number, batch);
    for (size_t row = 0; row < 4; ++row) {
      int32_t start = batch.tokens[row * 3];
      EXPECT_EQ(start % 3, 0);
      for (int32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(batch.tokens[row * 3 + size_t(i)], start + i);
        EXPECT_EQ(batch.targets[row * 3 + size_t(i)], start + i + 1);
      }
      starts.push_back(start);
    }
  }
  std::set<std::vector<int32_t>> epochs;
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<int32_t> visited(starts.begin() + long(epoch) * 10,
                                 starts.begin() + long(epoch + 1) * 10);
    epochs.insert(visited);
    std::sort(visited.begin(), visited.end());
    EXPECT_EQ(visited, (Ids{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}));
  }
  EXPECT_EQ(epochs.size(), 4u);
}

TEST(Batches, DocumentMaskHidesOtherDocuments) {
  BatchOptions options = sized(1, 7, DataOrder::Sequential);
  options.endOfText = 9;
  std::vector<TokenFile> files;
  files.push_back(tokenFile({1, 2, 9, 3, 4, 9, 5, 6}));
  BatchReader reader(TokenStream(std::move(files)), options);
  Microbatch batch;
  reader.read(0, batch);
  EXPECT_EQ(batch.targets, (Ids{2, 9, -1, 4, 9, -1, 6}));
  EXPECT_EQ(batch.first, (Ids{0, 0, 0, 3, 3, 3, 6}));
  EXPECT_EQ(batch.valid, 5u);
}

TEST(Batches, RowsAreMaskedAlone) {
  BatchOptions options = sized(2, 3, DataOrder::Sequential);
  options.endOfText = 9;
  std::vector<TokenFile> files;
  files.push_back(tokenFile({1, 9, 2, 3, 9, 4, 5}));
  BatchReader reader(TokenStream(std::move(files)), options);
  Microbatch batch;
  reader.read(0, batch);
  EXPECT_EQ(batch.first, (Ids{0, 0, 2, 0, 0, 2}));
  EXPECT_EQ(batch.targets, (Ids{9, -1, 3, 9, -1, 5}));
}

TEST(Batches, EvaluationReadsEverythingOnce) {
  BatchReader reader(countingStream(15), sized(2, 3, DataOrder::Shuffled));
  ASSERT_EQ(reader.getEvaluationCount(), 3u);
  Microbatch batch;
  uint64_t valid = 0;
  for (uint64_t number = 0; number < 3; ++number) {
    reader.readForEvaluation(number, batch);
    valid += batch.valid;
  }
  EXPECT_EQ(valid, 14u);
  EXPECT_EQ(batch.tokens, (Ids{12, 13, 0, 0, 0, 0}));
  EXPECT_EQ(batch.targets, (Ids{13, 14, -1, -1, -1, -1}));
}

TEST(Batches, SeedsAreTheMicrobatchsOwn) {
  BatchReader reader(countingStream(100), sized(1, 3, DataOrder::Shuffled));
  std::set<std::array<int32_t, 2>> seeds;
  Microbatch batch;
  for (uint64_t number = 0; number < 1000; ++number) {
    reader.read(number, batch);
    seeds.insert(batch.seed);
  }
  EXPECT_EQ(seeds.size(), 1000u);
}

TEST(Batches, RefusesFewerTokensThanAStep) {
  BatchOptions options = sized(2, 8, DataOrder::Shuffled);
  EXPECT_TRUE(BatchReader(countingStream(17), options).check(1));
  auto result = BatchReader(countingStream(16), options).check(1);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("there are 16 tokens, a step of 2 x 8 tokens needs 17"),
            std::string::npos)
      << result.error().message();
  EXPECT_FALSE(BatchReader(countingStream(17), options).check(2));
  EXPECT_TRUE(BatchReader(countingStream(33), options).check(2));
}

TEST(BatchLoader, GivesTheReadersBatchesFromAnyStep) {
  BatchReader reader(countingStream(100), sized(2, 3, DataOrder::Shuffled));
  for (const StepShare &share :
       {StepShare{1, 0, 1}, StepShare{3, 0, 3}, StepShare{4, 2, 2}, StepShare{6, 1, 3, 2}})
    for (uint64_t first : {0, 7}) {
      BatchLoader loader(reader, share, first);
      for (uint64_t step = first; step < first + 20; ++step) {
        std::span<const Microbatch> batches = loader.next();
        ASSERT_EQ(batches.size(), share.count);
        for (uint64_t i = 0; i < share.count; ++i) {
          Microbatch expected;
          uint64_t number = step * share.total + share.begin + i * share.stride;
          reader.read(number, expected);
          EXPECT_EQ(batches[i].tokens, expected.tokens);
          EXPECT_EQ(batches[i].targets, expected.targets);
          EXPECT_EQ(batches[i].seed, expected.seed);
          EXPECT_EQ(batches[i].seed, reader.seedOf(number));
        }
      }
    }
}

TEST(BatchLoader, CountsItsMemory) {
  BatchOptions options = sized(2, 3, DataOrder::Shuffled);
  EXPECT_EQ(BatchLoader::bytes(options, 2), 2u * 2 * 2 * 6 * 4);
  options.endOfText = 0;
  EXPECT_EQ(BatchLoader::bytes(options, 2), 2u * 2 * 3 * 6 * 4);
}

} // namespace
