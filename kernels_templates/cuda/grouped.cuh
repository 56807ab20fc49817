//===- grouped.cuh - Rows by the matrices of their groups -------*- C++ -*-===//
//
// sinter.grouped_matmul and sinter.grouped_outer: the rows from offsets[g] to offsets[g + 1] are
// group g's. How many rows there are in all is known when compiling, how many a group has is data,
// so a launch has a block for every tile of rows that there may be: of tiles of t rows
// min(m, floor(m / t) + min(groups, m)), which is what m rows come to where every group has a part
// of a tile. Each warp adds up the groups' tiles until it finds its own, 32 groups at a time; a
// block that has none is done. Matrices of groups without rows are not read. A row's sums have one
// order, whatever rows are beside it.
//
// grouped_gemv   out[i, :] = lhs[i, :] . rhs[g], few rows a group: rhs is stored [groups, n, k] and
//                is read at memory speed. A warp computes four columns of up to four rows, whose
//                matrix is read once for all of them; its lanes read 16 bytes of as many rows of
//                rhs.
//
// grouped_gemm   The same for many rows, and rhs [groups, k, n], too: a block computes a tile as
//                one of gemm.cuh does, with matrix instructions or without.
//
// grouped_outer  out[g] = lhs[rows of g]^T . rhs[rows of g], the gradient of rhs: a block computes
//                a tile of one group's matrix as one of gemm.cuh does, with lhs as it is stored,
//                and as many steps as the group has rows. Of a group without rows it writes zeros.
//
// Parameters:
//
//   Element, Out   element types of lhs and rhs; of out
//   m, n, k        (int) rows in all, columns and the contracted extent; of grouped_outer, whose
//                  lhs is [k, m] and rhs [k, n], k is the rows in all
//   groups         (int)
//   rhsTransposed  (grouped_gemm) (bool) rhs is [groups, n, k]
//   tile           (grouped_gemm, grouped_outer) (int) rows and columns of a block's tile, 64 or
//   128
//
// Arguments: lhs, rhs, offsets (i32 [groups + 1]; what is outside of the rows is the nearest
// bound), out.
//
// Launch: <function>_grid<P>() blocks of <function>_block<P>() threads, <function>_shared<P>()
// bytes.
//
//   grouped_gemv   grid = tiles(4) ceil(n / 32), block = 256, no dynamic shared memory
//   grouped_gemm   grid = tiles(tile) ceil(n / tile)
//   grouped_outer  grid = groups ceil(m / tile) ceil(n / tile)
//                  both: block and shared as gemm.cuh's, with rows as long as they are stored
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gemm.cuh"

