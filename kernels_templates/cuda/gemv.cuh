//===- gemv.cuh - A GEMV ----------------------------------------*- C++ -*-===//
//
// out[m, n] = epilogue(norm(lhs)[m, k] . rhs[k, n]) for m of 1 to 8: rhs is read once, at memory
// speed. The norm is optional.
//
// Versions:
//
//   transposed  rhs is stored [n, k]. A warp computes kColumns sums of each row at a time. Its lanes
//               copy 16 bytes each of as many rows of rhs into a ring of its own in shared memory,
//               several steps ahead of the sums and on to the next columns without a pause, and
//               meet in shuffles. A processor has one block, which takes more than half of its
//               shared memory: of the kernel behind this one, too, each processor then has one,
//               whose ring fills while this kernel ends elsewhere. Warps of a block may share
//               columns, each with a part of k.
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
// more of them than the machine holds at a time. Rows as they are stored are copied there, too,
// where the ring leaves room.
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
//                      rows of n columns (n / 2 with a GatedEpilogue) of Out. Out and outStride
//                      then say nothing
//   m, n, k            (int) m is 1 to 8, n is even with a GatedEpilogue
//   lhsStride, rhsStride, outStride   (long long) elements between rows as stored
//   rhsTransposed      (bool) rhs is [n, k]
//   rhsIsConstant      (bool) no kernel writes rhs, nor the norm's weight and bias: they are read
//                      before the kernel before this one is done, where launches overlap (pdl_wait)
//   sharedBytes        (int) of the transposed version: dynamic shared memory of its launch, which
//                      holds lhs' rows, if they are normalized or leave as much to the ring, and
//                      the ring
//
// Arguments: lhs, rhs, the norm's weight and bias (nullptr where there is none), four operands of
// the epilogue (nullptr where there are fewer), out; with Heads the tables of cosines and sines,
// starts, counts, and the second and third part's out, each nullptr where there is none.
//
// Launch: gemv_grid<P>() blocks of gemv_block<P>() threads, gemv_shared<P>() bytes.
//
//   transposed  block = 512, shared = sharedBytes. Of splits and rounds = ceil(groups / 132), with
//               groups = ceil(n / (16 kColumns / splits)) and kColumns = m <= 2 ? 2 : 4, the pair
//               for which rounds * (steps + 1) is least, the first of equals, with steps =
//               ceil(k / (splits * 512 bytes)); grid = ceil(groups / rounds)
//   plain       block = 256, groups = ceil(n / 32),
//               grid = normalized ? ceil(groups / ceil(groups / 528)) : groups,
//               shared = normalized ? m * (k rounded up to 16 bytes) * sizeof(Element) : 0
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

/// A block of the transposed version.
constexpr int kGemvThreads = 512, kGemvWarps = kGemvThreads / kWarp;

/// How columns of a transposed rhs are shared out.
struct GemvShares {
  int splits = 1;       ///< warps that share a sum
  long long rounds = 1; ///< groups of columns that a block computes one after the other
  long long grid = 1;
};

/// Those with which a warp has the fewest steps, where one block for each of 132 processors fills
/// the machine. To finish a sum counts as a step.
template <class P> SINTER_CONSTEXPR GemvShares share_gemv() {
  GemvShares best;
  long long least = 0;
  for (int splits = 1; splits <= kGemvWarps; splits *= 2) {
    const long long groups = divide_up(P::n, kGemvWarps * kGemvColumns<P> / splits);
    const long long rounds = divide_up(groups, 132);
    const long long steps =
        rounds * (divide_up(P::k, splits * kWarp * kVector<typename P::Element>) + 1);
    if (least != 0 && steps >= least)
      continue;
    least = steps;
    best.splits = splits;
    best.rounds = rounds;
    best.grid = divide_up(groups, rounds);
  }
  return best;
}

