//===- grouped_integers.cuh - Rows by integers of their groups --*- C++ -*-===//
//
// sinter.grouped_matmul by integers with scales (integers.cuh): the rows of a group by the matrix
// of the group, which is read as it is stored and never written anywhere widened. Tiles of groups
// are grouped.cuh's; what a tile does is what products of one matrix do.
//
// grouped_gemv_integers   Few rows a group, as grouped_gemv: a warp computes four columns of up to
//                         four rows with the loads and sums of gemv_integers.cuh.
//
// grouped_gemm_integers   Many rows, as grouped_gemm: tiles of weights are widened in registers,
//                         with matrix instructions or without, as in gemm_integers.cuh.
//
// A row's sums have one order, whatever rows are beside it.
//
// Parameters: those of grouped.cuh without rhsTransposed (rhs is [groups, n, k]), of which Element
// is the type of lhs, and those of integers.cuh.
//
// Arguments: lhs, integers, scales, minima (nullptr without), offsets, out.
//
// Launch: that of grouped_gemv; that of grouped_gemm for a transposed rhs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemm_integers.cuh"
#include "gemv_integers.cuh"
#include "grouped.cuh"

namespace sinter {

namespace groups {

/// What gemv_integers.cuh asks of a product of ROWS rows.
template <class P, int ROWS> struct FewRows : P {
  using NormWeight = void;
  using Heads = void;
  using Epilogue = sinter::Epilogue<>;
  static constexpr int m = ROWS;
  static constexpr long long lhsStride = P::k;
};

/// What gemm_integers.cuh asks of a product.
template <class P> struct IntegerProduct : P {
  using Epilogue = sinter::Epilogue<>;
  static constexpr long long lhsStride = P::k, outStride = P::n;
};
template <class P> using WidenedTile = products::WidenedProduct<IntegerProduct<P>>;

/// Computes a warp's columns from `first` on, of ROWS rows at the most.
template <class P, int ROWS>
SINTER_DEVICE void multiply_rows_by_integers(const typename P::Element *lhs,
                                             const products::IntegerOperands<FewRows<P, ROWS>> &rhs,
                                             const Rows &rows, int first, typename P::Out *out) {
  using namespace products;
  using Few = FewRows<P, ROWS>;
  constexpr int kTogether = products::kGemvColumns<Few>, kWidth = kIntegerWidth<Few>;
  struct Tile {
    IntegerTile<Few> columns[kTogether];
  };
  // Rows beyond the last repeat it.
  auto left = [&](int row) {
    return lhs + static_cast<long long>(min_of(rows.first + row, rows.end - 1)) * P::k;
  };
#pragma unroll 1
  for (int begin = first; begin < min_of(first + groups::kGemvColumns, P::n); begin += kTogether) {
    int columns[kTogether];
#pragma unroll
    for (int c = 0; c < kTogether; ++c)
      // Columns beyond the last repeat it.
      columns[c] = rows.group * P::n + min_of(begin + c, P::n - 1);
    float sums[ROWS][kTogether] = {};
    stream_tiles<Tile, 2, kWarp * kWidth>(
        lane_index() * kWidth, P::k,
        [&](Tile &tile, int at) {
#pragma unroll
          for (int c = 0; c < kTogether; ++c)
            if (at < P::k)
              tile.columns[c].read(rhs, columns[c], at);
        },
        [] {},
        [&](const Tile &tile, int at) { multiply_integers<Few>(sums, tile.columns, left, at); });
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
#pragma unroll
      for (int c = 0; c < kTogether; ++c) {
        const float sum = warp_reduce_sum(sums[row][c]);
        if (lane_index() == row * kTogether + c && rows.first + row < rows.end && begin + c < P::n)
          out[static_cast<long long>(rows.first + row) * P::n + begin + c] =
              from_float<typename P::Out>(sum);
      }
  }
}

} // namespace groups

template <class P> SINTER_CONSTEXPR int grouped_gemv_integers_block() {
  return groups::kGemvThreads;
}
template <class P> SINTER_CONSTEXPR int grouped_gemv_integers_shared() { return 0; }
template <class P> SINTER_CONSTEXPR long long grouped_gemv_integers_grid() {
  return grouped_gemv_grid<P>();
}

template <class P> SINTER_CONSTEXPR int grouped_gemm_integers_block() {
  return gemm_block<groups::WidenedTile<P>>();
}
template <class P> SINTER_CONSTEXPR int grouped_gemm_integers_shared() {
  return gemm_shared<groups::WidenedTile<P>>();
}
template <class P> SINTER_CONSTEXPR long long grouped_gemm_integers_grid() {
  return grouped_gemm_grid<P>();
}

template <class P>
SINTER_DEVICE void
grouped_gemv_integers(const typename P::Element *lhs, const typename P::RhsElement *integers,
                      const typename P::ScaleElement *scales, const float *minima,
                      const int *offsets, typename P::Out *out) {
  static_assert(P::bits == 4 || P::bits == 8, "integers have four or eight bits");
  static_assert(P::k % P::group == 0, "a row is of whole groups");
  pdl_launch_dependents();
  pdl_wait();
  const auto [rows, first] = groups::find_gemv_tile<P>(offsets);
  if (rows.first == rows.end || first >= P::n)
    return;
  if (rows.end - rows.first == 1)
    groups::multiply_rows_by_integers<P, 1>(lhs, {integers, scales, minima}, rows, first, out);
  else
    groups::multiply_rows_by_integers<P, groups::kGemvRows>(lhs, {integers, scales, minima}, rows,
                                                            first, out);
}

template <class P>
SINTER_DEVICE void
grouped_gemm_integers(const typename P::Element *lhs, const typename P::RhsElement *integers,
                      const typename P::ScaleElement *scales, const float *minima,
                      const int *offsets, typename P::Out *out) {
  static_assert(P::bits == 4 || P::bits == 8, "integers have four or eight bits");
  static_assert(P::k % P::group == 0, "a row is of whole groups");
  using Widened = groups::WidenedTile<P>;
  constexpr int kBlocks = static_cast<int>(divide_up(P::n, P::tile));
  const groups::Rows rows =
      groups::find_tile<P, P::tile>(offsets, static_cast<int>(blockIdx.x / kBlocks));
  if (rows.first == rows.end)
    return;
  const long long before = static_cast<long long>(rows.group) * P::n; // columns of other matrices
  const long long group = before * (P::k / P::group);
  const products::IntegerRhs<groups::IntegerProduct<P>> rhs{
      {integers + before * integer_pitch(P::k, P::bits), scales + group,
       P::hasMinima ? minima + group : nullptr}};
  const products::OutputTile<Widened> tile{
      rows.first, static_cast<int>(blockIdx.x % kBlocks) * P::tile, rows.end, P::k};
  if constexpr (products::gemm_uses_matrices<Widened>())
    products::gemm_matrices<Widened>(tile, products::DenseLhs<Widened>{lhs, tile.m}, rhs, {}, out);
  else
    products::gemm_plain<Widened>(tile, lhs, rhs, {}, out);
}

} // namespace sinter