namespace sinter {

namespace groups {

/// Tiles of ROWS rows that m rows of groups come to at the most.
template <class P, int ROWS> SINTER_CONSTEXPR long long most_tiles() {
  return min_of(P::m, P::m / ROWS + min_of(P::groups, P::m));
}

/// Rows of one group.
struct Rows {
  int group, first, end;
};

/// The rows of a group, of `count` in all.
SINTER_DEVICE Rows rows_of(const int *offsets, int group, int count) {
  auto bound = [&](int i) { return max_of(0, min_of(offsets[i], count)); };
  return {group, bound(group), bound(group + 1)};
}

/// Tile `index` of ROWS rows, in the order of the groups; without rows where there are fewer. All
/// lanes of a warp call it together.
template <class P, int ROWS> SINTER_DEVICE Rows find_tile(const int *offsets, int index) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = lane_index();
  for (int begin = 0; begin < P::groups; begin += kWarp) {
    Rows rows = {};
    if (begin + lane < P::groups)
      rows = rows_of(offsets, begin + lane, P::m);
    const int tiles = max_of(0, rows.end - rows.first + ROWS - 1) / ROWS;
    int sum = tiles; // of this group and those before it
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const int before = __shfl_up_sync(kAll, sum, step);
      sum += lane >= step ? before : 0;
    }
    if (const unsigned found = __ballot_sync(kAll, index < sum)) {
      const int owner = __ffs(static_cast<int>(found)) - 1;
      const int first = rows.first + (index - (sum - tiles)) * ROWS;
      rows = {rows.group, first, min_of(rows.end, first + ROWS)};
      return {__shfl_sync(kAll, rows.group, owner), __shfl_sync(kAll, rows.first, owner),
              __shfl_sync(kAll, rows.end, owner)};
    }
    index -= __shfl_sync(kAll, sum, kWarp - 1);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

constexpr int kGemvRows = 4, kGemvColumns = 4, kGemvThreads = 256;
/// Columns of a block.
constexpr int kGemvWidth = kGemvThreads / kWarp * kGemvColumns;

/// A warp's rows, and its columns from `first` on.
struct GemvTile {
  Rows rows;
  int first;
};

template <class P> SINTER_DEVICE GemvTile find_gemv_tile(const int *offsets) {
  constexpr int kBlocks = static_cast<int>(divide_up(P::n, kGemvWidth));
  return {find_tile<P, kGemvRows>(offsets, static_cast<int>(blockIdx.x / kBlocks)),
          static_cast<int>(blockIdx.x % kBlocks) * kGemvWidth + warp_index() * kGemvColumns};
}

/// Computes a warp's columns from `first` on, of ROWS rows at the most.
template <class P, int ROWS>
SINTER_DEVICE void multiply_rows(const typename P::Element *lhs, const typename P::Element *rhs,
                                 const Rows &rows, int first, typename P::Out *out) {
  using T = typename P::Element;
  constexpr int kWidth = P::k % kVector<T> == 0 ? kVector<T> : 1;
  // Rows and columns beyond the last repeat it.
  const T *lefts[ROWS], *rights[kGemvColumns];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    lefts[row] = lhs + static_cast<long long>(min_of(rows.first + row, rows.end - 1)) * P::k;
#pragma unroll
  for (int c = 0; c < kGemvColumns; ++c)
    rights[c] =
        rhs + (static_cast<long long>(rows.group) * P::n + min_of(first + c, P::n - 1)) * P::k;
  float sums[ROWS][kGemvColumns] = {};
#pragma unroll(ROWS == 1 ? 4 : 2)
  for (int at = lane_index() * kWidth; at < P::k; at += kWarp * kWidth) {
    Vector<T, kWidth> columns[kGemvColumns];
#pragma unroll
    for (int c = 0; c < kGemvColumns; ++c)
      if constexpr (kWidth == kVector<T>)
        columns[c] = load_once(rights[c] + at);
      else
        columns[c] = load<T, kWidth>(rights[c] + at);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      const auto x = to_floats(load<T, kWidth>(lefts[row] + at));
#pragma unroll
      for (int c = 0; c < kGemvColumns; ++c) {
        const auto y = to_floats(columns[c]);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          sums[row][c] = fma(x[i], y[i], sums[row][c]);
      }
    }
  }
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
#pragma unroll
    for (int c = 0; c < kGemvColumns; ++c) {
      const float sum = warp_reduce_sum(sums[row][c]);
      if (lane_index() == row * kGemvColumns + c && rows.first + row < rows.end && first + c < P::n)
        out[static_cast<long long>(rows.first + row) * P::n + first + c] =
            from_float<typename P::Out>(sum);
    }
}

//===----------------------------------------------------------------------===//
// Many rows, and gradients
//===----------------------------------------------------------------------===//

/// What gemm.cuh asks of a product, of one by the matrices of groups.
template <class P> struct TileProduct : P {
  using Epilogue = sinter::Epilogue<>;
  static constexpr bool lhsTransposed = false, plain = false;
  static constexpr long long lhsStride = P::k, rhsStride = P::rhsTransposed ? P::k : P::n,
                             outStride = P::n;
};

/// The same of the product of a group's rows.
template <class P> struct OuterProduct : P {
  using Epilogue = sinter::Epilogue<>;
  static constexpr bool lhsTransposed = true, rhsTransposed = false, plain = false;
  static constexpr long long lhsStride = P::m, rhsStride = P::n, outStride = P::n;
};

/// Computes a tile of a product of this lhs and rhs.
template <class Product>
SINTER_DEVICE void multiply_tile(const products::OutputTile<Product> &tile,
                                 const typename Product::Element *lhs,
                                 const typename Product::Element *rhs, typename Product::Out *out) {
  const products::DenseRhs<Product> right{rhs, tile.k};
  if constexpr (products::gemm_uses_matrices<Product>())
    products::gemm_matrices<Product>(tile, products::DenseLhs<Product>{lhs, tile.m, tile.k}, right,
                                     {}, out);
  else
    products::gemm_plain<Product>(tile, lhs, right, {}, out);
}

} // namespace groups

