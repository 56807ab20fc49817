//===- RowsTrainingTest.cpp - Rows kernels of backward passes ----------------===//

#include "dialects/Sinter/Philox.h"
#include "test/unit/Codegen/DifferentialTest.h"
#include "test/unit/Training/Sums.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {
/// A kernel from a pattern, in which {{ stands for {.
template <typename... Values> std::string make(const char *pattern, Values &&...values) {
  return llvm::formatv(pattern, std::forward<Values>(values)...).str();
}

/// Ids of a table of `rows` rows, some before it and some beyond it.
MakeArgument withIds(int64_t rows) {
  return [=](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor ids(type);
    for (int64_t i = 0; i < ids.getNumElements(); ++i)
      ids[i] = i % 5 == 3 ? -100 : i % 7 == 5 ? double(rows) : double(i * 3 % rows);
    return ids;
  };
}

constexpr const char *kColumnSum = R"(
func.func private @kernel(%x: tensor<{0}x{1}>) -> tensor<{2}xf32> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.column_sum %x : (tensor<{0}x{1}>) -> tensor<{2}xf32>
  return %0 : tensor<{2}xf32>
})";

constexpr const char *kRmsNormGrad = R"(
func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: tensor<{1}xf32>, %g: tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>) attributes {{sinter.kernel = "rows"} {{
  %0:2 = sinter.rms_norm_grad %x, %w, %g {{eps = 1.0e-5} : (tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>)
  return %0#0, %0#1 : tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>
})";

constexpr const char *kLayerNormGrad = R"(
func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: tensor<{1}xf32>, %g: tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>, tensor<{2}x{1}xf32>) attributes {{sinter.kernel = "rows"} {{
  %0:3 = sinter.layer_norm_grad %x, %w, %g {{eps = 1.0e-5} : (tensor<{0}x{1}xf32>, tensor<{1}xf32>, tensor<{0}x{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>, tensor<{2}x{1}xf32>)
  return %0#0, %0#1, %0#2 : tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>, tensor<{2}x{1}xf32>
})";

constexpr const char *kCrossEntropy = R"(
func.func private @kernel(%x: tensor<7x{0}xf32>, %t: tensor<7xi32>) -> tensor<7xf32> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.cross_entropy %x, %t {{z_loss = {1} : f64} : (tensor<7x{0}xf32>, tensor<7xi32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
})";

constexpr const char *kPaddedCrossEntropyGrad = R"(
func.func private @kernel(%x: tensor<7x{0}xf32>, %t: tensor<7xi32>, %g: tensor<7xf32>) -> tensor<7x{1}xbf16> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.cross_entropy_grad %x, %t, %g : (tensor<7x{0}xf32>, tensor<7xi32>, tensor<7xf32>) -> tensor<7x{0}xf32>
  %1 = sinter.cast %0 : (tensor<7x{0}xf32>) -> tensor<7x{0}xbf16>
  %2 = sinter.constant dense<0.0> : tensor<7x{2}xbf16>
  %3 = sinter.concat %1, %2 {{dim = 1 : i64} : (tensor<7x{0}xbf16>, tensor<7x{2}xbf16>) -> tensor<7x{1}xbf16>
  return %3 : tensor<7x{1}xbf16>
})";

constexpr const char *kCrossEntropyGrad = R"(
func.func private @kernel(%x: tensor<7x{0}x{2}>, %t: tensor<7xi32>, %g: tensor<7xf32>) -> tensor<7x{0}x{2}> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.cross_entropy_grad %x, %t, %g {{z_loss = {1} : f64} : (tensor<7x{0}x{2}>, tensor<7xi32>, tensor<7xf32>) -> tensor<7x{0}x{2}>
  return %0 : tensor<7x{0}x{2}>
})";

constexpr const char *kLossAndGradient = R"(
func.func private @kernel(%x: tensor<7x{0}xf32>, %t: tensor<7xi32>, %g: tensor<7xf32>) -> (tensor<7x{0}xf32>, tensor<7xf32>) attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.cross_entropy_grad %x, %t, %g : (tensor<7x{0}xf32>, tensor<7xi32>, tensor<7xf32>) -> tensor<7x{0}xf32>
  %1 = sinter.cross_entropy %x, %t : (tensor<7x{0}xf32>, tensor<7xi32>) -> tensor<7xf32>
  return %0, %1 : tensor<7x{0}xf32>, tensor<7xf32>
})";

