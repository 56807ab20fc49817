//===- Float8.h - fp8 in plain integers -------------------------*- C++ -*-===//
//
// The format of "OCP 8-bit Floating Point" E4M3 (float8_e4m3fn): a sign, four bits of exponent with
// bias 7, three of mantissa, subnormals, no infinities; S.1111.111 alone is NaN. The largest
// number is 448. And E5M2 (float8_e5m2): the upper half of an IEEE f16, infinities and NaN
// included; the largest number is 57344. E8M0 is the scale of OCP's microscaling formats, a power
// of two alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter {

constexpr float largestE4M3 = 448;

/// f32 from the bits of an e4m3; exact.
constexpr float e4m3ToFloat(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, magnitude = bits & 0x7f;
  // Multiplying by 2^120 moves the exponent's bias and normalizes subnormals at once.
  float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  uint32_t result = magnitude == 0x7f ? 0x7fc00000u : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(result | sign);
}

/// The bits of the e4m3 nearest to `value`, ties to even; what is beyond the largest number becomes
/// that, NaN stays NaN.
inline uint8_t floatToE4M3(float value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return sign | 0x7f;
  float magnitude = std::fabs(value);
  if (magnitude >= largestE4M3)
    return sign | 0x7e;
  // Below 2^-6 numbers are multiples of 2^-9; let an addition do the rounding.
  if (magnitude < 0x1p-6f)
    return sign | static_cast<uint8_t>(std::bit_cast<uint32_t>(magnitude + 0x1p14f) - 0x46800000u);
  uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  uint32_t rounded = bits + 0x7ffff + ((bits >> 20) & 1);
  return sign | static_cast<uint8_t>((rounded - (120u << 23)) >> 20);
}

/// Half of the number of an e8m0, which is 2^(bits - 127); exact.
constexpr float halfOfE8M0(uint8_t bits) {
  // 2^-128 and 2^-127 are subnormal.
  return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : (bits - 1u) << 23);
}

/// f32 from the bits of an e5m2; exact.
constexpr float e5m2ToFloat(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, magnitude = bits & 0x7f;
  float scaled = std::bit_cast<float>(magnitude << 21) * 0x1p112f;
  uint32_t result =
      magnitude >= 0x7c ? 0x7f800000u | (magnitude & 3) << 21 : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(result | sign);
}

/// The bits of the e5m2 nearest to `value`, ties to even, an infinity beyond the largest number.
inline uint8_t floatToE5M2(float value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return sign | 0x7e;
  float magnitude = std::fabs(value);
  // Below 2^-14 numbers are multiples of 2^-16; let an addition do the rounding.
  if (magnitude < 0x1p-14f)
    return sign | static_cast<uint8_t>(std::bit_cast<uint32_t>(magnitude + 0x1p7f) - 0x43000000u);
  uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  uint32_t code = (bits + 0xfffff + ((bits >> 21) & 1) - (112u << 23)) >> 21;
  return sign | static_cast<uint8_t>(code < 0x7c ? code : 0x7c);
}

} // namespace sinter