/// Groups of 32 columns of the plain version that a block computes one after the other: four blocks
/// a processor normalize rows.
template <class P> SINTER_CONSTEXPR int gemv_plain_rounds() {
  return kIsNormalized<P> ? static_cast<int>(divide_up(divide_up(P::n, 32), 4 * 132)) : 1;
}

/// Bytes of lhs' rows as they are multiplied, in shared memory.
template <class P>
constexpr int kLhsBytes =
    static_cast<int>(round_up(P::m * kLhsStride<P> * sizeof(typename P::Element), 16));
/// Bytes of a step of a block's ring.
template <class P> constexpr int kGemvStepBytes = 16 * kGemvThreads * kGemvColumns<P>;

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemv_grid() {
  if (P::rhsTransposed)
    return products::share_gemv<P>().grid;
  return divide_up(divide_up(P::n, 32), products::gemv_plain_rounds<P>());
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

/// Whether lhs' rows are multiplied from shared memory: normalized ones are, others where that
/// leaves as much to the ring.
template <class P>
constexpr bool kHoldsLhs = kIsNormalized<P> || (P::rhsTransposed && gemv_width<P>() > 1 &&
                                                2 * kLhsBytes<P> <= P::sharedBytes);

/// Steps of the ring: what lhs' rows leave.
template <class P> SINTER_CONSTEXPR int gemv_stages() {
  return (P::sharedBytes - (kHoldsLhs<P> ? kLhsBytes<P> : 0)) / kGemvStepBytes<P>;
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

/// An element type, and one where there is none.
template <class T> struct ElementOrNone {
  using Type = T;
};
template <> struct ElementOrNone<void> {
  using Type = float;
};

/// Elements of a load of a row that is to be normalized.
template <class P> SINTER_CONSTEXPR int norm_width() {
  constexpr int kWidth = kVector<typename P::Input>;
  return P::k % kWidth == 0 && P::lhsStride % kWidth == 0 ? kWidth : 1;
}

/// Parts of a row that a thread has in registers while its norm is computed.
constexpr int kMostParts = 4;

/// Calls use(part, at) for a thread's parts of K elements, which begin at `begin` and are STEP
/// apart.
template <int K, int STEP, class Use> SINTER_DEVICE void for_each_part(int begin, Use use) {
  constexpr int kParts = (K + STEP - 1) / STEP, kUnrolled = kParts <= kMostParts ? kParts : 1;
#pragma unroll kUnrolled
  for (int part = 0; part < kParts; ++part)
    if (K % STEP == 0 || begin + part * STEP < K)
      use(part, begin + part * STEP);
}

/// Calls put(row, at, elements) with the norm of lhs' rows [first, last), rounded to elements, once
/// what other kernels write may be read. A block of THREADS threads calls it.
template <class P, int THREADS, class Put>
SINTER_DEVICE void hold_norm(const GemvOperands<P> &operands, int first, int last, Put put) {
  using Element = typename P::Element;
  constexpr int kWidth = norm_width<P>(), kStep = THREADS * kWidth;
  constexpr int kParts = static_cast<int>(divide_up(P::k, kStep));
  constexpr bool kIsShort = kParts <= kMostParts;
  constexpr int kKept = kIsShort ? kParts : 1;
  constexpr float kShare = 1.0f / P::k;
  using NormWeight = typename P::NormWeight;
  using NormBias = typename P::NormBias;
  constexpr bool kHasBias = !kIsSame<NormBias, void>;
  const int begin = static_cast<int>(threadIdx.x) * kWidth;

  Vector<typename P::Input, kWidth> parts[kKept];
  Vector<NormWeight, kWidth> weights[kKept];
  Vector<typename ElementOrNone<NormBias>::Type, kWidth> biases[kKept];
  auto readFactors = [&](int slot, int at) {
    weights[slot] = load<NormWeight, kWidth>(operands.normWeight + at);
    if constexpr (kHasBias)
      biases[slot] = load<NormBias, kWidth>(operands.normBias + at);
  };
  auto readRow = [&](int slot, const typename P::Input *from) {
    parts[slot] = load<typename P::Input, kWidth>(from);
  };
  if constexpr (kIsShort)
    for_each_part<P::k, kStep>(begin, readFactors);
  if constexpr (P::rhsIsConstant)
    pdl_wait();

  for (int row = first; row < last; ++row) {
    const auto *from = operands.lhs + row * P::lhsStride;
    // The mean of what the elements differ from `center`, or of its square.
    auto meanOf = [&](float center, bool squares) {
      float sum = 0;
      for_each_part<P::k, kStep>(begin, [&](int part, int at) {
        const int slot = kIsShort ? part : 0;
        if (!kIsShort)
          readRow(slot, from + at);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          const float x = to_float(parts[slot][i]) - center;
          sum += squares ? x * x : x;
        }
      });
      return block_reduce_sum<THREADS>(sum) * kShare;
    };
    if constexpr (kIsShort)
      for_each_part<P::k, kStep>(begin, [&](int part, int at) { readRow(part, from + at); });
    const float center = P::normCenters ? meanOf(0, false) : 0;
    const float scale = rsqrt(meanOf(center, true) + static_cast<float>(P::normEps));
    for_each_part<P::k, kStep>(begin, [&](int part, int at) {
      const int slot = kIsShort ? part : 0;
      if (!kIsShort) {
        readRow(slot, from + at);
        readFactors(slot, at);
      }
      Vector<Element, kWidth> result;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        float y = (to_float(parts[slot][i]) - center) * scale * to_float(weights[slot][i]);
        if constexpr (kHasBias)
          y += to_float(biases[slot][i]);
        result[i] = from_float<Element>(y);
      }
      put(row, at, result);
    });
  }
}

