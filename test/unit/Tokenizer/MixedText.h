// A megabyte of everything: prose, code, many scripts, emoji, random characters, broken UTF-8. The
// same generator is in tools/dev/make_tokenizer_fixtures.py, which asked the reference about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::test {

/// A linear congruential generator.
class Random {
public:
  uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % limit);
  }

private:
  uint64_t state = 1;
};

/// 64-bit FNV-1a.
class Hash {
public:
  void add(unsigned char byte) { value = (value ^ byte) * 0x100000001B3u; }
  void add(std::string_view text) {
    for (char c : text)
      add(static_cast<unsigned char>(c));
  }
  std::string hex() const;

private:
  uint64_t value = 0xCBF29CE484222325u;
};

/// The samples of samples.txt.
std::vector<std::string> readSamples(const std::string &path);

/// The mixed text; at least `bytes` long.
std::string makeMixedText(const std::vector<std::string> &samples, size_t bytes);

/// The content of a file.
std::string readFile(const std::string &path);

} // namespace sinter::test
