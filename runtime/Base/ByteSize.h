//===- ByteSize.h - Sizes as people write them ------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

/// "8GiB" as bytes: a number, perhaps with decimals, and B (or nothing), KiB, MiB, GiB, TiB (powers
/// of 1024), KB, MB, GB or TB (powers of 1000), in any case. `option` names it in errors.
Expected<uint64_t> parseByteSize(std::string_view text, const std::string &option);

/// "1.50 GiB", "12.00 KiB", "312 B".
std::string formatBytes(uint64_t bytes);
/// "604288 bytes (590.12 KiB)": to be read, and to be given back to an option.
std::string formatExactBytes(uint64_t bytes);

} // namespace sinter
