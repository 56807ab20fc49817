// The expected numbers are those of transformers' ROPE_INIT_FUNCTIONS for heads of 16 components
// and 64 positions.

#include "frontends/Spec/ModelSpec.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

RotarySpec rotary(RopeType type, double theta) {
  RotarySpec spec;
  spec.type = type;
  spec.theta = theta;
  spec.dim = 16;
  spec.maxPositions = spec.originalMaxPositions = 64;
  return spec;
}

void expectFrequencies(const RotarySpec &spec, int64_t length, std::vector<float> expected,
                       float scaling = 1) {
  RotaryFrequencies actual = rotaryFrequencies(spec, length);
  ASSERT_EQ(actual.inverse.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual.inverse[i], expected[i], 2e-7 * expected[i]) << i;
  EXPECT_FLOAT_EQ(actual.attentionScaling, scaling);
}

TEST(Rotary, Default) {
  expectFrequencies(rotary(RopeType::Default, 10000), 64,
                    {1.0f, 0.316227764f, 0.100000001f, 0.0316227786f, 0.00999999978f,
                     0.00316227786f, 0.00100000005f, 0.000316227786f});
}

TEST(Rotary, Linear) {
  RotarySpec spec = rotary(RopeType::Linear, 500);
  spec.factor = 2.5;
  expectFrequencies(spec, 64,
                    {0.400000006f, 0.183945313f, 0.0845896974f, 0.0388996974f, 0.0178885441f,
                     0.00822628476f, 0.00378296641f, 0.00173964747f});
}

TEST(Rotary, DynamicStretchesBeyondTheTrainedLength) {
  RotarySpec spec = rotary(RopeType::Dynamic, 1000);
  spec.factor = 3;
  EXPECT_TRUE(spec.dependsOnLength());
  std::vector<float> within = {1.0f,          0.421696514f,  0.177827939f,   0.0749894157f,
                               0.0316227786f, 0.0133352149f, 0.00562341325f, 0.00237137382f};
  expectFrequencies(spec, 1, within);
  expectFrequencies(spec, 64, within);
  expectFrequencies(spec, 100,
                    {1.0f, 0.366154611f, 0.134069189f, 0.0490900539f, 0.017974548f, 0.00658146385f,
                     0.00240983325f, 0.00088237162f});
}

TEST(Rotary, QueriesGrowBeyondTheTrainedLength) {
  RotarySpec spec = rotary(RopeType::Yarn, 10000);
  EXPECT_EQ(spec.getQueryScale(1000), 1);
  spec.queryGrowth = 0.1;
  spec.growthLength = 64;
  EXPECT_EQ(spec.getQueryScale(63), 1);
  EXPECT_DOUBLE_EQ(spec.getQueryScale(64), 1 + 0.1 * std::log(2));
  EXPECT_DOUBLE_EQ(spec.getQueryScale(191), 1 + 0.1 * std::log(3));
  spec.growthOffset = 1;
  EXPECT_DOUBLE_EQ(spec.getQueryScale(63), 1 + 0.1 * std::log(2));
  spec.turns = false;
  expectFrequencies(spec, 64, std::vector<float>(8, 0.0f));
}

TEST(Rotary, ProportionalTurnsTheFirstPairs) {
  RotarySpec spec = rotary(RopeType::Proportional, 10000);
  spec.turnedShare = 0.3; // of 8 pairs 2.4
  expectFrequencies(spec, 64, {1.0f, 0.316227764f, 0, 0, 0, 0, 0, 0});
  spec.turnedShare = 0.25;
  spec.factor = 2;
  expectFrequencies(spec, 64, {0.5f, 0.158113882f, 0, 0, 0, 0, 0, 0});
}

TEST(Rotary, Llama3) {
  RotarySpec spec = rotary(RopeType::Llama3, 300);
  spec.factor = 8;
  spec.originalMaxPositions = 32;
  expectFrequencies(spec, 64,
                    {1.0f, 0.275227249f, 0.045715414f, 0.014722771f, 0.00721687777f, 0.00353760412f,
                     0.00173407979f, 0.000850019569f});
}

TEST(Rotary, Yarn) {
  RotarySpec spec = rotary(RopeType::Yarn, 100);
  spec.factor = 4;
  spec.originalMaxPositions = 16;
  std::vector<float> expected = {1.0f,          0.351463318f,  0.079056941f,   0.0444569848f,
                                 0.0250000004f, 0.0140585322f, 0.00790569466f, 0.00444569858f};
  expectFrequencies(spec, 64, expected, 1.13862944f);
  spec.factor.reset(); // 64 / 16
  expectFrequencies(spec, 64, expected, 1.13862944f);
  spec.attentionFactor = 0.5;
  expectFrequencies(spec, 64, expected, 0.5f);
}

TEST(Rotary, YarnWithMscaleAndWithoutTruncation) {
  RotarySpec spec = rotary(RopeType::Yarn, 100);
  spec.factor = 4;
  spec.originalMaxPositions = 16;
  spec.mscale = 0.7;
  spec.mscaleAllDim = 1.3;
  spec.betaFast = 16;
  spec.betaSlow = 2;
  spec.truncate = false;
  expectFrequencies(spec, 64,
                    {1.0f, 0.140585333f, 0.079056941f, 0.0444569848f, 0.0250000004f, 0.0140585322f,
                     0.00790569466f, 0.00444569858f},
                    0.929523492f);
}

TEST(Rotary, LongRopeChoosesItsFactorsByTheLength) {
  RotarySpec spec = rotary(RopeType::LongRope, 100);
  spec.originalMaxPositions = 16;
  spec.shortFactor = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  spec.longFactor = {2, 3, 4, 5, 6, 7, 8, 9};
  expectFrequencies(spec, 16,
                    {1.0f, 0.511219382f, 0.263523132f, 0.136790738f, 0.0714285746f, 0.0374894217f,
                     0.0197642352f, 0.0104604671f},
                    1.22474487f);
  expectFrequencies(spec, 17,
                    {0.5f, 0.187447101f, 0.079056941f, 0.0355655886f, 0.0166666675f, 0.00803344697f,
                     0.00395284733f, 0.00197586603f},
                    1.22474487f);
}

TEST(Rotary, OddPartsAreRoundedUp) {
  RotarySpec spec = rotary(RopeType::Default, 10000);
  spec.dim = 5;
  EXPECT_EQ(spec.getWidth(), 6);
  EXPECT_EQ(rotaryFrequencies(spec, 64).inverse.size(), 3u);
}

TEST(Alibi, SlopesOfAPowerOfTwo) {
  EXPECT_EQ(getAlibiSlopes(8), (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f,
                                                   0.015625f, 0.0078125f, 0.00390625f}));
}

TEST(Alibi, SlopesBetweenPowersOfTwo) {
  std::vector<float> slopes = getAlibiSlopes(6);
  ASSERT_EQ(slopes.size(), 6u);
  EXPECT_FLOAT_EQ(slopes[3], 0.00390625f);
  EXPECT_FLOAT_EQ(slopes[4], 0.5f);
  EXPECT_FLOAT_EQ(slopes[5], 0.125f);
}

} // namespace