constexpr const char *kDropout = R"(
func.func private @kernel(%x: tensor<{0}x{2}>, %s: tensor<2xi32>) -> tensor<{0}x{2}> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.dropout %x, %s {{probability = {1} : f64, stream = 7 : i64} : (tensor<{0}x{2}>, tensor<2xi32>) -> tensor<{0}x{2}>
  return %0 : tensor<{0}x{2}>
})";

constexpr const char *kEmbeddingGrad = R"(
func.func private @kernel(%i: tensor<{0}xi32>, %g: tensor<{0}x{1}x{3}>) -> tensor<{2}x{1}xf32> attributes {{sinter.kernel = "scatter"} {{
  %0 = sinter.embedding_grad %i, %g {{rows = {2} : i64} : (tensor<{0}xi32>, tensor<{0}x{1}x{3}>) -> tensor<{2}x{1}xf32>
  return %0 : tensor<{2}x{1}xf32>
})";

constexpr const char *kEmbeddingGradInto = R"(
func.func private @kernel(%i: tensor<{0}xi32>, %g: tensor<{0}x{1}xf32>, %t: tensor<{2}x{1}xf32>) -> tensor<{2}x{1}xf32> attributes {{sinter.kernel = "scatter"} {{
  %0 = sinter.embedding_grad %i, %g, %t {{rows = {2} : i64} : (tensor<{0}xi32>, tensor<{0}x{1}xf32>, tensor<{2}x{1}xf32>) -> tensor<{2}x{1}xf32>
  return %0 : tensor<{2}x{1}xf32>
})";
} // namespace

// The vectors that Random123 publishes.
TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox::generate({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox::generate({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox::generate({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeepsTheShareThatIsAskedFor) {
  for (double probability : {0.0, 0.1, 0.5, 0.9}) {
    int64_t kept = 0, neighbours = 0, elements = 100'000;
    bool before = false;
    for (int64_t i = 0; i < elements; ++i) {
      bool now = philox::isKept(i, 3, {17, 4}, probability);
      kept += now;
      neighbours += now && before;
      before = now;
    }
    double share = 1 - probability;
    EXPECT_NEAR(double(kept) / elements, share, 0.006);
    EXPECT_NEAR(double(neighbours) / elements, share * share, 0.008);
  }
}

TEST(Philox, RoundsWithoutBias) {
  // Up as often as the part beyond bf16 says, and never further than to a neighbour.
  for (double part : {0.0, 0.01, 0.25, 0.5, 0.9, 1 - 0x1p-16})
    for (double sign : {1.0, -1.0}) {
      double low = 1.5, step = 0x1p-7;
      int64_t elements = 100'000, up = 0;
      auto value = static_cast<float>(sign * (low + part * step));
      for (int64_t i = 0; i < elements; ++i) {
        double rounded = sign * philox::roundStochastically(value, i, {5, 6}, {17, 4});
        EXPECT_TRUE(rounded == low || (part > 0 && rounded == low + step)) << rounded;
        up += rounded > low;
      }
      EXPECT_NEAR(double(up) / elements, part, 0.006);
    }
  // Other tags, seeds and elements round otherwise.
  auto count = [](std::array<uint32_t, 2> tag, std::array<uint32_t, 2> seed, uint64_t offset) {
    int64_t same = 0;
    for (uint64_t i = 0; i < 10'000; ++i)
      same += philox::roundStochastically(1.00390625f, i, {1, 2}, {3, 4}) ==
              philox::roundStochastically(1.00390625f, i + offset, tag, seed);
    return same;
  };
  EXPECT_EQ(count({1, 2}, {3, 4}, 0), 10'000);
  for (int64_t same : {count({2, 2}, {3, 4}, 0), count({1, 3}, {3, 4}, 0), count({1, 2}, {4, 4}, 0),
                       count({1, 2}, {3, 5}, 0), count({1, 2}, {3, 4}, uint64_t{1} << 32)})
    EXPECT_NEAR(double(same), 5'000, 300);
}

TEST(RowsTraining, ColumnSums) {
  for (auto [in, out] : {std::pair<const char *, const char *>{"5x1", "1"},
                         {"1x17", "17"},
                         {"3x4x17", "3x17"},
                         {"2x3x5x70", "2x3x70"},
                         {"37x768", "768"},
                         {"2x9x1056", "2x1056"},
                         {"20x3x64", "20x64"}})
    expectSameAsReference(make(kColumnSum, in, "f32", out), 2e-7);
  expectSameAsReference(make(kColumnSum, "3x4x65", "bf16", "3x65"), 2e-7);
  expectSameAsReference(make(kColumnSum, "33x65", "f32", "65"), 2e-7, getHostTarget(128));
}

TEST(RowsTraining, ColumnSumsBesideTheirRows) {
  // Rows, sums of rows, a value a row, and rows of another width: one kernel.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<3x8x70xf32>, %b: tensor<70xf32>) -> (tensor<3x8x70xf32>, tensor<6x70xf32>, tensor<3x8xf32>, tensor<3x8x30xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.broadcast %b {dims = array<i64: 2>} : (tensor<70xf32>) -> tensor<3x8x70xf32>
  %1 = sinter.add %x, %0 : (tensor<3x8x70xf32>, tensor<3x8x70xf32>) -> tensor<3x8x70xf32>
  %2 = sinter.gelu %1 : (tensor<3x8x70xf32>) -> tensor<3x8x70xf32>
  %3 = sinter.reshape %2 : (tensor<3x8x70xf32>) -> tensor<6x4x70xf32>
  %4 = sinter.column_sum %3 : (tensor<6x4x70xf32>) -> tensor<6x70xf32>
  %5 = sinter.reduce max %2 : (tensor<3x8x70xf32>) -> tensor<3x8xf32>
  %6 = sinter.slice %2 {offsets = array<i64: 0, 0, 11>} : (tensor<3x8x70xf32>) -> tensor<3x8x30xf32>
  return %2, %4, %5, %6 : tensor<3x8x70xf32>, tensor<6x70xf32>, tensor<3x8xf32>, tensor<3x8x30xf32>
})",
                        4e-7);
  // Sums over blocks of different sizes, of normalized rows.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<12x33xf32>, %w: tensor<33xf32>) -> (tensor<4x33xf32>, tensor<6x33xf32>, tensor<33xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<12x33xf32>, tensor<33xf32>) -> tensor<12x33xf32>
  %1 = sinter.reshape %0 : (tensor<12x33xf32>) -> tensor<4x3x33xf32>
  %2 = sinter.column_sum %1 : (tensor<4x3x33xf32>) -> tensor<4x33xf32>
  %3 = sinter.reshape %0 : (tensor<12x33xf32>) -> tensor<6x2x33xf32>
  %4 = sinter.column_sum %3 : (tensor<6x2x33xf32>) -> tensor<6x33xf32>
  %5 = sinter.column_sum %0 : (tensor<12x33xf32>) -> tensor<33xf32>
  return %2, %4, %5 : tensor<4x33xf32>, tensor<6x33xf32>, tensor<33xf32>
})",
                        4e-7);
}

TEST(RowsTraining, SumsOfParts) {
  for (auto [in, out] : {std::pair("1x5x33xf32", "5x33xf32"),
                         {"3x65xbf16", "65xbf16"},
                         {"5x2x40xf16", "2x40xf16"},
                         {"8xf32", "f32"}})
    expectSameAsReference(make(R"(
func.func private @kernel(%x: tensor<{0}>) -> tensor<{1}> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.sum_parts %x : (tensor<{0}>) -> tensor<{1}>
  return %0 : tensor<{1}>
})",
                               in, out),
                          4e-3);
  // Between what they are made of and what is made of them, twice.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<8x4x70xf32>, %w: tensor<4x70xf32>) -> (tensor<4x70xf32>, tensor<4xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.gelu %x : (tensor<8x4x70xf32>) -> tensor<8x4x70xf32>
  %1 = sinter.sum_parts %0 : (tensor<8x4x70xf32>) -> tensor<4x70xf32>
  %2 = sinter.add %w, %1 : (tensor<4x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %3 = sinter.mul %1, %1 : (tensor<4x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %4 = sinter.reduce sum %3 : (tensor<4x70xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4x70xf32>, tensor<4xf32>
})",
                        4e-7);
}

TEST(RowsTraining, SumsOfPartsHaveTheBitsOfTheTree) {
  constexpr size_t kWidth = 37;
  std::mt19937 random(7);
  for (size_t parts : {2, 3, 5, 6, 7, 8}) {
    KernelJit jit(getContext(),
                  make(R"(
func.func private @kernel(%x: tensor<{0}x{1}xf32>) -> tensor<{1}xf32> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.sum_parts %x : (tensor<{0}x{1}xf32>) -> tensor<{1}xf32>
  return %0 : tensor<{1}xf32>
})",
                       parts, kWidth),
                  getHostTarget());
    ASSERT_EQ(jit.getError(), "");
    // Of wild magnitudes, of which any other order gives other bits.
    std::vector<float> x(parts * kWidth), y(kWidth);
    for (float &number : x)
      number = std::ldexp(float(int(random() % 2001) - 1000), int(random() % 24));
    void *slices[] = {x.data(), y.data()};
    jit.run(slices, 0, jit.getGrid());
    for (size_t i = 0; i < kWidth; ++i) {
      std::vector<float> terms;
      for (size_t part = 0; part < parts; ++part)
        terms.push_back(x[part * kWidth + i]);
      EXPECT_EQ(y[i], runtime::testing::sumOfTree<float>(terms, parts)) << parts << " " << i;
    }
  }
}

TEST(RowsTraining, GradientsOfNorms) {
  for (const char *pattern : {kRmsNormGrad, kLayerNormGrad})
    for (int64_t width : {17, 64, 65, 768}) {
      expectSameAsReference(make(pattern, "6", width, 3), 1e-6);
      // Blocks that are not whole slots.
      expectSameAsReference(make(pattern, "3x4", width, 6), 1e-6);
      expectSameAsReference(make(pattern, "2x6", width, 4), 1e-6);
    }
  for (int64_t blocks : {1, 12})
    expectSameAsReference(make(kLayerNormGrad, "12", 40, blocks), 1e-6, getHostTarget(256));
  expectSameAsReference(make(kLayerNormGrad, "12", 40, 4), 1e-6, {}, {}, /*speedPasses=*/false);
}

TEST(RowsTraining, NormGradientWithWhatFollows) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<2x6x50xf32>, %w: tensor<50xf32>, %g: tensor<2x6x50xf32>, %r: tensor<2x6x50xf32>) -> (tensor<3x50xf32>, tensor<2x6x50xf32>, tensor<3x50xf32>) attributes {sinter.kernel = "rows"} {
  %0:3 = sinter.layer_norm_grad %x, %w, %g {eps = 1.0e-5} : (tensor<2x6x50xf32>, tensor<50xf32>, tensor<2x6x50xf32>) -> (tensor<2x6x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>)
  %1 = sinter.add %0#0, %r : (tensor<2x6x50xf32>, tensor<2x6x50xf32>) -> tensor<2x6x50xf32>
  return %0#1, %1, %0#2 : tensor<3x50xf32>, tensor<2x6x50xf32>, tensor<3x50xf32>
})",
                        1e-6);
}

