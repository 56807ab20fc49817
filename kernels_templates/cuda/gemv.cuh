//===- gemv.cuh - A GEMV ----------------------------------------*- C++ -*-===//
//
// out[m, n] = epilogue(norm(lhs)[m, k] . rhs[k, n]) for m of 1 to 8: rhs is read once, at memory
// speed. The norm is optional.
//
// Versions:
//
//   transposed  rhs is stored [n, k]. A warp computes kColumns sums of each row: its lanes read 16
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
// A norm of lhs' rows is computed by every block, into shared memory: they are few, and in the L2
// cache, and a kernel for them alone would take longer to start. So that it is not done more often
// than need be, a block computes several groups of columns, one after the other, where there are
// more of them than the machine holds at a time.
//
// Columns may be in pairs, whose sums one thread needs: with a GatedEpilogue the second half of the
// columns multiplies the first, and heads are rotated. A warp (a block of the plain version) then
// computes as many first columns as second ones.
//
// Parameters:
//
//   Element, Out       element types of rhs and of lhs as it is multiplied; of out
//   Input              element type of lhs as it is stored; Element, if it is not normalized
//   NormWeight, NormBias   element types of the norm's factors and of what it adds, a value a
//                      column; void for none. Without NormWeight there is no norm
//   normCenters        (bool) rows are centered at their mean (layer norm) before they are scaled
//   normEps            (double) added to the mean square
//   Epilogue           see epilogue.cuh
//   Heads              what becomes of the columns behind the epilogue, see heads.cuh; void for
//                      rows of n columns (n / 2 with a GatedEpilogue) of Out. Out and outStride then
//                      say nothing
//   m, n, k            (int) m is 1 to 8, n is even with a GatedEpilogue
//   lhsStride, rhsStride, outStride   (long long) elements between rows as stored
//   rhsTransposed      (bool) rhs is [n, k]
//   rhsIsConstant      (bool) no kernel writes rhs: it is read before the kernel before this one is
//                      done, where launches overlap (pdl_wait)
//   splits             (int) of the transposed version: warps that share an output, 1, 2 or 4; 0 as
//                      below
//
// Arguments: lhs, rhs, the norm's weight and bias (nullptr where there is none), four operands of
// the epilogue (nullptr where there are fewer), out; with Heads the tables of cosines and sines,
// starts, counts, and the second and third part's out, each nullptr where there is none.
//
// Launch: gemv_grid<P>() blocks of gemv_block<P>() threads, gemv_shared<P>() bytes.
//
//   block  = rhsTransposed ? 128 : 256
//   splits = the first of 1, 2, 4 with ceil(n / (16 / splits)) >= 264 (for m <= 2:
//            8 / splits), else 4, unless it is given
//   groups = rhsTransposed ? ceil(n / (4 kColumns / splits)) with kColumns = m <= 2 ? 2 : 4
//                          : ceil(n / 32)
//   grid   = normalized ? ceil(groups / ceil(groups / 528)) : groups
//   shared = normalized ? m * (k rounded up to 16 bytes) * sizeof(Element) : 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "epilogue.cuh"
#include "heads.cuh"

