#include "test/unit/Tokenizer/MixedText.h"

#include "frontends/Tokenizer/Unicode.h"

#include <cstdio>
#include <fstream>
#include <iterator>

namespace sinter::test {

std::string Hash::hex() const {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> readSamples(const std::string &path) {
  static constexpr std::string_view separator = "\n%%\n";
  std::string all = readFile(path);
  std::vector<std::string> samples;
  size_t from = 0;
  for (size_t at; (at = all.find(separator, from)) != std::string::npos;
       from = at + separator.size())
    samples.push_back(all.substr(from, at - from));
  samples.push_back(all.substr(from));
  return samples;
}

std::string makeMixedText(const std::vector<std::string> &samples, size_t bytes) {
  static constexpr std::string_view soup = "abAB09 .,'\n\t-_";
  static constexpr std::pair<uint32_t, uint32_t> blocks[] = {
      {0x20, 0x2FE0}, {0x3000, 0xA000}, {0x10000, 0x10000}, {0, 0x110000}};
  static constexpr const char *ends[] = {"", " ", "\n"};
  Random random;
  auto sample = [&]() -> const std::string & {
    return samples[random.below(static_cast<uint32_t>(samples.size()))];
  };
  std::string text;
  while (text.size() < bytes) {
    uint32_t kind = random.below(16);
    if (kind < 10) {
      text += sample();
      text += ends[random.below(3)];
    } else if (kind < 13) {
      for (uint32_t n = 1 + random.below(40); n > 0; --n) {
        auto [first, count] = blocks[random.below(4)];
        uint32_t c = first + random.below(count);
        tokenizer::appendUtf8(text, c >= 0xD800 && c < 0xE000 ? U'?' : c);
      }
    } else if (kind == 13) {
      for (uint32_t n = 1 + random.below(80); n > 0; --n)
        text += soup[random.below(static_cast<uint32_t>(soup.size()))];
    } else if (kind == 14) {
      for (uint32_t n = 1 + random.below(8); n > 0; --n)
        text += static_cast<char>(random.below(256));
    } else {
      const std::string &cut = sample();
      uint32_t begin = random.below(static_cast<uint32_t>(cut.size()));
      text += cut.substr(begin, 1 + random.below(static_cast<uint32_t>(cut.size()) - begin));
    }
  }
  return text;
}

} // namespace sinter::test