TEST(RowsTraining, CrossEntropy) {
  for (int64_t width : {1, 17, 64, 65, 1000}) {
    for (double penalty : {0.0, 0.1}) {
      expectSameAsReference(make(kCrossEntropy, width, llvm::formatv("{0:E}", penalty)), 1e-6, {},
                            withIds(width));
      expectSameAsReference(make(kCrossEntropyGrad, width, llvm::formatv("{0:E}", penalty), "f32"),
                            1e-6, {}, withIds(width));
    }
    expectSameAsReference(make(kLossAndGradient, width), 1e-6, {}, withIds(width));
  }
  expectSameAsReference(make(kCrossEntropyGrad, 65, "0.0", "bf16"), 4e-3, {}, withIds(65));
  for (int64_t width : {5, 65, 1001}) {
    int64_t padded = llvm::alignTo(width, 8);
    expectSameAsReference(make(kPaddedCrossEntropyGrad, width, padded, padded - width), 4e-3, {},
                          withIds(width));
  }
}

TEST(RowsTraining, OneHotAndPick) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<3x5x70xf32>, %i: tensor<3x5xi32>) -> (tensor<3x5x70xf32>, tensor<3x5xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.one_hot %i : (tensor<3x5xi32>) -> tensor<3x5x70xf32>
  %1 = sinter.mul %0, %x : (tensor<3x5x70xf32>, tensor<3x5x70xf32>) -> tensor<3x5x70xf32>
  %2 = sinter.neg %x : (tensor<3x5x70xf32>) -> tensor<3x5x70xf32>
  %3 = sinter.pick %2, %i : (tensor<3x5x70xf32>, tensor<3x5xi32>) -> tensor<3x5xf32>
  return %1, %3 : tensor<3x5x70xf32>, tensor<3x5xf32>
})",
                        1e-7, {}, withIds(70));
}

