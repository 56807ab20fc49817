// Blocks of every type against PyPI's gguf package, whose results blocks.json keeps as hashes
// (tools/dev/make_gguf_references.py).

#include "frontends/Gguf/GgufBlocks.h"
#include "runtime/Base/ContentHash.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sinter;

namespace {

/// splitmix64 from the seed 0, eight bytes of a number.
std::vector<std::byte> randomBytes(size_t count) {
  std::vector<std::byte> bytes;
  bytes.reserve(count + 8);
  for (uint64_t i = 1; bytes.size() < count; ++i) {
    uint64_t state = i * 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
    for (int byte = 0; byte < 8; ++byte)
      bytes.push_back(static_cast<std::byte>(state >> 8 * byte & 255));
  }
  bytes.resize(count);
  return bytes;
}

class GgufBlocks : public testing::TestWithParam<std::string> {
public:
  static nlohmann::json kept() { return nlohmann::json::parse(std::ifstream(SINTER_GGUF_BLOCKS)); }
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    nlohmann::json hashes = kept()["hashes"];
    for (auto entry = hashes.begin(); entry != hashes.end(); ++entry)
      names.push_back(entry.key());
    return names;
  }
};

TEST_P(GgufBlocks, AreThoseOfGgml) {
  auto type = std::ranges::find(ggufTypes(), GetParam(), &GgufType::name);
  ASSERT_NE(type, ggufTypes().end());
  size_t blocks = kept()["blocks"];
  std::vector<float> elements(blocks * type->blockElements);
  type->dequantize(randomBytes(blocks * type->blockBytes), elements);
  for (float &element : elements)
    if (std::isnan(element))
      element = std::bit_cast<float>(0x7fc00000u);
  EXPECT_EQ(contentHash(std::as_bytes(std::span(elements))),
            kept()["hashes"][GetParam()].get<std::string>());
}

INSTANTIATE_TEST_SUITE_P(All, GgufBlocks, testing::ValuesIn(GgufBlocks::names()),
                         [](const auto &test) { return test.param; });

TEST(GgufTypes, AllQuantizedOnesAreCompared) {
  std::vector<std::string> names = GgufBlocks::names();
  for (const GgufType &type : ggufTypes())
    EXPECT_NE(std::ranges::find(names, type.name) != names.end(), type.plain.has_value())
        << type.name;
}

TEST(GgufTypes, OthersHaveNamesForMessages) {
  EXPECT_EQ(findGgufType(16), nullptr);
  EXPECT_EQ(nameOfGgufType(16), "IQ2_XXS");
  EXPECT_EQ(nameOfGgufType(8), "Q8_0");
  EXPECT_EQ(nameOfGgufType(4711), "of a type that is not known");
}

} // namespace
