//===- gemv.cuh - A product with few rows -----------------------*- C++ -*-===//
//
// out[m, n] = epilogue(lhs[m, k] . rhs[k, n]) for m of 1 to 8: rhs is read once, at memory speed.
//
// Versions:
//
//   transposed  rhs is stored [n, k]. A warp computes kColumns outputs of each row: its lanes read
//   16
//               bytes each of as many rows of rhs, several steps ahead of the sums, and meet in
//               shuffles. Where there are too few outputs to fill the machine, the warps of a block
//               share outputs and each sums a part of k.
//   plain       rhs is stored [k, n]. A block computes 32 columns; lanes read 16 bytes of a row of
//               rhs, 2 to 16 rows a warp, and eight warps share k. Weights are better stored
//               transposed: with few columns there are too few blocks to fill the machine.
//
// Rows that are not aligned to 16 bytes are read element by element. Sums are in f32, in an order
// that depends on P alone.
//
// Parameters:
//
//   Element, Out       element types of lhs and rhs; of out
//   Epilogue           see epilogue.cuh
//   m, n, k            (int) m is 1 to 8
//   lhsStride, rhsStride, outStride   (long long) elements between rows as stored
//   rhsTransposed      (bool) rhs is [n, k]
//   rhsIsConstant      (bool) no kernel writes rhs: it is read before the kernel before this one is
//                      done, where launches overlap (pdl_wait)
//
// Arguments: lhs, rhs, four operands of the epilogue (nullptr where there are fewer), out.
//
// Launch: gemv_grid<P>() blocks of gemv_block<P>() threads, no dynamic shared memory.
//
//   block  = rhsTransposed ? 128 : 256
//   splits = the first of 1, 2, 4 with ceil(n / (16 / splits)) >= 264 (for m <= 2:
//            8 / splits), else 4
//   grid   = rhsTransposed ? ceil(n / (4 kColumns / splits)) with kColumns = m <= 2 ? 2 : 4
//                          : ceil(n / 32)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "epilogue.cuh"

namespace sinter {

namespace products {

/// Outputs of a row that a warp computes: what is read of lhs is used so often.
template <class P> constexpr int kGemvColumns = P::m <= 2 ? 2 : 4;

/// Warps that share the sum of an output. Two blocks for each of 132 processors fill a machine.
template <class P> SINTER_CONSTEXPR int gemv_splits() {
  for (int splits = 1; splits < 4; splits *= 2)
    if (divide_up(P::n, 4 * kGemvColumns<P> / splits) >= 264)
      return splits;
  return 4;
}

/// Elements of a load of rhs.
template <class P> SINTER_CONSTEXPR int gemv_width() {
  constexpr int kWidth = kVector<typename P::Element>;
  if (P::rhsTransposed)
    return P::k % kWidth == 0 && P::rhsStride % kWidth == 0 && P::lhsStride % kWidth == 0 ? kWidth
                                                                                          : 1;
  return P::n % kWidth == 0 && P::rhsStride % kWidth == 0 ? kWidth : 1;
}

/// Reads part of rhs, which is not read again.
template <int WIDTH, class T> SINTER_DEVICE Vector<T, WIDTH> load_weights(const T *from) {
  if constexpr (WIDTH * sizeof(T) == 16)
    return load_streaming<T, WIDTH>(from);
  else
    return load<T, WIDTH>(from);
}

template <class P>
SINTER_DEVICE void gemv_transposed(const typename P::Element *lhs, const typename P::Element *rhs,
                                   typename P::Epilogue epilogue, typename P::Out *out) {
  using T = typename P::Element;
  constexpr int kColumns = kGemvColumns<P>, kSplits = gemv_splits<P>(), kWidth = gemv_width<P>();
  constexpr int kStep = kWarp * kWidth * kSplits, kAhead = P::m <= 2 ? 4 : 2;
  const int lane = lane_index(), split = warp_index() % kSplits;
  const int first = static_cast<int>((blockIdx.x * (4 / kSplits) + warp_index() / kSplits) *
                                     static_cast<long long>(kColumns));

  float sums[P::m][kColumns] = {};
  const T *rows[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    // Columns beyond the last repeat it.
    rows[c] = rhs + min_of(first + c, P::n - 1) * P::rhsStride;

  auto read = [&](Vector<T, kWidth>(&weights)[kAhead][kColumns], int at) {
#pragma unroll
    for (int step = 0; step < kAhead; ++step)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        weights[step][c] = {};
        if (at + step * kStep < P::k)
          weights[step][c] = load_weights<kWidth>(rows[c] + at + step * kStep);
      }
  };
  const int begin = (split * kWarp + lane) * kWidth;
  Vector<T, kWidth> weights[kAhead][kColumns];
  if constexpr (P::rhsIsConstant) {
    pdl_launch_dependents();
    read(weights, begin);
    pdl_wait();
  } else {
    pdl_wait();
    read(weights, begin);
  }
  for (int at = begin; at < P::k; at += kAhead * kStep) {
    Vector<T, kWidth> next[kAhead][kColumns];
    read(next, at + kAhead * kStep);
#pragma unroll
    for (int step = 0; step < kAhead; ++step) {
      if (at + step * kStep >= P::k)
        break;
#pragma unroll
      for (int row = 0; row < P::m; ++row) {
        Vector<T, kWidth> x = load<T, kWidth>(lhs + row * P::lhsStride + at + step * kStep);
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int i = 0; i < kWidth; ++i)
            sums[row][c] = fma(to_float(x[i]), to_float(weights[step][c][i]), sums[row][c]);
      }
    }
#pragma unroll
    for (int step = 0; step < kAhead; ++step)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        weights[step][c] = next[step][c];
  }