TEST(RowsTraining, Dropout) {
  auto seeded = [](unsigned index, RankedTensorType type) {
    ReferenceTensor tensor = makeNormal(type, index);
    if (type.getElementType().isInteger(32))
      tensor[0] = 1234567, tensor[1] = -5;
    return tensor;
  };
  for (const char *shape : {"1", "3x17", "2x3x64", "1000"})
    for (const char *probability : {"0.0", "0.1", "0.5"})
      expectSameAsReference(make(kDropout, shape, probability, "f32"), 1e-7, {}, seeded);
  expectSameAsReference(make(kDropout, "3x65", "0.1", "f32"), 1e-7, getHostTarget(128), seeded);
  expectSameAsReference(make(kDropout, "3x65", "0.1", "bf16"), 4e-3, {}, seeded);
  // Of elements that are somewhere else in memory: the number is the element's, not the address'.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<40x6xf32>, %s: tensor<2xi32>) -> tensor<6x40xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.dropout %x, %s {probability = 0.3, stream = 0 : i64} : (tensor<40x6xf32>, tensor<2xi32>) -> tensor<40x6xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<40x6xf32>) -> tensor<6x40xf32>
  return %1 : tensor<6x40xf32>
})",
                        1e-7, {}, seeded);
}

TEST(RowsTraining, StochasticRounding) {
  auto makeValue = [](unsigned index, RankedTensorType type) {
    ReferenceTensor tensor = makeNormal(type, index);
    if (type.getElementType().isInteger(32))
      tensor[0] = 1234567 + index, tensor[1] = -5;
    else
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor[i] = i % 7 == 3 ? 0 : std::ldexp(tensor[i], static_cast<int>(i % 60 - 30));
    for (double &value : tensor.data())
      value = type.getElementType().isInteger(32) ? value : static_cast<float>(value);
    return tensor;
  };
  constexpr const char *kRound = R"(
func.func private @kernel(%x: tensor<{0}xf32>, %s: tensor<2xi32>, %t: tensor<2xi32>) -> tensor<{0}xbf16> attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.stochastic_round %x, %s, %t : (tensor<{0}xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<{0}xbf16>
  return %0 : tensor<{0}xbf16>
})";
  for (const char *shape : {"1", "3x17", "2x3x64", "1000"})
    expectSameAsReference(make(kRound, shape), 0, {}, makeValue);
  expectSameAsReference(make(kRound, "3x65"), 0, getHostTarget(128), makeValue);
  // The number is the element's, not the address'; what is rounded may be computed with.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<40x6xf32>, %s: tensor<2xi32>, %t: tensor<2xi32>) -> tensor<6x40xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.stochastic_round %x, %s, %t : (tensor<40x6xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<40x6xbf16>
  %1 = sinter.cast %0 : (tensor<40x6xbf16>) -> tensor<40x6xf32>
  %2 = sinter.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<40x6xf32>) -> tensor<6x40xf32>
  %3 = sinter.add %2, %2 : (tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32>
  return %3 : tensor<6x40xf32>
})",
                        0, {}, makeValue);
}

