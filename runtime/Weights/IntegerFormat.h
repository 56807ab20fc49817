//===- IntegerFormat.h - Weights that are integers times scales -*- C++ -*-===//
//
// A matrix of which each group of a row's elements shares a scale, element = integer * scale. Files
// in blocks hold such; besides their numbers in f32 the runtime can have both parts, under names of
// their own: "w:integers", [n, k], and "w:scales", [n, k / group] of f32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include <cstdint>
#include <string_view>

namespace sinter {

inline constexpr std::string_view integersSuffix = ":integers", scalesSuffix = ":scales";

struct IntegerFormat {
  DType dtype = DType::I8; ///< I8 or I4, which both have a byte an element
  int64_t group = 0;       ///< elements of a row that share a scale
};

} // namespace sinter
