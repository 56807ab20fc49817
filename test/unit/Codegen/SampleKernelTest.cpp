// sinter.sample's kernels against its definition: thousands of rows of every kind, and the
// distribution that they draw from.

#include "dialects/Sinter/Sampling.h"
#include "test/unit/Codegen/SampleRows.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;
using namespace sinter::test;

namespace {
/// Many rows of the same logits at positions that follow each other, and what is drawn from them.
class Draws {
public:
  Draws(std::vector<double> logits, double temperature, double topK, double topP, double minP = 0)
      : logits(std::move(logits)), options{temperature, topK, topP, minP} {}

  /// How often each id was drawn.
  std::vector<int64_t> count(int64_t slots) const {
    auto width = static_cast<int64_t>(logits.size());
    KernelJit jit(getContext(), makeSample(slots, width), getHostTarget());
    EXPECT_EQ(jit.getError(), "");
    std::vector<GuardedStorage> storage;
    SmallVector<void *> slices;
    for (auto [index, type] : llvm::enumerate(jit.getKernel().getArgumentTypes())) {
      ReferenceTensor tensor(cast<RankedTensorType>(type));
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor[i] = index == kLogits  ? logits[i % width]
                    : index == kSeed  ? 12345 + i % 2
                    : index == kStart ? static_cast<double>(i)
                    : index == kCount ? 1
                                      : static_cast<float>(options[index - kTemperature]);
      storage.emplace_back(tensor.getType()).write(tensor);
      slices.push_back(storage.back().data());
    }
    storage.emplace_back(cast<RankedTensorType>(jit.getKernel().getResultTypes()[0]));
    slices.push_back(storage.back().data());
    jit.run(slices, 0, jit.getGrid());
    std::vector<int64_t> counts(logits.size());
    ReferenceTensor ids = storage.back().read();
    for (double id : ids.data())
      ++counts.at(static_cast<size_t>(id));
    return counts;
  }

private:
  std::vector<double> logits;
  double options[4];
};

/// Expects that ids were drawn with these probabilities: that none was that has none, and that
/// Pearson's sum is below what it exceeds once in 10^6 (by Wilson and Hilferty: the cube root of a
/// chi-square over its degrees of freedom n is nearly normal, of mean 1 - 2/9n and variance 2/9n).
void expectDistribution(const std::vector<int64_t> &counts, std::vector<double> probabilities) {
  double total = 0, draws = 0, sum = 0, degrees = -1;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += probabilities[i];
    draws += static_cast<double>(counts[i]);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    double expected = draws * probabilities[i] / total;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << i;
      continue;
    }
    // Of which the sum's distribution is a chi-square's to go by.
    ASSERT_GE(expected, 5) << i;
    sum += std::pow(static_cast<double>(counts[i]) - expected, 2) / expected;
    ++degrees;
  }
  constexpr double kOnceInAMillion = 4.753;
  double spread = 2 / (9 * degrees);
  EXPECT_LT(sum, degrees * std::pow(1 - spread + kOnceInAMillion * std::sqrt(spread), 3));
}

TEST(SampleKernel, DrawsWhatIsDefined) {
  // Fewer logits than a vector has, whole vectors, one more; a row of one. A row of each kind: in
  // the emulator a row costs what thousands cost on a processor (LargeSampleTest.cpp has those).
  for (int64_t vocabulary : {1, 2, 7, 16, 33, 64, 257})
    expectSameAsReference(makeSample(11, vocabulary), 0, {}, withRows(vocabulary, 1));
  for (unsigned seed : {2, 3})
    expectSameAsReference(makeSample(11, 1000), 0, {}, withRows(1000, seed));
  expectSameAsReference(makeSample(11, 4099), 0, {}, withRows(4099, 5));
}

TEST(SampleKernel, FollowsTheDistribution) {
  // 24 ids of probabilities that fall by a factor of 1.2, in an order of their own.
  std::vector<double> logits, probabilities;
  for (int64_t i = 0; i < 24; ++i)
    logits.push_back(static_cast<float>(-std::log(1.2) * static_cast<double>(i * 7 % 24)));
  for (double logit : logits)
    probabilities.push_back(std::exp(logit));
  constexpr int64_t kDraws = 20'000;
  expectDistribution(Draws(logits, 1, 0, 1).count(kDraws), probabilities);

  std::vector<double> sharp, ten, most;
  for (size_t i = 0; i < logits.size(); ++i) {
    auto rank = i * 7 % 24;
    sharp.push_back(std::exp(2 * logits[i]));
    ten.push_back(rank < 10 ? probabilities[i] : 0);
    // The first n of ten have (1 - 1.2^-n) / (1 - 1.2^-10): 0.793 for six, 0.860 for seven.
    most.push_back(rank < 7 ? probabilities[i] : 0);
  }
  expectDistribution(Draws(logits, 1, 10, 1).count(kDraws), ten);
  expectDistribution(Draws(logits, 1, 10, 0.8).count(kDraws), most);
  // Of 1.2^-n, those down to n = 8 are at least 0.23.
  std::vector<double> large;
  for (size_t i = 0; i < logits.size(); ++i)
    large.push_back(i * 7 % 24 <= 8 ? probabilities[i] : 0);
  expectDistribution(Draws(logits, 1, 0, 1, 0.23).count(kDraws), large);
  expectDistribution(Draws(logits, 1, 7, 1, 0.23).count(kDraws), most);
  // All but four, of each of whom less than five draws are expected.
  for (size_t i = 0; i < sharp.size(); ++i)
    sharp[i] = i * 7 % 24 < 20 ? sharp[i] : 0;
  expectDistribution(Draws(logits, 0.5, 20, 1).count(kDraws), sharp);
}

TEST(SampleKernel, KeepsTheLowestOfTies) {
  std::vector<int64_t> equal = Draws(std::vector<double>(10, 1.5), 1, 4, 1).count(4000);
  expectDistribution(equal, {1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  // Two of the three that tie; none; one.
  std::vector<double> logits = {0, 1, 0, 1, 0};
  double e = std::exp(1);
  expectDistribution(Draws(logits, 1, 4, 1).count(4000), {1, e, 1, e, 0});
  expectDistribution(Draws(logits, 1, 0, 0.5).count(4000), {0, 1, 0, 1, 0});
  expectDistribution(Draws(logits, 1, 0, 0.75).count(4000), {1, e, 0, e, 0});
}

TEST(SampleKernel, IsAlone) {
  expectError(R"(
func.func private @kernel(%l: tensor<1x8xf32>, %f: tensor<1xf32>, %i: tensor<1xi32>, %s: tensor<1x2xi32>) -> tensor<1xi32> attributes {sinter.kernel = "sampling"} {
  %0 = sinter.relu %l : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = sinter.sample %0, %f, %i, %f, %f, %s, %i, %i : (tensor<1x8xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
})",
              "expected a sample to be alone in its kernel");
}
} // namespace