TEST(RowsTraining, EmbeddingGradients) {
  for (auto [tokens, width, rows] :
       {std::tuple{9, 17, 11}, {40, 64, 5}, {33, 768, 700}, {3, 1, 1}}) {
    expectSameAsReference(make(kEmbeddingGrad, tokens, width, rows, "f32"), 1e-6, {},
                          withIds(rows));
    expectSameAsReference(make(kEmbeddingGradInto, tokens, width, rows), 1e-6, {}, withIds(rows));
  }
  expectSameAsReference(make(kEmbeddingGrad, 20, 65, 9, "bf16"), 2e-7, {}, withIds(9));
}

// Of the rows of a table from 5 on.
TEST(RowsTraining, EmbeddingGradientsOfAPart) {
  auto makeValue = [](unsigned index, RankedTensorType type) {
    if (!type.getElementType().isInteger(32))
      return makeNormal(type, index);
    ReferenceTensor integers(type);
    for (int64_t i = 0; i < integers.getNumElements(); ++i)
      integers[i] = integers.getNumElements() == 1 ? 5 : i * 7 % 19;
    return integers;
  };
  for (const char *into : {"", ", %t"})
    expectSameAsReference((llvm::Twine(R"(
func.func private @kernel(%i: tensor<40xi32>, %g: tensor<40x65xf32>, %t: tensor<9x65xf32>, %s: tensor<1xi32>) -> tensor<9x65xf32> attributes {sinter.kernel = "scatter"} {
  %0 = sinter.embedding_grad %i, %g)") +
                           into +
                           " from %s {rows = 9 : i64, padding = 8 : i64} : (tensor<40xi32>, "
                           "tensor<40x65xf32>" +
                           (*into ? ", tensor<9x65xf32>" : "") +
                           ", tensor<1xi32>) -> tensor<9x65xf32>\n  return %0 : "
                           "tensor<9x65xf32>\n}")
                              .str(),
                          1e-6, {}, makeValue);
}

TEST(RowsTraining, EmbeddingGradientOfConstants) {
  expectSameAsReference(R"(
func.func private @kernel(%i: tensor<9xi32>) -> tensor<4x8xf32> attributes {sinter.kernel = "scatter"} {
  %g = sinter.constant dense<2.0> : tensor<9x8xf32>
  %t = sinter.constant dense<0.5> : tensor<4x8xf32>
  %0 = sinter.embedding_grad %i, %g, %t {rows = 4 : i64} : (tensor<9xi32>, tensor<9x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})",
                        1e-7, {}, withIds(4));
}

TEST(RowsTraining, LogFromEndToEnd) {
  KernelJit jit(getContext(), R"(
func.func private @kernel(%x: tensor<3x65xf32>) -> tensor<3x65xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.log %x : (tensor<3x65xf32>) -> tensor<3x65xf32>
  return %0 : tensor<3x65xf32>
})",
                getHostTarget());
  ASSERT_EQ(jit.getError(), "");
  std::vector<float> x(195), y(195);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::exp(-103.0 + 191.7 * i / x.size());
  // Where cancellation would show.
  for (size_t i = 8; i < 60; ++i)
    x[i] = 0.7f + 0.012f * (i - 8);
  float special[] = {0.0f, -0.0f, HUGE_VALF, NAN, -1.0f, -HUGE_VALF, 1.0f};
  std::copy(std::begin(special), std::end(special), x.begin());
  void *slices[] = {x.data(), y.data()};
  jit.run(slices, 0, jit.getGrid());
  EXPECT_EQ(y[0], -HUGE_VALF);
  EXPECT_EQ(y[1], -HUGE_VALF);
  EXPECT_EQ(y[2], HUGE_VALF);
  for (size_t i : {3, 4, 5})
    EXPECT_TRUE(std::isnan(y[i])) << x[i];
  EXPECT_EQ(y[6], 0.0f);
  for (size_t i = 7; i < x.size(); ++i)
    EXPECT_NEAR(y[i], std::log(double(x[i])), 2.4e-7 * std::abs(std::log(double(x[i])))) << x[i];
}