namespace sinter {

namespace products {

template <class P> constexpr bool kIsNormalized = !kIsSame<typename P::NormWeight, void>;
template <class HEADS> constexpr bool kRotatesHeads = HEADS::kIsPaired;
template <> inline constexpr bool kRotatesHeads<void> = false;
/// Whether the sums of two columns are needed together.
template <class P>
constexpr bool kIsPaired = P::Epilogue::kIsGated || kRotatesHeads<typename P::Heads>;
/// Columns, or pairs of columns, that are computed.
template <class P> constexpr int kOutputs = kIsPaired<P> ? P::n / 2 : P::n;
/// Elements between rows of lhs as they are multiplied.
template <class P>
constexpr long long kLhsStride =
    kIsNormalized<P> ? round_up(P::k, kVector<typename P::Element>) : P::lhsStride;

/// Sums of a row that a warp computes: what is read of lhs is used so often.
template <class P> constexpr int kGemvColumns = P::m <= 2 ? 2 : 4;

/// Warps that share the sum of an output. Two blocks for each of 132 processors fill a machine.
template <class P> SINTER_CONSTEXPR int gemv_splits() {
  if (P::splits)
    return P::splits;
  for (int splits = 1; splits < 4; splits *= 2)
    if (divide_up(P::n, 4 * kGemvColumns<P> / splits) >= 264)
      return splits;
  return 4;
}

/// Groups of columns that a block computes at a time.
template <class P> SINTER_CONSTEXPR long long gemv_groups() {
  return P::rhsTransposed ? divide_up(P::n, 4 * kGemvColumns<P> / gemv_splits<P>())
                          : divide_up(P::n, 32);
}
/// Groups that a block computes one after the other: four blocks a processor normalize rows.
template <class P> SINTER_CONSTEXPR int gemv_rounds() {
  return kIsNormalized<P> ? static_cast<int>(divide_up(gemv_groups<P>(), 4 * 132)) : 1;
}

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemv_grid() {
  return divide_up(products::gemv_groups<P>(), products::gemv_rounds<P>());
}

namespace products {

/// Elements of a load of rhs.
template <class P> SINTER_CONSTEXPR int gemv_width() {
  constexpr int kWidth = kVector<typename P::Element>;
  if (P::rhsTransposed)
    return P::k % kWidth == 0 && P::rhsStride % kWidth == 0 && kLhsStride<P> % kWidth == 0 ? kWidth
                                                                                           : 1;
  if constexpr (kRotatesHeads<typename P::Heads>)
    if (!P::Heads::template kKeepsNeighbours<kWidth>)
      return 1;
  return kOutputs<P> % kWidth == 0 && P::rhsStride % kWidth == 0 ? kWidth : 1;
}

/// The column of an output, or of a pair's first or second half.
template <class P> SINTER_DEVICE int column_of(int index, int half) {
  if constexpr (kRotatesHeads<typename P::Heads>)
    return P::Heads::column_of(index, half);
  else
    return index + half * kOutputs<P>;
}

/// Reads part of rhs, which is not read again.
template <int WIDTH, class T> SINTER_DEVICE Vector<T, WIDTH> load_weights(const T *from) {
  if constexpr (WIDTH * sizeof(T) == 16)
    return load_streaming<T, WIDTH>(from);
  else
    return load<T, WIDTH>(from);
}

/// What a product is computed from, but for rhs.
template <class P> struct GemvOperands {
  const typename P::Input *lhs;
  const typename P::NormWeight *normWeight;
  const typename P::NormBias *normBias;
  typename P::Epilogue epilogue;
  typename P::Out *out;
  HeadOperands heads;
};

/// Elements of a load of a row that is to be normalized.
template <class P> SINTER_CONSTEXPR int norm_width() {
  constexpr int kWidth = kVector<typename P::Input>;
  return P::k % kWidth == 0 && P::lhsStride % kWidth == 0 ? kWidth : 1;
}

/// The mean of `term` of a row's elements, over a block of THREADS threads.
template <class P, int THREADS, class Term>
SINTER_DEVICE float mean_of(const typename P::Input *row, Term term) {
  constexpr int kWidth = norm_width<P>();
  constexpr float kShare = 1.0f / P::k;
  float sum = 0;
  for (int at = threadIdx.x * kWidth; at < P::k; at += THREADS * kWidth) {
    auto x = load<typename P::Input, kWidth>(row + at);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      sum += term(to_float(x[i]));
  }
  return block_reduce_sum<THREADS>(sum) * kShare;
}

/// Writes the norm of lhs' rows, rounded to elements, to shared memory. A block of THREADS threads
/// calls it, and waits for each other before they read the rows.
template <class P, int THREADS>
SINTER_DEVICE void normalize_rows(const GemvOperands<P> &operands, typename P::Element *rows) {
  using Element = typename P::Element;
  constexpr int kWidth = norm_width<P>();
  for (int row = 0; row < P::m; ++row) {
    const auto *from = operands.lhs + row * P::lhsStride;
    float center = 0;
    if constexpr (P::normCenters)
      center = mean_of<P, THREADS>(from, [](float x) { return x; });
    const float square =
        mean_of<P, THREADS>(from, [=](float x) { return (x - center) * (x - center); });
    const float scale = rsqrt(square + static_cast<float>(P::normEps));
    for (int at = threadIdx.x * kWidth; at < P::k; at += THREADS * kWidth) {
      auto x = load<typename P::Input, kWidth>(from + at);
      auto weight = load<typename P::NormWeight, kWidth>(operands.normWeight + at);
      Vector<Element, kWidth> result;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        float y = (to_float(x[i]) - center) * scale * to_float(weight[i]);
        if constexpr (!kIsSame<typename P::NormBias, void>)
          y += to_float(operands.normBias[at + i]);
        result[i] = from_float<Element>(y);
      }
      store(rows + row * kLhsStride<P> + at, result);
    }
  }
}

/// The rows that are multiplied, once what other kernels write may be read.
template <class P, int THREADS>
SINTER_DEVICE const typename P::Element *prepare_lhs(const GemvOperands<P> &operands) {
  if constexpr (P::rhsIsConstant)
    pdl_wait();
  if constexpr (kIsNormalized<P>) {
    auto *rows = dynamic_shared<typename P::Element>();
    normalize_rows<P, THREADS>(operands, rows);
    __syncthreads();
    return rows;
  } else {
    return operands.lhs;
  }
}

/// Goes along k from `begin` in steps of STEP: calls `use(tile, at)` with the tiles that
/// `read(tile, at)` has asked memory for AHEAD steps before, and `prepare()` once the first are on
/// their way.
template <class Tile, int AHEAD, int STEP, class Read, class Prepare, class Use>
SINTER_DEVICE void stream_tiles(int begin, int end, Read read, Prepare prepare, Use use) {
  Tile tiles[AHEAD];
#pragma unroll
  for (int step = 0; step < AHEAD; ++step)
    read(tiles[step], begin + step * STEP);
  prepare();
  for (int at = begin; at < end; at += AHEAD * STEP) {
    Tile next[AHEAD];
#pragma unroll
    for (int step = 0; step < AHEAD; ++step)
      read(next[step], at + (AHEAD + step) * STEP);
#pragma unroll
    for (int step = 0; step < AHEAD; ++step) {
      if (at + step * STEP >= end)
        break;
      use(tiles[step], at + step * STEP);
    }
#pragma unroll
    for (int step = 0; step < AHEAD; ++step)
      tiles[step] = next[step];
  }
}

/// Writes what is computed from an output's sum, or from the sums of a pair.
template <class P>
SINTER_DEVICE void write_output(const GemvOperands<P> &operands, float sum, float partner, int row,
                                int index) {
  const int column = column_of<P>(index, 0), second = column_of<P>(index, 1);
  if constexpr (!kIsSame<typename P::Heads, void>) {
    const float value = operands.epilogue(sum, row, column);
    if constexpr (kIsPaired<P>)
      P::Heads::write(operands.heads, value, operands.epilogue(partner, row, second), row, column,
                      second);
    else
      P::Heads::write(operands.heads, value, row, column);
  } else {
    float value;
    if constexpr (P::Epilogue::kIsGated)
      value = operands.epilogue(sum, partner, row, column, second);
    else
      value = operands.epilogue(sum, row, column);
    operands.out[row * P::outStride + column] = from_float<typename P::Out>(value);
  }
}

/// Adds up what the lanes, and the SPLITS warps that share outputs, have of each sum, and writes
/// the warp's outputs from `first` on: of pairs, first columns stand before second ones.
template <class P, int SPLITS>
SINTER_DEVICE void finish_columns(const GemvOperands<P> &operands,
                                  float (&sums)[P::m][kGemvColumns<P>], int first) {
  constexpr int kColumns = kGemvColumns<P>, kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  const int lane = lane_index();
  __shared__ float partial[SPLITS > 1 ? 4 : 1][P::m][kColumns];
#pragma unroll
  for (int row = 0; row < P::m; ++row) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      sums[row][c] = warp_reduce_sum(sums[row][c]);
      if (SPLITS > 1 && lane == 0)
        partial[warp_index()][row][c] = sums[row][c];
    }
    if constexpr (SPLITS == 1) {
#pragma unroll
      for (int c = 0; c < kOwn; ++c)
        if (lane == row * kOwn + c && first + c < kOutputs<P>)
          write_output<P>(operands, sums[row][c], sums[row][kColumns - kOwn + c], row, first + c);
    }
  }
  if constexpr (SPLITS > 1) {
    __syncthreads();
    const int row = lane / kOwn, c = lane % kOwn;
    if (warp_index() % SPLITS == 0 && row < P::m && first + c < kOutputs<P>) {
      float sum = 0, partner = 0;
#pragma unroll
      for (int i = 0; i < SPLITS; ++i) {
        sum += partial[warp_index() + i][row][c];
        partner += partial[warp_index() + i][row][kColumns - kOwn + c];
      }
      write_output<P>(operands, sum, partner, row, first + c);
    }
  }
}

