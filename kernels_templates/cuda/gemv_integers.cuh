//===- gemv_integers.cuh - A GEMV whose weights are integers ----*- C++ -*-===//
//
// out[m, n] = epilogue(norm(lhs)[m, k] . rhs[n, k]) for m of 1 to 8 and rhs of integers with scales
// (integers.cuh): they are read once, at memory speed, and never written anywhere widened. A
// product takes at least the bytes of integers, scales and minima over the memory's rate.
//
// Versions:
//
//   rows  As gemv.cuh's transposed one: a warp computes kGemvColumns sums of each row, its lanes
//         read 16 bytes each of as many rows of rhs (16 or 32 weights), several steps ahead of the
//         sums, and meet in shuffles. Of weights that share a scale a lane adds up the products
//         with the integers, and multiplies that by the scale; with minima it adds up the left-hand
//         side beside it. Where there are too few outputs to fill the machine, the warps of a block
//         share outputs and each sums a part of k.
//
// Sums are in f32, in an order that depends on n, k, bits and group alone: a row's result has the
// same bits for every m.
//
// Norm, gate, heads and rounds of groups are gemv.cuh's.
//
// Parameters: those of gemv.cuh without rhsStride, rhsTransposed and splits, and those of
// integers.cuh. Element is the type of lhs as it is multiplied.
//
// Arguments: lhs, integers, scales, minima (nullptr without), the norm's weight and bias, four
// operands of the epilogue, out, and what heads need, as in gemv.cuh.
//
// Launch: gemv_integers_grid<P>() blocks of 128 threads, gemv_integers_shared<P>() bytes.
//
//   splits = the first of 1, 2, 4 with ceil(n / (8 / splits)) >= 264, else 4
//   groups = ceil(n / (4 kColumns / splits)) with kColumns = m <= 2 ? 2 : 4
//   grid   = normalized ? ceil(groups / ceil(groups / 528)) : groups
//   shared = normalized ? m * (k rounded up to 16 bytes) * sizeof(Element) : 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemv.cuh"
#include "integers.cuh"

namespace sinter {

namespace products {

/// Warps that share the sum of an output: the same for every number of rows.
template <class P> SINTER_CONSTEXPR int gemv_integers_splits() {
  for (int splits = 1; splits < 4; splits *= 2)
    if (divide_up(P::n, 8 / splits) >= 264)
      return splits;
  return 4;
}
template <class P> SINTER_CONSTEXPR long long gemv_integers_groups() {
  return divide_up(P::n, 4 * kGemvColumns<P> / gemv_integers_splits<P>());
}
template <class P> SINTER_CONSTEXPR int gemv_integers_rounds() {
  return kIsNormalized<P> ? static_cast<int>(divide_up(gemv_integers_groups<P>(), 4 * 132)) : 1;
}

/// Weights of a load of 16 bytes.
template <class P> constexpr int kIntegerWidth = P::bits == 4 ? 32 : 16;
/// Those among them that share a scale.
template <class P> constexpr int kShare = power_of_two_in(P::group, kIntegerWidth<P>);

/// Part of a row of weights.
template <class P> struct IntegerTile {
  using Scale = typename P::ScaleElement;
  static constexpr int kShares = kIntegerWidth<P> / kShare<P>;
  Vector<unsigned, 4> words;
  Scale scales[kShares]; ///< widened behind the loads, which are not to be waited for
  float minima[P::hasMinima ? kShares : 1];

  SINTER_DEVICE void read(const IntegerOperands<P> &rhs, int column, int at) {
    words = load_integers<P>(rhs.row(column), at);
#pragma unroll
    for (int i = 0; i < kShares; ++i) {
      const int element = at + i * kShare<P>;
      const long long group = rhs.first_group(column) + element / P::group;
      scales[i] = element < P::k ? rhs.scales[group] : Scale{};
      if constexpr (P::hasMinima)
        minima[i] = element < P::k ? rhs.minima[group] : 0.0f;
    }
  }

  /// Weights 8 part to 8 part + 7 without their scales.
  SINTER_DEVICE Vector<float, 8> widen(int part) const {
    const int word = P::bits == 4 ? part % 2 * 2 : part * 2;
    const auto low = widen_integers<P>(words[word], part / 2);
    const auto high = widen_integers<P>(words[word + 1], part / 2);
    Vector<float, 8> result;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      result[i] = low[i];
      result[4 + i] = high[i];
    }
    return result;
  }
};

/// Eight numbers of a row that is multiplied; zeros where it has ended.
template <class P> SINTER_DEVICE Vector<float, 8> load_lhs(const typename P::Element *row, int at) {
  if constexpr (P::k % 8 == 0 && kLhsStride<P> % 8 == 0) {
    return to_floats(load<typename P::Element, 8>(row + at));
  } else {
    Vector<float, 8> result;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      result[i] = at + i < P::k ? to_float(row[at + i]) : 0.0f;
    return result;
  }
}

/// Adds the products with a tile of each column to the sums; `row_of` says where a row of lhs
/// begins.
template <class P, class RowOf>
SINTER_DEVICE void multiply_integers(float (&sums)[P::m][kGemvColumns<P>],
                                     const IntegerTile<P> (&tiles)[kGemvColumns<P>], RowOf row_of,
                                     int at) {
  constexpr int kColumns = kGemvColumns<P>;
  float partial[P::m][kColumns], totals[P::m];
#pragma unroll
  for (int part = 0; part < kIntegerWidth<P> / 8; ++part) {
    if (P::k % kIntegerWidth<P> != 0 && at + part * 8 >= P::k)
      break;
    Vector<float, 8> columns[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      columns[c] = tiles[c].widen(part);
#pragma unroll
    for (int row = 0; row < P::m; ++row) {
      const auto x = load_lhs<P>(row_of(row), at + part * 8);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int element = part * 8 + i, share = element / kShare<P>;
        const bool begins = element % kShare<P> == 0, ends = (element + 1) % kShare<P> == 0;
        if constexpr (P::hasMinima)
          totals[row] = begins ? x[i] : totals[row] + x[i];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          partial[row][c] =
              begins ? x[i] * columns[c][i] : fma(x[i], columns[c][i], partial[row][c]);
          if (ends)
            sums[row][c] = fma(partial[row][c], to_float(tiles[c].scales[share]), sums[row][c]);
          if constexpr (P::hasMinima)
            if (ends)
              sums[row][c] = fma(totals[row], tiles[c].minima[share], sums[row][c]);
        }
      }
    }
  }
}

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemv_integers_grid() {
  return divide_up(products::gemv_integers_groups<P>(), products::gemv_integers_rounds<P>());
}
template <class P> SINTER_CONSTEXPR int gemv_integers_block() { return 128; }
template <class P> SINTER_CONSTEXPR int gemv_integers_shared() {
  return products::kIsNormalized<P> ? products::kLhsBytes<P> : 0;
}

