//===- ByteLevel.cpp - Bytes as printable characters ---------------------===//

#include "frontends/Tokenizer/ByteLevel.h"

#include "frontends/Tokenizer/Unicode.h"

#include <array>
#include <cstdint>

namespace sinter::tokenizer {

namespace {

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<int16_t, 0x180> byte{};

  constexpr Tables() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      character[b] = printable ? static_cast<char32_t>(b) : next++;
      byte[character[b]] = static_cast<int16_t>(b);
    }
  }
};

constexpr Tables kTables;

} // namespace

void appendBytesAsCharacters(std::string &out, std::string_view text) {
  for (unsigned char byte : text)
    appendUtf8(out, kTables.character[byte]);
}

bool appendCharactersAsBytes(std::string &out, std::string_view text) {
  size_t before = out.size();
  for (size_t i = 0; i < text.size();) {
    char32_t c = decodeUtf8(text, i);
    if (c >= kTables.byte.size() || kTables.byte[c] < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(kTables.byte[c]);
  }
  return true;
}

} // namespace sinter::tokenizer