template <class P>
SINTER_DEVICE void gemv_transposed(const GemvOperands<P> &operands,
                                   const typename P::Element *rhs) {
  using T = typename P::Element;
  constexpr int kColumns = kGemvColumns<P>, kSplits = gemv_splits<P>(), kWidth = gemv_width<P>();
  // Of pairs a warp has as many first columns as second ones.
  constexpr int kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  constexpr int kRounds = gemv_rounds<P>();
  static_assert(kRounds == 1 || kSplits == 1, "a product of many columns needs no splits");
  struct Tile {
    Vector<T, kWidth> columns[kColumns];
  };
  const int lane = lane_index(), split = warp_index() % kSplits;
  const int begin = (split * kWarp + lane) * kWidth;
  const T *lhs = nullptr;

  for (int round = 0; round < kRounds; ++round) {
    const long long group = round * gemv_grid<P>() + blockIdx.x;
    const int first = static_cast<int>((group * (4 / kSplits) + warp_index() / kSplits) * kOwn);
    const T *rows[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      // Columns beyond the last repeat it.
      rows[c] =
          rhs + column_of<P>(min_of(first + c % kOwn, kOutputs<P> - 1), c / kOwn) * P::rhsStride;

    float sums[P::m][kColumns] = {};
    stream_tiles<Tile, P::m <= 2 ? 4 : 2, kWarp * kWidth * kSplits>(
        begin, P::k,
        [&](Tile &tile, int at) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
            if (at < P::k)
              tile.columns[c] = load_weights<kWidth>(rows[c] + at);
        },
        [&] {
          if (round == 0)
            lhs = prepare_lhs<P, 128>(operands);
        },
        [&](const Tile &tile, int at) {
          Vector<float, kWidth> columns[kColumns];
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
            columns[c] = to_floats(tile.columns[c]);
#pragma unroll
          for (int row = 0; row < P::m; ++row) {
            const auto x = to_floats(load<T, kWidth>(lhs + row * kLhsStride<P> + at));
#pragma unroll
            for (int c = 0; c < kColumns; ++c)
#pragma unroll
              for (int i = 0; i < kWidth; ++i)
                sums[row][c] = fma(x[i], columns[c][i], sums[row][c]);
          }
        });

    finish_columns<P, kSplits>(operands, sums, first);
  }
}

