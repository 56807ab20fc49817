//===- Nesting.h - How deep a text's brackets are nested --------*- C++ -*-===//
//
// What reads, copies or writes nested values calls itself for each level: a file of a few hundred
// thousand brackets would take more stack than there is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <string_view>

namespace sinter {

/// Levels that a text of JSON or MLIR may have; those that people and programs write have a tenth.
inline constexpr size_t kMostNesting = 256;

/// The brackets () [] {} <> that are open at once at the most, strings in double quotes, comments
/// (//) and arrows (->) left out.
size_t measureNesting(std::string_view text);

} // namespace sinter
