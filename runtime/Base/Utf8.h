//===- Utf8.h - Whether bytes are text --------------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string_view>

namespace sinter {

/// The first byte at or after `from` that does not belong to a whole character; `text.size()` if
/// there is none. `length` becomes that of the broken part: the longest prefix of a possible
/// character, at least one byte, as in Unicode's recommended practice (what Python's
/// errors='replace' does). `truncated` says that the text ends inside it.
size_t findBrokenUtf8(std::string_view text, size_t from, size_t &length, bool &truncated);

/// Whether all of `text` is valid UTF-8.
bool isValidUtf8(std::string_view text);

} // namespace sinter