template <class P> SINTER_CONSTEXPR int grouped_gemv_block() { return groups::kGemvThreads; }
template <class P> SINTER_CONSTEXPR int grouped_gemv_shared() { return 0; }
template <class P> SINTER_CONSTEXPR long long grouped_gemv_grid() {
  return groups::most_tiles<P, groups::kGemvRows>() * divide_up(P::n, groups::kGemvWidth);
}

template <class P> SINTER_CONSTEXPR int grouped_gemm_block() {
  return gemm_block<groups::TileProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int grouped_gemm_shared() {
  return gemm_shared<groups::TileProduct<P>>();
}
template <class P> SINTER_CONSTEXPR long long grouped_gemm_grid() {
  return groups::most_tiles<P, P::tile>() * divide_up(P::n, P::tile);
}

template <class P> SINTER_CONSTEXPR int grouped_outer_block() {
  return gemm_block<groups::OuterProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int grouped_outer_shared() {
  return gemm_shared<groups::OuterProduct<P>>();
}
template <class P> SINTER_CONSTEXPR long long grouped_outer_grid() {
  return P::groups * divide_up(P::m, P::tile) * divide_up(P::n, P::tile);
}

template <class P>
SINTER_DEVICE void grouped_gemv(const typename P::Element *lhs, const typename P::Element *rhs,
                                const int *offsets, typename P::Out *out) {
  pdl_launch_dependents();
  pdl_wait();
  const auto [rows, first] = groups::find_gemv_tile<P>(offsets);
  if (rows.first == rows.end || first >= P::n)
    return;
  if (rows.end - rows.first == 1)
    groups::multiply_rows<P, 1>(lhs, rhs, rows, first, out);
  else
    groups::multiply_rows<P, groups::kGemvRows>(lhs, rhs, rows, first, out);
}

template <class P>
SINTER_DEVICE void grouped_gemm(const typename P::Element *lhs, const typename P::Element *rhs,
                                const int *offsets, typename P::Out *out) {
  constexpr int kBlocks = static_cast<int>(divide_up(P::n, P::tile));
  const groups::Rows rows =
      groups::find_tile<P, P::tile>(offsets, static_cast<int>(blockIdx.x / kBlocks));
  if (rows.first == rows.end)
    return;
  const int column = static_cast<int>(blockIdx.x % kBlocks) * P::tile;
  groups::multiply_tile<groups::TileProduct<P>>(
      {rows.first, column, rows.end, P::k}, lhs,
      rhs + static_cast<long long>(rows.group) * P::n * P::k, out);
}

template <class P>
SINTER_DEVICE void grouped_outer(const typename P::Element *lhs, const typename P::Element *rhs,
                                 const int *offsets, typename P::Out *out) {
  constexpr int kDown = static_cast<int>(divide_up(P::m, P::tile)),
                kAcross = static_cast<int>(divide_up(P::n, P::tile));
  const int place = static_cast<int>(blockIdx.x) % (kDown * kAcross);
  const groups::Rows rows =
      groups::rows_of(offsets, static_cast<int>(blockIdx.x) / (kDown * kAcross), P::k);
  groups::multiply_tile<groups::OuterProduct<P>>(
      {place / kAcross * P::tile, place % kAcross * P::tile, P::m,
       max_of(0, rows.end - rows.first)},
      lhs + static_cast<long long>(rows.first) * P::m,
      rhs + static_cast<long long>(rows.first) * P::n,
      out + static_cast<long long>(rows.group) * P::m * P::n);
}

} // namespace sinter