template <class P>
SINTER_DEVICE void gemv_plain(const GemvOperands<P> &operands, const typename P::Element *rhs) {
  using T = typename P::Element;
  constexpr int kWidth = gemv_width<P>(), kLanes = 32 / kWidth, kWarpRows = kWarp / kLanes;
  constexpr int kOwn = kIsPaired<P> ? 16 : 32, kRounds = gemv_rounds<P>();
  using Tile = Vector<T, kWidth>;
  const int lane = lane_index();
  const int begin = warp_index() * kWarpRows + lane / kLanes;
  const T *lhs = nullptr;

  for (int round = 0; round < kRounds; ++round) {
    const int first = static_cast<int>(round * gemv_grid<P>() + blockIdx.x) * kOwn;
    const int place = lane % kLanes * kWidth;
    const bool isOutput = first + place % kOwn < kOutputs<P>;
    const int column = column_of<P>(first + place % kOwn, place / kOwn);

    float sums[P::m][kWidth] = {};
    stream_tiles<Tile, P::m <= 4 ? 4 : 2, 8 * kWarpRows>(
        begin, P::k,
        [&](Tile &tile, int at) {
          if (at < P::k && isOutput)
            tile = load_weights<kWidth>(rhs + at * P::rhsStride + column);
        },
        [&] {
          if (round == 0)
            lhs = prepare_lhs<P, 256>(operands);
        },
        [&](const Tile &tile, int at) {
          const auto values = to_floats(tile);
#pragma unroll
          for (int row = 0; row < P::m; ++row) {
            float x = to_float(lhs[row * kLhsStride<P> + at]);
#pragma unroll
            for (int i = 0; i < kWidth; ++i)
              sums[row][i] = fma(x, values[i], sums[row][i]);
          }
        });

    __shared__ float partial[8][P::m][32];
    // The round before has read what it wrote.
    if (round > 0)
      __syncthreads();
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
    const int row = warp_index();
    if (row < P::m && lane < kOwn && first + lane < kOutputs<P>) {
      float sum = 0, partner = 0;
#pragma unroll
      for (int warp = 0; warp < 8; ++warp) {
        sum += partial[warp][row][lane];
        partner += partial[warp][row][32 - kOwn + lane];
      }
      write_output<P>(operands, sum, partner, row, first + lane);
    }
  }
}

} // namespace products

