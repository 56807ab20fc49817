// The graphs of the kept models give the logits that they should: as one chunk, in ragged chunks,
// and token by token.

#include "test/support/ReferenceModel.h"
#include "gtest/gtest.h"

using namespace sinter::test;

namespace {

constexpr double tolerance = 1e-5;

class ReferenceLogits : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceLogits, OfOneChunk) {
  ReferenceModel model(GetParam());
  model.build(1, model.length, {"logits"});
  EXPECT_LE(model.logitsError(), tolerance);
}

TEST_P(ReferenceLogits, InRaggedChunksAndByToken) {
  ReferenceModel model(GetParam());
  model.build(2, 7, {"prefill", "decode"});
  EXPECT_LE(model.raggedError(), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceLogits, testing::ValuesIn(modelNames()),
                         [](const auto &info) { return testNameOf(info.param); });

} // namespace