TEST(RowsTraining, SquareRoots) {
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<3x65xf32>) -> tensor<3x65xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.mul %x, %x : (tensor<3x65xf32>, tensor<3x65xf32>) -> tensor<3x65xf32>
  %1 = sinter.sqrt %0 : (tensor<3x65xf32>) -> tensor<3x65xf32>
  return %1 : tensor<3x65xf32>
})",
                        1e-7);
}

TEST(RowsTraining, Scalars) {
  // Everything summed, in two stages; one element spread over all.
  expectSameAsReference(R"(
func.func private @kernel(%x: tensor<6x50xf32>) -> tensor<f32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.mul %x, %x : (tensor<6x50xf32>, tensor<6x50xf32>) -> tensor<6x50xf32>
  %1 = sinter.reduce sum %0 : (tensor<6x50xf32>) -> tensor<6xf32>
  %2 = sinter.reduce sum %1 : (tensor<6xf32>) -> tensor<f32>
  %3 = sinter.sqrt %2 : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
})",
                        4e-7);
  for (const char *scalar : {"f32", "1xf32"})
    expectSameAsReference(make(R"(
func.func private @kernel(%x: tensor<3x20xf32>, %s: tensor<{0}>) -> (tensor<3x20xf32>, tensor<{0}>) attributes {{sinter.kernel = "rows"} {{
  %0 = sinter.reshape %s : (tensor<{0}>) -> tensor<f32>
  %1 = sinter.broadcast %0 {{dims = array<i64>} : (tensor<f32>) -> tensor<3x20xf32>
  %2 = sinter.mul %x, %1 : (tensor<3x20xf32>, tensor<3x20xf32>) -> tensor<3x20xf32>
  %3 = sinter.neg %s : (tensor<{0}>) -> tensor<{0}>
  return %2, %3 : tensor<3x20xf32>, tensor<{0}>
})",
                               scalar),
                          1e-7);
}

// A result over the argument that its rows are made of: the same bits as beside it.
TEST(RowsTraining, RowsInPlace) {
  std::string kernels[] = {make(kCrossEntropyGrad, 65, "0.1", "f32"),
                           make(kCrossEntropyGrad, 1000, "0.0", "f32"), make(kLossAndGradient, 65),
                           R"(
func.func private @kernel(%x: tensor<7x65xf32>, %i: tensor<7xi32>) -> (tensor<7x65xf32>, tensor<7xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.neg %x : (tensor<7x65xf32>) -> tensor<7x65xf32>
  %1 = sinter.pick %x, %i : (tensor<7x65xf32>, tensor<7xi32>) -> tensor<7xf32>
  return %0, %1 : tensor<7x65xf32>, tensor<7xf32>
})",
                           R"(
func.func private @kernel(%x: tensor<7x65xf32>, %w: tensor<65xf32>) -> tensor<7x65xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.layer_norm %x, %w {eps = 1.0e-5} : (tensor<7x65xf32>, tensor<65xf32>) -> tensor<7x65xf32>
  %1 = sinter.add %0, %x : (tensor<7x65xf32>, tensor<7x65xf32>) -> tensor<7x65xf32>
  return %1 : tensor<7x65xf32>
})",
                           R"(
