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

/// Levels that a text of JSON or MLIR may have. A training step of GPT-2 as MLIR text has five.
inline constexpr size_t kMostNesting = 256;

/// The brackets () [] {} <> that are open at once at the most, strings in double quotes, comments
/// (//) and the operators ->, <= and >= left out.
size_t measureNesting(std::string_view text);

} // namespace sinter
