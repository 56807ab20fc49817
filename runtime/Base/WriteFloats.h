//===- WriteFloats.h - f32 as elements of another type ----------*- C++ -*-===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/HalfFloat.h"
#include <cstddef>
#include <cstring>
#include <span>

namespace sinter {

/// Writes the values as elements of `type`, F32, BF16 or F16, rounded to it.
/// @pre `out` has room for them; it need not be aligned
inline void writeFloats(std::span<const float> values, DType type, std::byte *out) {
  if (type == DType::F32) {
    std::memcpy(out, values.data(), values.size_bytes());
    return;
  }
  for (float value : values) {
    uint16_t half = type == DType::BF16 ? floatToBf16(value) : floatToF16(value);
    std::memcpy(out, &half, sizeof half);
    out += sizeof half;
  }
}

} // namespace sinter