/// The rows that are multiplied, once what other kernels write may be read: normalized, or where
/// HOLDS is true, in shared memory. A block of THREADS threads calls it.
template <class P, int THREADS, bool HOLDS = false>
SINTER_DEVICE const typename P::Element *prepare_lhs(const GemvOperands<P> &operands) {
  if constexpr (kIsNormalized<P>) {
    auto *rows = dynamic_shared<typename P::Element>();
    using Elements = Vector<typename P::Element, norm_width<P>()>;
    hold_norm<P, THREADS>(operands, 0, P::m, [&](int row, int at, const Elements &elements) {
      store(rows + row * kLhsStride<P> + at, elements);
    });
    __syncthreads();
    return rows;
  } else {
    if constexpr (P::rhsIsConstant)
      pdl_wait();
    if constexpr (!HOLDS)
      return operands.lhs;
    constexpr int kWidth = kVector<typename P::Element>;
    auto *rows = dynamic_shared<typename P::Element>();
    for (int row = 0; row < P::m; ++row)
#pragma unroll 4
      for (int at = threadIdx.x * kWidth; at < P::k; at += THREADS * kWidth)
        store(rows + row * kLhsStride<P> + at,
              load<typename P::Element, kWidth>(operands.lhs + row * kLhsStride<P> + at));
    __syncthreads();
    return rows;
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

/// Adds up what the lanes, and the SPLITS of a block's WARPS warps that share outputs, have of each
/// sum, and writes the warp's outputs from `first` on: of pairs, first columns stand before second
/// ones.
template <class P, int WARPS, int SPLITS>
SINTER_DEVICE void finish_columns(const GemvOperands<P> &operands,
                                  float (&sums)[P::m][kGemvColumns<P>], int first, int round) {
  constexpr int kColumns = kGemvColumns<P>, kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  const int lane = lane_index();
  // Rounds take turns: who writes has passed the barrier that those who read it were before.
  __shared__ float turns[2][SPLITS > 1 ? WARPS : 1][P::m][kColumns];
  auto &partial = turns[round % 2];
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
  constexpr GemvShares kShares = share_gemv<P>();
  constexpr int kColumns = kGemvColumns<P>, kSplits = kShares.splits, kWidth = gemv_width<P>();
  // Of pairs a warp has as many first columns as second ones.
  constexpr int kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  constexpr int kRounds = static_cast<int>(kShares.rounds), kStages = gemv_stages<P>();
  constexpr int kStep = kWarp * kWidth * kSplits;
  constexpr int kSteps = static_cast<int>(divide_up(P::k, kStep));
  static_assert(kStages > 0, "shared memory holds a step of rhs");
  using Part = Vector<T, kWidth>;
  const int begin = (warp_index() % kSplits * kWarp + lane_index()) * kWidth;
  // A lane reads what it copied: nobody waits for another.
  unsigned char *ring =
      dynamic_shared<unsigned char>() + (kHoldsLhs<P> ? kLhsBytes<P> : 0) + threadIdx.x * 16;
  auto place = [&](int stage, int c) {
    return reinterpret_cast<T *>(ring + (stage * kColumns + c) * 16 * kGemvThreads);
  };
  auto firstOf = [&](int round) {
    const long long group = round * kShares.grid + blockIdx.x;
    return static_cast<int>((group * (kGemvWarps / kSplits) + warp_index() / kSplits) * kOwn);
  };

  // The step that is copied next.
  int copyRound = 0, copyStep = 0;
  const T *rows[kColumns];
  auto findRows = [&] {
    const int first = firstOf(copyRound);
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      // Columns beyond the last repeat it.
      rows[c] =
          rhs + column_of<P>(min_of(first + c % kOwn, kOutputs<P> - 1), c / kOwn) * P::rhsStride;
  };
  auto copyTo = [&](int stage) {
    const int at = begin + copyStep * kStep;
    if (copyRound < kRounds && (P::k % kStep == 0 || at < P::k))
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        if constexpr (sizeof(Part) == 16)
          cp_async_16(place(stage, c), rows[c] + at);
        else
          *place(stage, c) = rows[c][at];
    cp_async_commit();
    if (++copyStep == kSteps) {
      copyStep = 0;
      if (++copyRound < kRounds)
        findRows();
    }
  };
  findRows();
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage)
    copyTo(stage);
  const T *lhs = prepare_lhs<P, kGemvThreads, kHoldsLhs<P>>(operands);

  int stage = 0;
  for (int round = 0; round < kRounds; ++round) {
    float sums[P::m][kColumns] = {};
    for (int step = 0; step < kSteps; ++step) {
      const int at = begin + step * kStep;
      cp_async_wait<kStages - 1>();
      if (P::k % kStep == 0 || at < P::k) {
        Vector<float, kWidth> columns[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          columns[c] = to_floats(load<T, kWidth>(place(stage, c)));
#pragma unroll
        for (int row = 0; row < P::m; ++row) {
          const auto x = to_floats(load<T, kWidth>(lhs + row * kLhsStride<P> + at));
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
#pragma unroll
            for (int i = 0; i < kWidth; ++i)
              sums[row][c] = fma(x[i], columns[c][i], sums[row][c]);
        }
      }
      copyTo(stage);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    finish_columns<P, kGemvWarps, kSplits>(operands, sums, firstOf(round), round);
  }
}

template <class P>
SINTER_DEVICE void gemv_plain(const GemvOperands<P> &operands, const typename P::Element *rhs) {
  using T = typename P::Element;
  constexpr int kWidth = gemv_width<P>(), kLanes = 32 / kWidth, kWarpRows = kWarp / kLanes;
  constexpr int kOwn = kIsPaired<P> ? 16 : 32, kRounds = gemv_plain_rounds<P>();
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

template <class P> SINTER_CONSTEXPR int gemv_block() {
  return P::rhsTransposed ? products::kGemvThreads : 256;
}
template <class P> SINTER_CONSTEXPR int gemv_shared() {
  return P::rhsTransposed             ? P::sharedBytes
         : products::kIsNormalized<P> ? products::kLhsBytes<P>
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
