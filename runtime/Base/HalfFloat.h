//===- HalfFloat.h - bf16 and f16 in plain integers -------------*- C++ -*-===//
//
// Conversions between f32 and the two 16-bit formats, rounding to the nearest and ties to even, as
// the processor's own instructions do. NaNs stay NaNs (quieted).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace sinter {

/// f32 from the bits of a bf16; exact.
constexpr float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// The bits of the bf16 nearest to `value`.
constexpr uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>((nan ? bits | 0x400000 : rounded) >> 16);
}

/// f32 from the bits of an IEEE half; exact.
constexpr float f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  // Multiplying by 2^112 moves the exponent's bias and normalizes subnormals at once.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t special = magnitude >= 0x7c00 ? 0x7f800000u | ((magnitude & 0x3ff) << 13) : 0;
  uint32_t result = special ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(result | sign);
}

/// The bits of the IEEE half nearest to `value`; too large ones become infinities.
constexpr uint16_t floatToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x477ff000) // rounds to 65520 or more
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // subnormal: let an addition do the rounding
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

} // namespace sinter
