// What users copy from must be right: every description reads, the shipped model is whole.

#include "frontends/Spec/ModelSpec.h"
#include "frontends/Tokenizer/Tokenizer.h"
#include "frontends/Weights/WeightFiles.h"
#include <gtest/gtest.h>

using namespace sinter;
namespace fs = std::filesystem;

namespace {

const fs::path kExamples = SINTER_EXAMPLES;

TEST(ExampleModels, everyDescriptionReads) {
  int count = 0;
  for (const char *folder : {"models", "training", "training/designs"})
    for (const auto &entry : fs::directory_iterator(kExamples / folder)) {
      if (entry.path().extension() != ".json")
        continue;
      auto spec = loadModelSpec(entry.path());
      ASSERT_TRUE(spec) << spec.error().message();
      EXPECT_FALSE(spec->layers.empty()) << entry.path();
      ++count;
    }
  EXPECT_GE(count, 17);
}

TEST(ExampleModels, sizesAreThoseInTheNames) {
  auto large = loadModelSpec(kExamples / "models/gpt2-124m.json");
  auto small = loadModelSpec(kExamples / "models/gpt2-1m.json");
  ASSERT_TRUE(large && small);
  EXPECT_EQ(large->getParameterCount(), 124439808); // GPT-2 as published
  EXPECT_NEAR(double(small->getParameterCount()), 1e6, 1e5);
}

TEST(ExampleModels, sharedLayersHaveHalfTheParameters) {
  auto spec = loadModelSpec(kExamples / "models/shared-layers.json");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->layers.size(), 8u);
  EXPECT_EQ(spec->layers.back().parameterGroup, 3);
}

TEST(ExampleModels, shakespeareIsWhole) {
  fs::path directory = kExamples / "shakespeare";
  auto spec = loadModelSpec(directory);
  ASSERT_TRUE(spec) << spec.error().message();
  auto weights = WeightFiles::open(directory);
  ASSERT_TRUE(weights) << weights.error().message();
  std::vector<ExpectedTensor> expected;
  for (const ParameterInfo &parameter : spec->getParameters())
    expected.push_back({parameter.name, parameter.shape});
  auto checked = checkTensors(expected, *weights, [](std::string_view) { return false; });
  EXPECT_TRUE(checked) << checked.error().message();

  auto tokenizer = Tokenizer::fromDirectory(directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  EXPECT_EQ(tokenizer->getVocabSize(), spec->vocabSize);
  auto ids = tokenizer->encode("ROMEO:\n");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, (std::vector<int32_t>{859, 26, 199})); // expected.json
  EXPECT_EQ(tokenizer->decode(*ids), "ROMEO:\n");
}

} // namespace
