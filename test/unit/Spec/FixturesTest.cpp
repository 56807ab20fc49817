// Every model kept for the end-to-end tests is understood, and its weights are what it asks for.

#include "frontends/Spec/ModelSpec.h"
#include "frontends/Weights/WeightFiles.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

std::vector<std::string> fixtures() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(SINTER_MODELS))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Fixture : public testing::TestWithParam<std::string> {};

TEST_P(Fixture, ConfigAndWeightsAgree) {
  std::filesystem::path path = std::filesystem::path(SINTER_MODELS) / GetParam();
  Expected<ModelSpec> spec = loadModelSpec(path);
  ASSERT_TRUE(spec) << spec.error().message();
  Expected<WeightFiles> weights = WeightFiles::open(path / "model.safetensors");
  ASSERT_TRUE(weights) << weights.error().message();
  std::vector<ExpectedTensor> expected;
  for (const ParameterInfo &parameter : spec->getParameters())
    expected.push_back({parameter.name, parameter.shape});
  Expected<void> checked = checkTensors(
      expected, *weights, [&](std::string_view name) { return spec->isKnownSurplus(name); });
  EXPECT_TRUE(checked) << checked.error().message();
  EXPECT_GT(spec->getParameterCount(), 1000);
}

INSTANTIATE_TEST_SUITE_P(Models, Fixture, testing::ValuesIn(fixtures()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
