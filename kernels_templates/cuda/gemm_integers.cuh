//===- gemm_integers.cuh - A product whose weights are integers -*- C++ -*-===//
//
// out[m, n] = epilogue(lhs[m, k] . rhs[n, k]) for many rows and rhs of integers with scales
// (integers.cuh): they are widened tile by tile in front of gemm.cuh's product, never as a whole.
//
// Versions:
//
//   plain     any element types. Elements are widened as a thread puts them into its tile of f32.
//   matrices  bf16 and f16 with lhsStride % 8 == 0. While a tile is multiplied, a thread waits for
//             its 16 integers of the tile after next, multiplies them with their scales, adds their
//             minima, and rounds once to elements, which it puts into shared memory. A tile's 64
//             (128) columns are as many pairs of threads.
//
// Parameters: those of gemm.cuh without rhsStride, rhsTransposed, lhsTransposed and plain, and
// those of integers.cuh. Element is the type of lhs and of the widened tiles.
//
// Arguments: lhs, integers, scales, minima (nullptr without), four operands of the epilogue
// (nullptr where there are fewer), out.
//
// Launch: that of gemm.cuh for a transposed rhs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemm.cuh"
#include "integers.cuh"

namespace sinter {

namespace products {

/// The product of the widened weights: of aligned rows, which is how tiles are written.
template <class P> struct WidenedProduct : P {
  static constexpr bool lhsTransposed = false, rhsTransposed = true, plain = false;
  static constexpr long long rhsStride = round_up(P::k, 8);
};

template <class P> struct IntegerRhs {
  using Scale = typename P::ScaleElement;
  IntegerOperands<P> operands;
  Vector<unsigned, 4> words = {};
  Scale scales[16 / power_of_two_in(P::group, 16)] = {};
  float minima[P::hasMinima ? 16 / power_of_two_in(P::group, 16) : 1] = {};

  SINTER_DEVICE float get(long long k, long long column) const {
    const auto *row = operands.row(static_cast<int>(column));
    float element;
    if constexpr (P::bits == 8)
      element = to_float(row[k]);
    else // Shifted until its sign is the word's.
      element = static_cast<float>(static_cast<int>(static_cast<unsigned>(row[k / 32 * 16 + k % 16])
                                                    << (k % 32 < 16 ? 28 : 24)) >>
                                   28);
    const long long group = operands.first_group(static_cast<int>(column)) + k / P::group;
    element *= to_float(operands.scales[group]);
    if constexpr (P::hasMinima)
      return element + operands.minima[group];
    else
      return element;
  }

  /// A thread's column of a tile, and the first of its 16 elements.
  static SINTER_DEVICE int column() { return threadIdx.x / 2; }
  static SINTER_DEVICE int depth() { return threadIdx.x % 2 * 16; }

  SINTER_DEVICE void begin(const typename P::Element *, int k, int firstColumn) {
    static_assert(gemm_block<WidenedProduct<P>>() == 2 * gemm_tile<WidenedProduct<P>>() &&
                      kGemmDepth<WidenedProduct<P>> == 32,
                  "two threads bring a column's part of a tile");
    const int at = k + depth(), place = firstColumn + column();
    const bool exists = place < P::n && at < P::k;
    words = {};
    if (exists) // Of four bits, two threads read the same bytes.
      words = load_integers<P>(operands.row(place), P::bits == 4 ? k : at);
#pragma unroll
    for (int i = 0; i < kShares; ++i) {
      const int element = at + i * kShare;
      const bool isElement = exists && element < P::k;
      const long long group = operands.first_group(place) + element / P::group;
      scales[i] = isElement ? operands.scales[group] : Scale{};
      if constexpr (P::hasMinima)
        minima[i] = isElement ? operands.minima[group] : 0.0f;
    }
  }

  SINTER_DEVICE void finish(typename P::Element *tile) const {
    Vector<typename P::Element, 16> elements;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const auto values = widen_integers<P>(words[word], depth() / 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int share = (word * 4 + i) / kShare;
        const float scale = to_float(scales[share]);
        float value = values[i] * scale;
        if constexpr (P::hasMinima)
          value = fma(values[i], scale, minima[share]);
        elements[word * 4 + i] = from_float<typename P::Element>(value);
      }
    }
    store(tile + column() * pitch_of(32) + depth(), elements);
  }

private:
  /// Of a thread's 16 elements, how many share a scale, and how many scales there are.
  static constexpr int kShare = power_of_two_in(P::group, 16), kShares = 16 / kShare;
};

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemm_integers_grid() {
  return gemm_grid<products::WidenedProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int gemm_integers_block() {
  return gemm_block<products::WidenedProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int gemm_integers_shared() {
  return gemm_shared<products::WidenedProduct<P>>();
}

template <class P>
SINTER_DEVICE void gemm_integers(const typename P::Element *lhs,
                                 const typename P::RhsElement *integers,
                                 const typename P::ScaleElement *scales, const float *minima,
                                 const void *operand0, const void *operand1, const void *operand2,
                                 const void *operand3, typename P::Out *out) {
  static_assert(P::bits == 4 || P::bits == 8, "integers have four or eight bits");
  static_assert(P::k % P::group == 0, "a row is of whole groups");
  using Widened = products::WidenedProduct<P>;
  typename P::Epilogue epilogue{{operand0, operand1, operand2, operand3}};
  const products::IntegerRhs<P> rhs{{integers, scales, minima}};
  if constexpr (products::gemm_uses_matrices<Widened>())
    products::gemm_matrices<Widened>({}, products::DenseLhs<Widened>{lhs}, rhs, epilogue, out);
  else
    products::gemm_plain<Widened>({}, lhs, rhs, epilogue, out);
}

} // namespace sinter