  __shared__ float partial[kSplits > 1 ? 4 : 1][P::m][kColumns];
#pragma unroll
  for (int row = 0; row < P::m; ++row)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      float sum = warp_reduce_sum(sums[row][c]);
      if constexpr (kSplits > 1) {
        if (lane == 0)
          partial[warp_index()][row][c] = sum;
      } else if (lane == row * kColumns + c && first + c < P::n) {
        out[row * P::outStride + first + c] =
            from_float<typename P::Out>(epilogue(sum, row, first + c));
      }
    }
  if constexpr (kSplits > 1) {
    __syncthreads();
    const int row = lane / kColumns, c = lane % kColumns;
    if (split == 0 && row < P::m && first + c < P::n) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kSplits; ++i)
        sum += partial[warp_index() + i][row][c];
      out[row * P::outStride + first + c] =
          from_float<typename P::Out>(epilogue(sum, row, first + c));
    }
  }
}

template <class P>
SINTER_DEVICE void gemv_plain(const typename P::Element *lhs, const typename P::Element *rhs,
                              typename P::Epilogue epilogue, typename P::Out *out) {
  using T = typename P::Element;
  constexpr int kWidth = gemv_width<P>(), kLanes = 32 / kWidth, kWarpRows = kWarp / kLanes;
  constexpr int kRows = 8 * kWarpRows, kAhead = P::m <= 4 ? 4 : 2;
  const int lane = lane_index();
  const int column = blockIdx.x * 32 + lane % kLanes * kWidth;
  const int begin = warp_index() * kWarpRows + lane / kLanes;

  float sums[P::m][kWidth] = {};
  auto read = [&](Vector<T, kWidth>(&weights)[kAhead], int at) {
#pragma unroll
    for (int step = 0; step < kAhead; ++step) {
      weights[step] = {};
      if (at + step * kRows < P::k && column < P::n)
        weights[step] = load_weights<kWidth>(rhs + (at + step * kRows) * P::rhsStride + column);
    }
  };
  Vector<T, kWidth> weights[kAhead];
  if constexpr (P::rhsIsConstant) {
    pdl_launch_dependents();
    read(weights, begin);
    pdl_wait();
  } else {
    pdl_wait();
    read(weights, begin);
  }
  for (int at = begin; at < P::k; at += kAhead * kRows) {
    Vector<T, kWidth> next[kAhead];
    read(next, at + kAhead * kRows);
#pragma unroll
    for (int step = 0; step < kAhead; ++step) {
      if (at + step * kRows >= P::k)
        break;
#pragma unroll
      for (int row = 0; row < P::m; ++row) {
        float x = to_float(lhs[row * P::lhsStride + at + step * kRows]);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          sums[row][i] = fma(x, to_float(weights[step][i]), sums[row][i]);
      }
    }
#pragma unroll
    for (int step = 0; step < kAhead; ++step)
      weights[step] = next[step];
  }

  __shared__ float partial[8][P::m][32];
#pragma unroll
  for (int row = 0; row < P::m; ++row)
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      float sum = sums[row][i];
#pragma unroll
      for (int step = kLanes; step < kWarp; step *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane < kLanes)
        partial[warp_index()][row][lane * kWidth + i] = sum;
    }
  __syncthreads();
  const int row = warp_index(), n = blockIdx.x * 32 + lane;
  if (row < P::m && n < P::n) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < 8; ++warp)
      sum += partial[warp][row][lane];
    out[row * P::outStride + n] = from_float<typename P::Out>(epilogue(sum, row, n));
  }
}

} // namespace products

template <class P> SINTER_CONSTEXPR int gemv_block() { return P::rhsTransposed ? 128 : 256; }
template <class P> SINTER_CONSTEXPR long long gemv_grid() {
  return P::rhsTransposed
             ? divide_up(P::n, 4 * products::kGemvColumns<P> / products::gemv_splits<P>())
             : divide_up(P::n, 32);
}
template <class P> SINTER_CONSTEXPR int gemv_shared() { return 0; }

template <class P>
SINTER_DEVICE void gemv(const typename P::Element *lhs, const typename P::Element *rhs,
                        const void *operand0, const void *operand1, const void *operand2,
                        const void *operand3, typename P::Out *out) {
  static_assert(P::m >= 1 && P::m <= 8, "more rows are for gemm");
  typename P::Epilogue epilogue{{operand0, operand1, operand2, operand3}};
  if constexpr (P::rhsTransposed)
    products::gemv_transposed<P>(lhs, rhs, epilogue, out);
  else
    products::gemv_plain<P>(lhs, rhs, epilogue, out);
}

} // namespace sinter