func.func private @kernel(%x: tensor<7x200xf32>) -> tensor<7x200xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reduce max %x : (tensor<7x200xf32>) -> tensor<7xf32>
  %1 = sinter.broadcast %0 {dims = array<i64: 0>} : (tensor<7xf32>) -> tensor<7x200xf32>
  %2 = sinter.sub %x, %1 : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32>
  %3 = sinter.exp %2 : (tensor<7x200xf32>) -> tensor<7x200xf32>
  %4 = sinter.reduce sum %3 : (tensor<7x200xf32>) -> tensor<7xf32>
  %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<7xf32>) -> tensor<7x200xf32>
  %6 = sinter.div %3, %5 : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32>
  return %6 : tensor<7x200xf32>
})",
                           // A step whose length is a sum over something else.
                           R"(
func.func private @kernel(%p: tensor<7x200xf32>, %s: tensor<30xf32>) -> tensor<7x200xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.reduce sum %s : (tensor<30xf32>) -> tensor<f32>
  %1 = sinter.sqrt %0 : (tensor<f32>) -> tensor<f32>
  %2 = sinter.broadcast %1 {dims = array<i64>} : (tensor<f32>) -> tensor<7x200xf32>
  %3 = sinter.mul %p, %2 : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32>
  %4 = sinter.sub %p, %3 : (tensor<7x200xf32>, tensor<7x200xf32>) -> tensor<7x200xf32>
  return %4 : tensor<7x200xf32>
})"};
  for (const std::string &text : kernels) {
    KernelJit jit(getContext(), text, getHostTarget());
    ASSERT_EQ(jit.getError(), "");
    ASSERT_EQ(findReusableArguments(jit.getKernel().front()), SmallVector<int64_t>{0}) << text;
    std::vector<GuardedStorage> storage;
    SmallVector<void *> slices;
    for (auto [i, type] : llvm::enumerate(jit.getKernel().getArgumentTypes())) {
      auto tensor = cast<RankedTensorType>(type);
      storage.emplace_back(tensor).write(withIds(65)(i, tensor));
      slices.push_back(storage.back().data());
    }
    size_t arguments = slices.size();
    for (Type type : jit.getKernel().getResultTypes()) {
      storage.emplace_back(cast<RankedTensorType>(type));
      slices.push_back(storage.back().data());
    }
    jit.run(slices, 0, jit.getGrid());
    SmallVector<std::vector<char>> beside;
    for (const GuardedStorage &result : ArrayRef(storage).drop_front(arguments)) {
      const char *data = static_cast<const char *>(result.data());
      beside.emplace_back(data, data + result.size());
    }
    slices[arguments] = slices.front();
    jit.run(slices, 0, jit.getGrid());
    for (auto [i, bits] : llvm::enumerate(beside))
      EXPECT_EQ(memcmp(slices[arguments + i], bits.data(), bits.size()), 0)
          << "result " << i << "\n"
          << text;
  }
}

