// How deep brackets are nested, and that nothing reads a text that is nested too deep.

#include "runtime/Base/Nesting.h"
#include "runtime/Base/Json.h"
#include <gtest/gtest.h>

using namespace sinter;

namespace {

std::string nest(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(NestingTest, CountsWhatIsOpenAtOnce) {
  EXPECT_EQ(measureNesting(""), 0u);
  EXPECT_EQ(measureNesting("1"), 0u);
  EXPECT_EQ(measureNesting("[]{}()<>"), 1u);
  EXPECT_EQ(measureNesting("{\"a\": [1, {\"b\": 2}], \"c\": []}"), 3u);
  EXPECT_EQ(measureNesting("]]]["), 1u);
  EXPECT_EQ(measureNesting(nest(1000)), 1000u);
}

TEST(NestingTest, LeavesOutStringsCommentsAndOperators) {
  EXPECT_EQ(measureNesting(R"(["[[[", "\"[[", "\\", [])"), 2u);
  EXPECT_EQ(measureNesting("\"[["), 0u); // a string without an end
  EXPECT_EQ(measureNesting("// (((\n() // [[["), 1u);
  EXPECT_EQ(measureNesting("{ d0 >= 0 { d0 >= 0 { d0 <= 0"), 3u);
  EXPECT_EQ(measureNesting("tensor<1xf32> -> (tensor<1xf32>) -> tensor<1xf32> / 2"), 2u);
}

TEST(NestingTest, JsonIsReadUpToALimit) {
  EXPECT_FALSE(parseJson(nest(kMostNesting)).is_discarded());
  EXPECT_TRUE(parseJson(nest(kMostNesting + 1)).is_discarded());
  EXPECT_FALSE(parseOrderedJson(nest(kMostNesting)).is_discarded());
  EXPECT_TRUE(parseOrderedJson(nest(1000000)).is_discarded());
}

} // namespace
