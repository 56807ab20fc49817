#include "frontends/Weights/RandomWeights.h"
#include "runtime/Base/HalfFloat.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

std::vector<float> numbers(uint64_t seed, std::string_view name, size_t count) {
  std::vector<float> values(count);
  fillRandom(seed, name, 0.5, 2, DType::F32, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST(RandomWeights, HaveTheMeanAndDeviation) {
  double sum = 0, squares = 0;
  std::vector<float> values = numbers(1, "w", 100'000);
  for (float value : values) {
    sum += value;
    squares += (value - 0.5) * (value - 0.5);
    EXPECT_LE(std::abs(value - 0.5), 7.0);
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 100'000), 2, 0.02);
}

TEST(RandomWeights, DependOnSeedNameAndIndexOnly) {
  EXPECT_EQ(numbers(1, "w", 10), numbers(1, "w", 10));
  EXPECT_NE(numbers(1, "w", 10), numbers(2, "w", 10));
  EXPECT_NE(numbers(1, "w", 10), numbers(1, "v", 10));
  std::vector<float> some = numbers(1, "w", 5), more = numbers(1, "w", 10);
  more.resize(5);
  EXPECT_EQ(some, more);
}

TEST(RandomWeights, AreRoundedToTheType) {
  float wide;
  uint16_t narrow;
  fillRandom(3, "w", 0, 1, DType::F32, std::as_writable_bytes(std::span(&wide, 1)));
  fillRandom(3, "w", 0, 1, DType::BF16, std::as_writable_bytes(std::span(&narrow, 1)));
  EXPECT_EQ(narrow, floatToBf16(wide));
  fillRandom(3, "w", 0, 1, DType::F16, std::as_writable_bytes(std::span(&narrow, 1)));
  EXPECT_EQ(narrow, floatToF16(wide));
}

TEST(RandomWeights, AreWeightFiles) {
  ExpectedTensor tensors[] = {{"norm.weight", {3}}, {"a.weight", {4, 5}}, {"a.bias", {4}}};
  auto weights = randomWeights(tensors, 7);
  ASSERT_TRUE(weights) << weights.error().message();
  EXPECT_TRUE(checkTensors(tensors, *weights, [](std::string_view) { return false; }));
  float factor, bias;
  std::memcpy(&factor, weights->find("norm.weight")->data.data(), sizeof(factor));
  std::memcpy(&bias, weights->find("a.bias")->data.data(), sizeof(bias));
  EXPECT_NEAR(factor, 1, 0.08);
  EXPECT_NEAR(bias, 0, 0.08);
  weights->release();
  float again;
  std::memcpy(&again, weights->find("norm.weight")->data.data(), sizeof(again));
  EXPECT_EQ(again, factor);
}

TEST(RandomWeights, NeedNamesOfTheirOwn) {
  ExpectedTensor tensors[] = {{"w", {3}}, {"w", {4}}};
  auto weights = randomWeights(tensors, 7);
  ASSERT_FALSE(weights);
  EXPECT_NE(weights.error().message().find("named 'w'"), std::string::npos);
}

} // namespace
