#include "compiler/Memory/Packer.h"
#include "test/unit/Memory/Instances.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

/// Offsets are aligned, nothing sticks out and no two that live at once share a byte (all pairs).
void expectSound(const std::vector<LiveBuffer> &buffers, const Packing &packing,
                 int64_t alignment = 64) {
  ASSERT_EQ(packing.offsets.size(), buffers.size());
  EXPECT_GE(packing.arenaBytes, packing.lowerBound);
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t end = packing.offsets[i] + buffers[i].bytes;
    EXPECT_GE(packing.offsets[i], 0);
    EXPECT_EQ(packing.offsets[i] % alignment, 0);
    EXPECT_LE(end, packing.arenaBytes);
    for (size_t j = 0; j < i; ++j) {
      bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      bool share =
          packing.offsets[j] < end && packing.offsets[i] < packing.offsets[j] + buffers[j].bytes;
      ASSERT_FALSE(together && share) << "buffers " << j << " and " << i;
    }
  }
}

double ratio(const Packing &packing) {
  return double(packing.arenaBytes) / double(packing.lowerBound);
}

TEST(Packer, NothingTakesNoArena) {
  Packing packing = Packer().pack({});
  EXPECT_EQ(packing.arenaBytes, 0);
  EXPECT_EQ(packing.lowerBound, 0);
  EXPECT_TRUE(packing.offsets.empty());
}

TEST(Packer, OneBufferIsRoundedUp) {
  std::vector<LiveBuffer> buffers = {{100, 3, 3}};
  Packing packing = Packer().pack(buffers);
  EXPECT_EQ(packing.offsets[0], 0);
  EXPECT_EQ(packing.arenaBytes, 128);
  EXPECT_EQ(packing.lowerBound, 128);
}

TEST(Packer, LivesThatShareACommandDoNotShareBytes) {
  std::vector<LiveBuffer> buffers = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, 128);
}

TEST(Packer, EmptyBuffersTakeNothing) {
  std::vector<LiveBuffer> buffers = {{0, 0, 9}, {64, 0, 9}, {0, 4, 4}};
  Packing packing = Packer().pack(buffers);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(packing.arenaBytes, 64);
}

TEST(Packer, OtherAlignments) {
  std::vector<LiveBuffer> buffers = {{1, 0, 0}, {1, 0, 0}, {4097, 0, 0}};
  Packing packing = Packer(4096).pack(buffers);
  expectSound(buffers, packing, 4096);
  EXPECT_EQ(packing.arenaBytes, 4 * 4096);
}

TEST(Packer, BytesBeyond32Bits) {
  std::vector<LiveBuffer> buffers = {{int64_t(1) << 40, 0, 2}, {int64_t(3) << 40, 1, 3}};
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, int64_t(4) << 40);
}

// In order of time, the long-lived buffer lands on top of a short-lived large one.
TEST(Packer, LongLivesGoBelowShortOnes) {
  std::vector<LiveBuffer> buffers = {{1024, 0, 1}, {64, 1, 100}, {2048, 3, 4}, {64, 4, 100}};
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, packing.lowerBound);
}

// Best fit by size alone leaves a hole that no later buffer fills: two tall neighbours must stand
// on the same side of the one that spans both.
TEST(Packer, SpanningBufferBetweenTallOnes) {
  std::vector<LiveBuffer> buffers = {{640, 0, 4}, {640, 6, 9}, {320, 3, 7},
                                     {320, 0, 2}, {320, 8, 9}, {640, 5, 5}};
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, packing.lowerBound);
}

// A staircase: each buffer overlaps with its two neighbours only, sizes alternate.
TEST(Packer, Staircase) {
  std::vector<LiveBuffer> buffers;
  for (int64_t i = 0; i < 200; ++i)
    buffers.push_back({i % 2 ? 4096 : 64, i, i + 1});
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, packing.lowerBound);
}

// Nested lives, as activations kept for a backward pass.
TEST(Packer, Nested) {
  std::vector<LiveBuffer> buffers;
  for (int64_t i = 0; i < 300; ++i)
    buffers.push_back({64 * (1 + i * 37 % 11), i, 1000 - i});
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_EQ(packing.arenaBytes, packing.lowerBound);
}

TEST(Packer, DecoderLayers) {
  for (int64_t layers : {1, 12, 48}) {
    std::vector<LiveBuffer> buffers = decoderLayers(layers);
    Packing packing = Packer().pack(buffers);
    expectSound(buffers, packing);
    EXPECT_EQ(packing.arenaBytes, packing.lowerBound) << layers << " layers";
  }
}

// A step of GPT-2 124M as one microbatch with tensor=2: seven buffers of 74 and 147 MiB, of which
// the first orders leave 11 % over.
TEST(Packer, StepOnTwoRanks) {
  std::vector<LiveBuffer> buffers;
  std::ifstream file(SINTER_TEST_INPUTS "/step-on-two-ranks.txt");
  for (LiveBuffer buffer; file >> buffer.bytes >> buffer.first >> buffer.last;) {
    buffer.bytes *= 64;
    buffers.push_back(buffer);
  }
  ASSERT_EQ(buffers.size(), 1145u);
  Packing packing = Packer().pack(buffers);
  expectSound(buffers, packing);
  EXPECT_LE(ratio(packing), 1.03);
}

TEST(Packer, RandomInstancesAreSound) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LiveBuffer> buffers =
        randomLives(random, 1 + trial % 40, 1 + trial % 17, 1 + trial % 9);
    expectSound(buffers, Packer(64, 20'000).pack(buffers));
  }
}

TEST(Packer, RandomInstancesAreTight) {
  Random random(2);
  for (int64_t mean : {3, 10, 50})
    for (int64_t count : {200, 1000}) {
      double sum = 0;
      for (int trial = 0; trial < 5; ++trial) {
        std::vector<LiveBuffer> buffers = randomLives(random, count, count, mean);
        Packing packing = Packer().pack(buffers);
        expectSound(buffers, packing);
        sum += ratio(packing);
      }
      EXPECT_LE(sum / 5, 1.03) << count << " buffers that live " << mean;
    }
}

TEST(Packer, TenThousandBuffers) {
  Random random(3);
  for (int64_t mean : {4, 40, 1000}) {
    std::vector<LiveBuffer> buffers = randomLives(random, 10'000, 10'000, mean);
    Packing packing = Packer().pack(buffers);
    expectSound(buffers, packing);
    EXPECT_LE(ratio(packing), 1.05) << "buffers that live " << mean;
  }
}

TEST(Packer, EqualInputGivesEqualOutput) {
  Random random(4);
  std::vector<LiveBuffer> buffers = randomLives(random, 2000, 500, 30);
  EXPECT_EQ(Packer().pack(buffers).offsets, Packer().pack(buffers).offsets);
}

TEST(Packer, NoBudgetStillPacks) {
  Random random(5);
  std::vector<LiveBuffer> buffers = randomLives(random, 500, 500, 20);
  expectSound(buffers, Packer(64, 0).pack(buffers));
}

TEST(PackerDeathTest, LifeThatEndsBeforeItBegins) {
  std::vector<LiveBuffer> buffers = {{64, 2, 1}};
  EXPECT_DEATH(Packer().pack(buffers), "lives at least once");
}

TEST(PackerDeathTest, NegativeSize) {
  std::vector<LiveBuffer> buffers = {{-64, 0, 1}};
  EXPECT_DEATH((void)Packer().lowerBound(buffers), "lives at least once");
}

} // namespace