template <class P>
SINTER_DEVICE void
gemv_integers(const typename P::Input *lhs, const typename P::RhsElement *integers,
              const typename P::ScaleElement *scales, const float *minima,
              const typename P::NormWeight *normWeight, const typename P::NormBias *normBias,
              const void *operand0, const void *operand1, const void *operand2,
              const void *operand3, void *out, const float *cos, const float *sin, const int *start,
              const int *count, void *secondOut, void *thirdOut) {
  using namespace products;
  static_assert(P::m >= 1 && P::m <= 8, "more rows are for gemm_integers");
  static_assert(P::bits == 4 || P::bits == 8, "integers have four or eight bits");
  static_assert(P::k % P::group == 0, "a row is of whole groups");
  constexpr int kColumns = kGemvColumns<P>, kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  constexpr int kSplits = gemv_integers_splits<P>(), kRounds = gemv_integers_rounds<P>();
  constexpr int kWidth = kIntegerWidth<P>;
  static_assert(kRounds == 1 || kSplits == 1, "a product of many columns needs no splits");
  struct Tile {
    IntegerTile<P> columns[kColumns];
  };
  const GemvOperands<P> operands{lhs,
                                 normWeight,
                                 normBias,
                                 {{operand0, operand1, operand2, operand3}},
                                 static_cast<typename P::Out *>(out),
                                 {cos, sin, start, count, {out, secondOut, thirdOut}}};
  const IntegerOperands<P> rhs{integers, scales, minima};
  pdl_launch_dependents();
  if constexpr (!P::rhsIsConstant)
    pdl_wait();

  const int split = warp_index() % kSplits;
  const typename P::Element *rows = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    const long long group = round * gemv_integers_grid<P>() + blockIdx.x;
    const int first = static_cast<int>((group * (4 / kSplits) + warp_index() / kSplits) * kOwn);
    int columns[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      // Columns beyond the last repeat it.
      columns[c] = column_of<P>(min_of(first + c % kOwn, kOutputs<P> - 1), c / kOwn);

    float sums[P::m][kColumns] = {};
    stream_tiles<Tile, 2, kWarp * kWidth * kSplits>(
        (split * kWarp + lane_index()) * kWidth, P::k,
        [&](Tile &tile, int at) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
            if (at < P::k)
              tile.columns[c].read(rhs, columns[c], at);
        },
        [&] {
          if (round == 0)
            rows = prepare_lhs<P, 128>(operands);
        },
        [&](const Tile &tile, int at) {
          multiply_integers<P>(
              sums, tile.columns, [&](int row) { return rows + row * kLhsStride<P>; }, at);
        });
    finish_columns<P, 4, kSplits>(operands, sums, first, round);
  }
}

} // namespace sinter
