//===- gemv_bytes.cuh - A GEMV of elements of 8 bits ------------*- C++ -*-===//
//
// out[m, n] = epilogue((lhs[m, k] . rhs[n, k]) * scales[n] * rowScales[m]) for m of 1 to 8
// (bytes.cuh): rhs is read once, at memory speed.
//
// Versions:
//
//   matrices  A warp multiplies 16 rows of rhs by all of lhs with mma.m16n8k32: rhs stands left, so
//             that lhs' up to eight rows are the columns. Of each row a lane reads 16 bytes at a
//             time, as they lie: fragments want every fourth word, but a sum does not mind in which
//             order both sides go along k. The eight warps of a block share outputs and each sums a
//             part of k.
//
// Sums are in an order that depends on k alone: a row's result has the same bits for every m.
// With a GatedEpilogue a warp's 16 rows are eight of the first half and eight of the second.
//
// Parameters: those of gemv.cuh without rhsStride, rhsTransposed, splits, Heads, Input and the
// norm's, and those of bytes.cuh.
//
// Arguments: lhs, rhs, rowScales, scales, four operands of the epilogue (nullptr where there are
// fewer), out.
//
// Launch: gemv_bytes_grid<P>() blocks of 256 threads.
//
//   grid = ceil(n / 16)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "bytes.cuh"
#include "gemv.cuh"
#include "matrices.cuh"

namespace sinter {

namespace products {

/// Rows of rhs that a block multiplies, and warps that share its sums.
constexpr int kByteColumns = 16, kByteWarps = 8;

/// 16 bytes of a row; zeros where it has ended. Those that nobody reads again need no cache.
template <class P, bool STREAMS, class T>
SINTER_DEVICE Vector<unsigned, 4> load_bytes(const T *row, int at) {
  constexpr bool kAligned = P::k % 16 == 0 && P::lhsStride % 16 == 0;
  Vector<unsigned, 4> words = {};
  if constexpr (kAligned) {
    const auto *from = reinterpret_cast<const unsigned *>(row + at);
    if (at < P::k) {
      if constexpr (STREAMS)
        words = load_streaming<unsigned, 4>(from);
      else
        words = load<unsigned, 4>(from);
    }
  } else {
    const auto *bytes = reinterpret_cast<const unsigned char *>(row);
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (at + i < P::k)
        words[i / 4] |= static_cast<unsigned>(bytes[at + i]) << i % 4 * 8;
  }
  return words;
}

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemv_bytes_grid() {
  return divide_up(P::n, products::kByteColumns);
}
template <class P> SINTER_CONSTEXPR int gemv_bytes_block() { return products::kByteWarps * kWarp; }
template <class P> SINTER_CONSTEXPR int gemv_bytes_shared() { return 0; }

template <class P>
SINTER_DEVICE void gemv_bytes(const typename P::Element *lhs, const typename P::RhsElement *rhs,
                              const float *rowScales, const float *scales, const void *operand0,
                              const void *operand1, const void *operand2, const void *operand3,
                              typename P::Out *out) {
  using namespace products;
  static_assert(P::m >= 1 && P::m <= 8, "more rows are for gemm_bytes");
  constexpr bool kIsGated = P::Epilogue::kIsGated;
  constexpr int kOwn = kIsGated ? kByteColumns / 2 : kByteColumns;
  constexpr int kOutputs = kIsGated ? P::n / 2 : P::n;
  // Lanes of four read 64 bytes of a row side by side.
  constexpr int kStep = 64 * kByteWarps;
  using Sum = SumOf<typename P::Element>;
  struct Tile {
    Vector<unsigned, 4> rows[2]; ///< of lane / 4, and the eighth behind it
  };
  pdl_launch_dependents();
  if constexpr (!P::rhsIsConstant)
    pdl_wait();

  const int lane = lane_index(), group = lane / 4, first = static_cast<int>(blockIdx.x) * kOwn;
  // The rows of rhs of an output; those beyond the last repeat it.
  auto columnOf = [&](int index, int half) {
    return kIsGated ? min_of(first + index, kOutputs - 1) + half * kOutputs
                    : min_of(first + index + half * 8, kOutputs - 1);
  };
  const typename P::RhsElement *rows[2] = {rhs + static_cast<long long>(columnOf(group, 0)) * P::k,
                                           rhs + static_cast<long long>(columnOf(group, 1)) * P::k};
  const typename P::Element *own = lhs + group * P::lhsStride;
  Sum sums[4] = {};
  stream_tiles<Tile, 4, kStep>(
      warp_index() * 64 + lane % 4 * 16, static_cast<int>(round_up(P::k, 64)),
      [&](Tile &tile, int at) {
        tile.rows[0] = load_bytes<P, true>(rows[0], at);
        tile.rows[1] = load_bytes<P, true>(rows[1], at);
      },
      [&] {
        if constexpr (P::rhsIsConstant)
          pdl_wait();
      },
      [&](const Tile &tile, int at) {
        Vector<unsigned, 4> right = {};
        if (group < P::m)
          right = load_bytes<P, false>(own, at);
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          const unsigned left[4] = {tile.rows[0][i], tile.rows[1][i], tile.rows[0][i + 1],
                                    tile.rows[1][i + 1]};
          mma_m16n8k32<typename P::RhsElement, typename P::Element>(sums, left, right[i],
                                                                    right[i + 1]);
        }
      });

  __shared__ Sum partial[kByteWarps][4][kWarp];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    partial[warp_index()][i][lane] = sums[i];
  __syncthreads();
  // Of sums 0 and 1 and 2 and 3, the first are of row `group` of the 16, the others eight behind.
  const int i = warp_index();
  if (i >= (kIsGated ? 2 : 4))
    return;
  auto total = [&](int i) {
    Sum sum = partial[0][i][lane];
#pragma unroll
    for (int warp = 1; warp < kByteWarps; ++warp)
      sum += partial[warp][i][lane];
    return sum;
  };
  const int row = lane % 4 * 2 + i % 2, output = first + group + i / 2 * 8;
  if (row >= P::m || output >= kOutputs)
    return;
  const ScaledEpilogue<P> epilogue{rowScales, scales, {{operand0, operand1, operand2, operand3}}};
  float value;
  if constexpr (kIsGated)
    value = epilogue(total(i), total(i + 2), row, output, output + kOutputs);
  else
    value = epilogue(total(i), row, output);
  out[row * P::outStride + output] = from_float<typename P::Out>(value);
}

} // namespace sinter
