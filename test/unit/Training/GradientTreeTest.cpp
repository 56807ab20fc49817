#include "runtime/Train/GradientTree.h"
#include "test/unit/Training/Sums.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <tuple>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;

namespace {

/// What a rank has in its last buffer after the microbatches with these gradients.
float runBuffers(const GradientTree &tree, std::span<const float> gradients) {
  EXPECT_EQ(tree.getMicrobatches(), gradients.size());
  std::vector<float> buffers(tree.getBuffers());
  for (size_t i = 0; i < gradients.size(); ++i) {
    buffers[0] += gradients[i];
    for (uint64_t carry = 1; carry <= tree.carriesAfter(i); ++carry) {
      buffers[carry] += buffers[carry - 1];
      buffers[carry - 1] = 0;
    }
  }
  for (size_t i = 0; i + 1 < buffers.size(); ++i)
    EXPECT_EQ(buffers[i], 0) << "buffer " << i;
  return buffers.back();
}

/// Numbers of wild magnitudes, of which any other order gives other bits.
std::vector<float> wildNumbers(size_t count) {
  std::mt19937 random(7);
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(std::ldexp(float(int(random() % 2001) - 1000), int(random() % 24)));
  return numbers;
}

TEST(GradientTree, IsTheSameSumOverAnyRanks) {
  size_t shared = 0;
  for (uint64_t accumulate = 1; accumulate <= 40; ++accumulate)
    for (uint64_t leaves = 1; leaves <= 40; ++leaves) {
      std::vector<float> gradients = wildNumbers(accumulate);
      float expected = sumOfTree<float>(gradients, leaves);
      for (uint64_t ranks = 1; ranks <= accumulate; ++ranks) {
        auto tree = GradientTree::make(accumulate, leaves, ranks);
        if (ranks == 1)
          ASSERT_TRUE(tree);
        if (!tree)
          continue;
        std::vector<float> terms;
        for (uint64_t rank = 0; rank < ranks; ++rank)
          terms.push_back(
              runBuffers(*tree, std::span(gradients).subspan(rank * tree->getMicrobatches(),
                                                             tree->getMicrobatches())));
        EXPECT_EQ(sumOfTree<float>(terms, ranks), expected)
            << accumulate << " " << leaves << " " << ranks;
        shared += ranks > 1;
      }
    }
  EXPECT_GT(shared, 1000u);
}

TEST(GradientTree, IsTheSameSumWhereRanksSumEachMicrobatch) {
  for (uint64_t accumulate = 2; accumulate <= 64; ++accumulate)
    for (uint64_t ranks = 2; ranks <= accumulate; ++ranks) {
      auto tree = GradientTree::make(accumulate, accumulate, ranks, Sharing::Interleaved);
      if (!tree) {
        EXPECT_TRUE(!std::has_single_bit(ranks) ||
                    !GradientTree::make(accumulate, accumulate, ranks));
        continue;
      }
      std::vector<float> gradients = wildNumbers(accumulate), rounds;
      for (uint64_t i = 0; i < tree->getMicrobatches(); ++i) {
        std::vector<float> terms;
        for (uint64_t rank = 0; rank < ranks; ++rank)
          terms.push_back(gradients[tree->numberOf(rank, i)]);
        rounds.push_back(sumOfTree<float>(terms, ranks));
      }
      EXPECT_EQ(runBuffers(*tree, rounds), sumOfTree<float>(gradients, accumulate))
          << accumulate << " " << ranks;
    }
  EXPECT_TRUE(GradientTree::make(16, 1, 1, Sharing::Interleaved)); // one rank adds as it likes
  auto refused = GradientTree::make(16, 8, 2, Sharing::Interleaved);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().ends_with("give `leaves` 16, or `zero` 1"))
      << refused.error().message();
}

TEST(GradientTree, HasNoMoreBuffersThanItNeeds) {
  auto buffers = [](uint64_t accumulate, uint64_t leaves, uint64_t ranks = 1) {
    return GradientTree::make(accumulate, leaves, ranks)->getBuffers();
  };
  EXPECT_EQ(buffers(1, 8), 1u);
  EXPECT_EQ(buffers(2, 8), 1u); // two leaves of one microbatch
  EXPECT_EQ(buffers(3, 8), 2u);
  EXPECT_EQ(buffers(4, 8), 2u);
  EXPECT_EQ(buffers(5, 8), 3u);
  EXPECT_EQ(buffers(8, 8), 3u);
  EXPECT_EQ(buffers(16, 8), 4u);
  EXPECT_EQ(buffers(1 << 20, 8), 4u);
  EXPECT_EQ(buffers(1 << 20, 1), 1u);
  EXPECT_EQ(buffers(1 << 20, 1 << 20), 20u);
  EXPECT_EQ(buffers(8, 8, 2), 2u);
  EXPECT_EQ(buffers(8, 8, 4), 1u);
  EXPECT_EQ(buffers(8, 8, 8), 1u);
}

TEST(GradientTree, SaysWhichSumItIs) {
  auto leaves = [](uint64_t accumulate, uint64_t leaves, uint64_t ranks = 1) {
    return GradientTree::make(accumulate, leaves, ranks)->getLeaves();
  };
  EXPECT_EQ(leaves(1, 8), 1u);
  EXPECT_EQ(leaves(2, 8), 1u);
  EXPECT_EQ(leaves(3, 2), 2u);
  EXPECT_EQ(leaves(4, 8), leaves(4, 16));
  EXPECT_EQ(leaves(9, 8), 5u);
  EXPECT_EQ(leaves(32, 8), leaves(32, 8, 4));
}

TEST(GradientTree, RefusesBlocksThatAreNoSubtrees) {
  auto message = [](uint64_t accumulate, uint64_t leaves, uint64_t ranks) {
    auto tree = GradientTree::make(accumulate, leaves, ranks);
    return tree ? "" : tree.error().message();
  };
  EXPECT_EQ(message(6, 8, 2),
            "`accumulate` 6: over 2 ranks of the axis data, with `leaves` 8, no rank's gradients "
            "are 1, 2, 4, ... leaves of the sum; give `accumulate` 4 or 8, or `leaves` 2");
  EXPECT_EQ(
      message(1, 8, 2),
      "`accumulate` 1: the axis data divides a step's microbatches, not their rows, over its 2 "
      "ranks; give `accumulate` 2");
  for (auto [accumulate, leaves, ranks, remedy] :
       {std::tuple(5, 8, 2, "`accumulate` 4 or 8"), std::tuple(1, 8, 4, "`accumulate` 4"),
        std::tuple(12, 8, 4, "`accumulate` 8 or 16, or `leaves` 4"),
        std::tuple(12, 4, 3, "`accumulate` 9, or `leaves` 3"), std::tuple(16, 8, 16, "`leaves` 16"),
        std::tuple(17, 8, 16, "`accumulate` 16 or 32 and `leaves` 16")}) {
    std::string text = message(uint64_t(accumulate), uint64_t(leaves), uint64_t(ranks));
    EXPECT_TRUE(text.ends_with("; give " + std::string(remedy))) << text;
  }
  for (uint64_t ranks = 2; ranks <= 8; ++ranks)
    for (uint64_t accumulate = ranks; accumulate <= 64; accumulate += ranks)
      EXPECT_EQ(message(accumulate, ranks, ranks), "") << "what is proposed";
}

} // namespace
