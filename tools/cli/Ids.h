//===- Ids.h - Token ids on the command line --------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::cli {

/// "1,2,3" as ids; fails on anything that is not a list of non-negative 32-bit integers.
inline Expected<std::vector<int32_t>> parseIds(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    int32_t id = 0;
    auto [rest, status] = std::from_chars(at, end, id);
    bool separated = rest == end || (*rest == ',' && rest + 1 != end);
    if (status != std::errc() || id < 0 || !separated)
      return fail("token ids '" + std::string(text) + "'",
                  "are not whole numbers from 0 on, separated by commas",
                  "write for example 1,2,3");
    ids.push_back(id);
    at = rest == end ? end : rest + 1;
  }
  return ids;
}

/// Ids as "1,2,3".
inline std::string joinIds(std::span<const int32_t> ids) {
  std::string text;
  for (int32_t id : ids)
    text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

} // namespace sinter::cli