TEST(RowsTraining, WhatIsReadElsewhereIsNotWrittenOver) {
  for (const char *body :
       {// A column of the argument, as the rows' values.
        "%1 = sinter.reduce max %x : (tensor<8x8xf32>) -> tensor<8xf32>\n"
        "%2 = sinter.broadcast %1 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<8x8xf32>",
        "%2 = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> "
        "tensor<8x8xf32>",
        "%1 = sinter.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
        "%2 = sinter.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> "
        "tensor<8x8xf32>"}) {
    std::string text = std::string(R"(
func.func private @kernel(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {sinter.kernel = "rows"} {
)") + body + R"(
  %3 = sinter.add %x, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
})";
    KernelJit jit(getContext(), text, getHostTarget());
    ASSERT_EQ(jit.getError(), "");
    EXPECT_TRUE(findReusableArguments(jit.getKernel().front()).empty()) << text;
  }
}

TEST(RowsTraining, WhatCannotBeGeneratedIsSaid) {
  expectError(R"(
func.func private @kernel(%x: tensor<4x8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.column_sum %x : (tensor<4x8xf32>) -> tensor<8xf32>
  %1 = sinter.neg %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
})",
              "expected no use of this op's result inside a rows kernel");
  expectError(R"(
func.func private @kernel(%i: tensor<4xi32>, %g: tensor<4x8xf32>) -> tensor<9x8xf32> attributes {sinter.kernel = "scatter"} {
  %0 = sinter.neg %g : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.embedding_grad %i, %0 {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
})",
              "expected an embedding_grad to be alone in its kernel");
}
