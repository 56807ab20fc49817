// Models trained on ranks, which are threads here: whatever the layout, six steps come to the losses,
// gradient norms and weights of one rank, bit for bit; so does a run that goes on in other layouts.

#include "test/e2e/TrainedModel.h"
#include "test/unit/Weights/TestFiles.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <tuple>

using namespace sinter;
using namespace sinter::test;

namespace {

struct Layout {
  const char *grid;
  int64_t zero = 0;
};

constexpr Layout kLayouts[] = {
    {"data=2"},   {"data=4"},      {"data=8"},   {"data=2", 1}, {"data=2", 2},        {"data=4", 3},
    {"tensor=2"}, {"tensor=4"},    {"tensor=3"}, {"data=2,tensor=2"}, {"data=2,tensor=2", 1},
    {"data=4,tensor=2", 3},
};

constexpr uint64_t kSteps = 6;

class TrainingOnRanks : public testing::TestWithParam<std::tuple<const char *, DType>> {
protected:
  TrainingOnRanks() : model(std::get<0>(GetParam())) {}

  CompileOptions options(const Layout &layout) const {
    CompileOptions result = model.options();
    result.grid = layout.grid;
    result.zero = layout.zero;
    result.computeType = std::get<1>(GetParam());
    result.batch = 1;
    result.entries = {"train_step"};
    result.training.accumulate = 8;
    result.training.dropout = 0.1;
    return result;
  }

  TrainedModel model;
};

TEST_P(TrainingOnRanks, EveryLayoutGivesTheSameBits) {
  TemporaryDirectory directory;
  TrainedSteps one = model.trainOnRanks(options({""}), directory.path / "one", kSteps);
  ASSERT_EQ(one.losses.size(), kSteps);
  ASSERT_FALSE(one.model.empty());
  EXPECT_NE(one.losses.front(), one.losses.back());
  for (const Layout &layout : kLayouts) {
    auto folder = directory.path / (std::string(layout.grid) + "-" + std::to_string(layout.zero));
    TrainedSteps several = model.trainOnRanks(options(layout), folder, kSteps);
    EXPECT_EQ(several.losses, one.losses) << layout.grid << ", zero " << layout.zero;
    EXPECT_EQ(several.norms, one.norms) << layout.grid << ", zero " << layout.zero;
    EXPECT_TRUE(several.model == one.model) << layout.grid << ", zero " << layout.zero;
  }
}

TEST_P(TrainingOnRanks, ARunGoesOnInOtherLayouts) {
  TemporaryDirectory directory;
  TrainedSteps one = model.trainOnRanks(options({""}), directory.path / "one", kSteps);
  std::vector<double> losses;
  std::string last;
  uint64_t steps = 0;
  for (Layout layout : {Layout{"data=2,tensor=2", 1}, Layout{"data=4", 3}, Layout{""}}) {
    steps += kSteps / 3;
    TrainedSteps part = model.trainOnRanks(options(layout), directory.path / "turns", steps);
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    last = part.model;
  }
  EXPECT_EQ(losses, one.losses);
  EXPECT_TRUE(last == one.model);
}

using Case = std::tuple<const char *, DType>;
INSTANTIATE_TEST_SUITE_P(Models, TrainingOnRanks,
                         testing::Values(Case("gpt2", DType::F32), Case("gpt2", DType::BF16),
                                         Case("llama", DType::F32), Case("llama", DType::BF16),
                                         Case("gemma2", DType::F32), Case("gemma2", DType::BF16),
                                         Case("wide-llama", DType::F32)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name + "_" + std::string(nameOf(std::get<1>(info.param)));
                         });

} // namespace