template <class P> SINTER_CONSTEXPR int gemv_block() { return P::rhsTransposed ? 128 : 256; }
template <class P> SINTER_CONSTEXPR int gemv_shared() {
  return products::kIsNormalized<P>
             ? static_cast<int>(P::m * products::kLhsStride<P> * sizeof(typename P::Element))
             : 0;
}

template <class P>
SINTER_DEVICE void gemv(const typename P::Input *lhs, const typename P::Element *rhs,
                        const typename P::NormWeight *normWeight,
                        const typename P::NormBias *normBias, const void *operand0,
                        const void *operand1, const void *operand2, const void *operand3, void *out,
                        const float *cos, const float *sin, const int *start, const int *count,
                        void *secondOut, void *thirdOut) {
  static_assert(P::m >= 1 && P::m <= 8, "more rows are for gemm");
  static_assert(!products::kIsPaired<P> || P::n % 2 == 0, "pairs have two halves");
  static_assert(!P::Epilogue::kIsGated || kIsSame<typename P::Heads, void>,
                "a gate's columns are no heads");
  static_assert(products::kIsNormalized<P> || kIsSame<typename P::Input, typename P::Element>,
                "what is not normalized is multiplied as it is");
  products::GemvOperands<P> operands{lhs,
                                     normWeight,
                                     normBias,
                                     {{operand0, operand1, operand2, operand3}},
                                     static_cast<typename P::Out *>(out),
                                     {cos, sin, start, count, {out, secondOut, thirdOut}}};
  pdl_launch_dependents();
  if constexpr (!P::rhsIsConstant)
    pdl_wait();
  if constexpr (P::rhsTransposed)
    products::gemv_transposed<P>(operands, rhs);
  else
    products::gemv_plain<P>(operands, rhs);
}

} // namespace sinter
