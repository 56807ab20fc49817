//===- integers.cuh - Weights that are integers with scales -----*- C++ -*-===//
//
// A product's right-hand side as integers, [n, k] row by row, of which each `group` elements of a
// row have a scale, and maybe a minimum that is added: element = integer * scale + minimum. They
// are widened in registers, exactly: a byte becomes the lower bits of an f32 of 2^23, from which
// that and what was added to the byte are subtracted. In their place there may be numbers of e4m3,
// which are widened by the machine's conversion where it has one. Scales are of the file's type,
// widened exactly as they are multiplied by.
//
// Integers of eight bits are bytes, rows one behind the other. Of four bits rows begin at multiples
// of 16 bytes: byte j of 16 has element j of 32 in its lower half and element j + 16 in its upper
// one, and behind k there are zeros (pack_integers.cuh).
//
// Parameters of the product that are used here:
//
//   k            (int)
//   bits         (int) 4 or 8
//   RhsElement   (typename) signed char, or of 8 bits E4M3
//   ScaleElement (typename) float, __half or __nv_bfloat16
//   group        (int) elements of a row that share a scale: divides k
//   hasMinima    (bool)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

/// Bytes from one row of integers to the next.
SINTER_CONSTEXPR long long integer_pitch(int k, int bits) {
  return bits == 4 ? round_up(k, 32) / 2 : k;
}

namespace products {

/// The largest power of two that divides a number, or `most` if that is less.
SINTER_CONSTEXPR int power_of_two_in(int number, int most) {
  int power = 1;
  while (power < most && number % (2 * power) == 0)
    power *= 2;
  return power;
}

/// What an argument of weights points to.
template <class P> struct IntegerOperands {
  using Element = typename P::RhsElement;

  const Element *integers;
  const typename P::ScaleElement *scales; ///< [n, k / group]
  const float *minima;                    ///< of the same shape; null where there are none

  /// Where a row's integers, and its scales and minima, begin.
  SINTER_DEVICE const Element *row(int column) const {
    return integers + column * integer_pitch(P::k, P::bits);
  }
  SINTER_DEVICE long long first_group(int column) const {
    return static_cast<long long>(column) * (P::k / P::group);
  }
};

/// Reads 16 bytes of a row's integers: those of 16 elements from `at` on, of four bits of 32; zeros
/// where the row has ended.
template <class P>
SINTER_DEVICE Vector<unsigned, 4> load_integers(const typename P::RhsElement *row, int at) {
  if constexpr (P::bits == 4 || P::k % 16 == 0) {
    return load_streaming<unsigned, 4>(reinterpret_cast<const unsigned *>(row + at * P::bits / 8));
  } else {
    const auto *bytes = reinterpret_cast<const unsigned char *>(row);
    Vector<unsigned, 4> words = {};
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (at + i < P::k)
        words[i / 4] |= static_cast<unsigned>(bytes[at + i]) << i % 4 * 8;
    return words;
  }
}

/// The four integers of a word as f32; of four bits, those of the bytes' lower (0) or upper (1)
/// halves.
template <class P> SINTER_DEVICE Vector<float, 4> widen_integers(unsigned word, int half) {
  if constexpr (P::bits == 4) // What is added makes them positive.
    return bytes_to_floats((word >> 4 * half & 0x0F0F0F0Fu) ^ 0x08080808u, 8);
  else
    return to_floats(__builtin_bit_cast(Vector<typename P::RhsElement, 4>, word));
}

} // namespace products
} // namespace sinter
