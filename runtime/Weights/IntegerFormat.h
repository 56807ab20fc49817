//===- IntegerFormat.h - Weights that are integers times scales -*- C++ -*-===//
//
// A matrix of which each group of a row's elements shares a scale, and maybe a minimum: element =
// integer * scale + minimum. Files hold such; besides their numbers in f32 the runtime can have the
// parts, under names of their own: "w:integers", [n, k], "w:scales", [n, k / group] of the type
// that the file has them in, and "w:minima" of f32. Numbers of e4m3 are kept in the same way.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter {

inline constexpr std::string_view integersSuffix = ":integers", scalesSuffix = ":scales",
                                  minimaSuffix = ":minima";

/// What codes of four bits stand for.
using CodeValues = std::array<int8_t, 16>;

/// Twice the numbers of e2m1, of which OCP's MXFP4 consists.
inline constexpr CodeValues twiceE2M1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct IntegerFormat {
  DType dtype = DType::I8;      ///< I8, I4 or E4M3, which all have a byte an element
  int64_t group = 0;            ///< elements of a row that share a scale
  DType scaleType = DType::F32; ///< F32, F16 or BF16
  bool hasMinima = false;
  /// Whether what is multiplied is meant to be rounded to 8 bits, row by row, too.
  bool roundsRows = false;
  /// Of I8: these are all the integers that there are, so that four bits tell which.
  std::optional<CodeValues> values = std::nullopt;

  bool operator==(const IntegerFormat &) const = default;
};

} // namespace sinter
