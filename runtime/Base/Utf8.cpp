#include "runtime/Base/Utf8.h"

namespace sinter {

size_t findBrokenUtf8(std::string_view text, size_t from, size_t &length, bool &truncated) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
  size_t size = text.size();
  truncated = false;
  for (size_t i = from; i < size;) {
    unsigned char lead = bytes[i];
    if (lead < 0x80) {
      ++i;
      continue;
    }
    // The second byte's range depends on the lead: no overlong forms, surrogates, or code points
    // past U+10FFFF.
    size_t need = 0;
    unsigned char low = 0x80, high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      need = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      need = 2;
      low = lead == 0xE0 ? 0xA0 : 0x80;
      high = lead == 0xED ? 0x9F : 0xBF;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      need = 3;
      low = lead == 0xF0 ? 0x90 : 0x80;
      high = lead == 0xF4 ? 0x8F : 0xBF;
    }
    size_t have = 0;
    while (have < need && i + 1 + have < size) {
      unsigned char next = bytes[i + 1 + have];
      if (next < (have == 0 ? low : 0x80) || next > (have == 0 ? high : 0xBF))
        break;
      ++have;
    }
    if (need == 0 || have < need) {
      length = 1 + have;
      truncated = need != 0 && i + 1 + have == size;
      return i;
    }
    i += need + 1;
  }
  length = 0;
  return size;
}

bool isValidUtf8(std::string_view text) {
  size_t length;
  bool truncated;
  return findBrokenUtf8(text, 0, length, truncated) == text.size();
}

} // namespace sinter
