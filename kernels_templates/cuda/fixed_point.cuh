//===- fixed_point.cuh - Numbers multiplied as integers ---------*- C++ -*-===//
//
// Rows that are multiplied by integers are made fixed point, so that matrix instructions on bytes
// multiply weights as they lie in memory, and the sums of a segment of 32 elements are exact, as on
// a processor (compiler/Codegen/Cpu/FixedPointRows.h has the formula and its error):
//
//   2^(e-1) <= the largest |x| of the segment < 2^e,  X = round(x 2^(23-e))
//   X = D0 + 2^8 D1 + 2^16 D2             three signed digits of a byte
//
// (where the highest digit would be 128, e is one more; e is -100 at the least). Where a number of
// a segment is infinite or NaN, so is what is computed from it.
//
// Parameters of the product that are used here: those of gemv.cuh and of integers.cuh; `group` is a
// multiple of 32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemv.cuh"
#include "integers.cuh"

namespace sinter {

namespace products {

/// Elements of a row that share a power of two, and what a number becomes.
constexpr int kSegment = 32, kDigits = 3;

/// The rows [0, ROWS) of a block as fixed point, in shared memory.
template <class P, int ROWS> struct FixedPointRows {
  static constexpr int kSegments = P::k / kSegment;
  /// Bytes from one row of digits to the next: four of them fall into different banks.
  static constexpr int kPitch = static_cast<int>(round_up(P::k, 128)) + kSegment;
  static constexpr int kUnitBytes = kSegments * static_cast<int>(sizeof(float));
  static constexpr int kBytes = ROWS * (kDigits * kPitch + (P::hasMinima ? 2 : 1) * kUnitBytes);

  /// [row][digit][kPitch]; the power of two of [row][segment], and where there are minima, the sum
  /// of its numbers
  unsigned char *memory;

  SINTER_DEVICE unsigned char *digits(int row, int digit) const {
    return memory + (row * kDigits + digit) * kPitch;
  }
  SINTER_DEVICE float *units(int row) const {
    return reinterpret_cast<float *>(digits(ROWS, 0) + row * kUnitBytes);
  }
  SINTER_DEVICE float *totals(int row) const { return units(ROWS + row); }

  /// Where an element's digit lies in its segment: as a lane has the weights of four bits of a
  /// fragment, in the lower and in the upper halves of a word; of eight bits, in order.
  static SINTER_CONSTEXPR int place(int element) {
    return P::bits == 8 ? element : element % 16 / 4 * 8 + element / 16 * 4 + element % 4;
  }

  /// Writes WIDTH neighbouring numbers of a row. The lanes that have the rest of their segment call
  /// it together.
  template <int WIDTH>
  SINTER_DEVICE void write(int row, int at,
                           const Vector<typename P::Element, WIDTH> &numbers) const {
    constexpr int kLanes = kSegment / WIDTH, kTogether = WIDTH < 4 ? WIDTH : 4;
    const int lane = lane_index() % kLanes;
    const unsigned lanes =
        kLanes == kWarp ? 0xffffffffu : ((1u << kLanes % kWarp) - 1) << (lane_index() - lane);
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      largest = max_of(largest, __builtin_bit_cast(unsigned, to_float(numbers[i])) & 0x7FFFFFFFu);
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2)
      largest = max_of(largest, __shfl_xor_sync(lanes, largest, step));
    const bool isFinite = largest < 0x7F800000u;
    int exponent = max_of(static_cast<int>(largest >> 23) - 126, -100);
    auto powerOfTwo = [](int power) {
      return __builtin_bit_cast(float, static_cast<unsigned>(127 + power) << 23);
    };
    constexpr float kMost = 127.0f * (1 + 256 + 65536);
    if (round_even(__builtin_bit_cast(float, largest) * powerOfTwo(23 - exponent)) > kMost)
      ++exponent;

    int sum = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; i += kTogether) {
      Vector<signed char, kTogether> parts[kDigits];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        const float scaled = to_float(numbers[i + j]) * powerOfTwo(23 - exponent);
        int rest = isFinite ? static_cast<int>(round_even(scaled)) : 0;
        sum += rest;
#pragma unroll
        for (int digit = 0; digit < kDigits; ++digit) {
          parts[digit][j] = static_cast<signed char>(rest);
          rest = (rest - parts[digit][j]) >> 8;
        }
      }
      const int element = at % kSegment + i;
#pragma unroll
      for (int digit = 0; digit < kDigits; ++digit)
        store(reinterpret_cast<signed char *>(digits(row, digit)) + (at - at % kSegment) +
                  place(element),
              parts[digit]);
    }
    if constexpr (P::hasMinima)
#pragma unroll
      for (int step = kLanes / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(lanes, sum, step);
    if (lane != 0)
      return;
    const float one = isFinite ? powerOfTwo(exponent - 23) : __builtin_bit_cast(float, 0x7FC00000u);
    units(row)[at / kSegment] = one;
    if constexpr (P::hasMinima)
      totals(row)[at / kSegment] = static_cast<float>(sum) * one;
  }
};

/// What a lane reads of fixed-point rows: its part of the right side of products, whose columns are
/// the digits of rows 2 tile and 2 tile + 1, of each a fourth one that nobody wants, and what
/// belongs to its sums, which are of digits 0 and 1 of a row or of the last one. Where there is no
/// row they are of another one.
template <class P, int ROWS> class FixedPointColumns {
public:
  SINTER_DEVICE FixedPointColumns(const FixedPointRows<P, ROWS> &rows, int tile) {
    const int lane = lane_index();
    digits =
        rows.digits(min_of(tile * 2 + lane / 16, ROWS - 1), min_of(lane / 4 % 4, kDigits - 1)) +
        lane % 4 * 8;
    units = rows.units(min_of(tile * 2 + lane % 4 / 2, ROWS - 1));
  }

  SINTER_DEVICE Vector<unsigned, 2> read(unsigned segment) const {
    return load<unsigned, 2>(reinterpret_cast<const unsigned *>(digits + segment * kSegment));
  }
  SINTER_DEVICE float unit(unsigned segment) const { return units[segment]; }
  SINTER_DEVICE float total(unsigned segment) const {
    return units[ROWS * FixedPointRows<P, ROWS>::kSegments + segment];
  }

private:
  const unsigned char *digits;
  const float *units;
};

/// Makes rows [begin, end) fixed point, once what other kernels write may be read: normalized, if
/// they are to be. A block of THREADS threads calls it, and waits for each other before they read.
template <class P, int THREADS, int ROWS>
SINTER_DEVICE void hold_fixed_point(const GemvOperands<P> &operands, int begin, int end,
                                    const FixedPointRows<P, ROWS> &rows) {
  if constexpr (kIsNormalized<P>) {
    using Numbers = Vector<typename P::Element, norm_width<P>()>;
    hold_norm<P, THREADS>(operands, begin, end, [&](int row, int at, const Numbers &numbers) {
      rows.write(row - begin, at, numbers);
    });
  } else {
    if constexpr (P::rhsIsConstant)
      pdl_wait();
    constexpr int kWidth = P::lhsStride % 8 == 0 ? 8 : 1;
    for (int row = begin; row < end; ++row)
      for (int at = static_cast<int>(threadIdx.x) * kWidth; at < P::k; at += THREADS * kWidth)
        rows.write(row - begin, at,
                   load<typename P::Element, kWidth>(operands.lhs + row * P::lhsStride + at));
  }
}

} // namespace products
} // namespace sinter
