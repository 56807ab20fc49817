//===- gemv_integers.cuh - A GEMV whose weights are integers ----*- C++ -*-===//
//
// out[m, n] = epilogue(norm(lhs)[m, k] . rhs[n, k]) for m of 1 to 8 and rhs of integers with scales
// (integers.cuh): they are read once, at memory speed, and never written anywhere widened. A
// product takes at least the bytes of integers, scales and minima over the memory's rate.
//
// Versions:
//
//   fixed point  For integers in groups of a multiple of 32. The rows of lhs become fixed point in
//                shared memory (fixed_point.cuh), and a warp multiplies 16 rows of rhs by all of
//                them with mma.m16n8k32: weights of eight bits stand left as they lie in memory, of
//                four with 16 times their value, after three instructions for eight. The exact sums
//                of a segment become f32 and meet its scale. As in gemv.cuh's transposed version a
//                processor has one block, whose ring of 64 bytes a row and warp is never drained;
//                the warps of a block, or a few of them, share 16 rows and each sums a part of k.
//                Rows that do not fit shared memory beside the ring are multiplied later, by
//                weights that are read again.
//   widened      For all others. A warp computes kGemvColumns sums of each row, its lanes read 16
//                bytes each of as many rows of rhs (16 or 32 weights), several steps ahead of the
//                sums, and meet in shuffles. Of weights that share a scale a lane adds up the
//                products with the integers, and multiplies that by the scale; with minima it adds
//                up the left-hand side beside it. Where there are too few outputs to fill the
//                machine, the warps of a block share outputs and each sums a part of k.
//
// Sums of groups are in f32, in an order that depends on n, k, bits and group alone: a row's result
// has the same bits for every m.
//
// Norm, gate and heads are gemv.cuh's, and so are rounds of groups.
//
// Parameters: those of gemv.cuh without rhsStride, rhsTransposed and splits, and those of
// integers.cuh. Element is the type of lhs as it is multiplied. `sharedBytes` is that of the launch
// of the fixed-point version, 0 for the other.
//
// Arguments: lhs, integers, scales, minima (nullptr without), the norm's weight and bias, four
// operands of the epilogue, out, and what heads need, as in gemv.cuh.
//
// Launch: gemv_integers_grid<P>() blocks of gemv_integers_block<P>() threads,
// gemv_integers_shared<P>() bytes.
//
//   fixed point  block = 512, shared = sharedBytes. Of splits of 1 to 16 and rounds = ceil(groups /
//                132), with groups = ceil(n / (256 / splits)), the pair for which rounds * (4 steps
//                + 1) is least, the last of equals, with steps = ceil(k bits / (512 splits));
//                grid = ceil(groups / rounds)
//   widened      block = 128, splits = the first of 1, 2, 4 with ceil(n / (8 / splits)) >= 264,
//                else 4; groups = ceil(n / (4 kColumns / splits)) with kColumns = m <= 2 ? 2 : 4;
//                grid = normalized ? ceil(groups / ceil(groups / 528)) : groups,
//                shared = normalized ? m * (k rounded up to 16 bytes) * sizeof(Element) : 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "fixed_point.cuh"
#include "gemv.cuh"
#include "integers.cuh"
#include "matrices.cuh"

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

//===----------------------------------------------------------------------===//
// Fixed point
//===----------------------------------------------------------------------===//

/// A block, and rows of rhs that a matrix instruction multiplies.
constexpr int kIntegerThreads = 512, kIntegerWarps = kIntegerThreads / kWarp, kIntegerRows = 16;
/// Bytes of a row of rhs that a warp reads in a step, and the elements in them.
constexpr int kIntegerStep = 64;
template <class P> constexpr int kIntegerSpan = kIntegerStep * 8 / P::bits;
/// Bytes of a step of a block's ring, and the fewest steps that it has.
constexpr int kIntegerStageBytes = kIntegerWarps * kIntegerRows * kIntegerStep;
constexpr int kFewestIntegerStages = 3;
/// Outputs of the 16 rows: of pairs, eight first halves stand before eight second ones.
template <class P> constexpr int kIntegerOwn = kIsPaired<P> ? kIntegerRows / 2 : kIntegerRows;

/// How 16 rows are shared out: see the launch.
template <class P> SINTER_CONSTEXPR GemvShares share_integers() {
  GemvShares best;
  long long least = 0;
  for (int splits = 1; splits <= kIntegerWarps; splits *= 2) {
    const long long groups = divide_up(P::n, kIntegerRows * kIntegerWarps / splits);
    const long long rounds = divide_up(groups, 132);
    const long long cost = rounds * (4 * divide_up(P::k, splits * kIntegerSpan<P>) + 1);
    if (least != 0 && cost > least)
      continue;
    least = cost;
    best = {splits, rounds, divide_up(groups, rounds)};
  }
  return best;
}

/// Sums of the warps of a block, of two rounds that take turns.
template <int ROWS> using IntegerSums = float[2][kIntegerWarps][kIntegerRows][ROWS];

/// Rows of lhs that fit beside the ring.
template <class P> SINTER_CONSTEXPR int fixed_point_rows() {
  constexpr int kRowBytes = FixedPointRows<P, 1>::kBytes + static_cast<int>(sizeof(IntegerSums<1>));
  return min_of(P::m, (P::sharedBytes - kFewestIntegerStages * kIntegerStageBytes) / kRowBytes);
}

/// Where a lane is among the steps and rounds of its warp: at rows lane / 4 and lane / 4 + 8 of 16
/// rows of rhs.
template <class P> struct IntegerWalk {
  static constexpr GemvShares kShares = share_integers<P>();
  static constexpr int kStep = kShares.splits * kIntegerSpan<P>;
  static constexpr int kSteps = static_cast<int>(divide_up(P::k, kStep));

  int round = 0, step = 0;

  /// The first output of a round, of the 16 rows at a place among the block's.
  static SINTER_DEVICE int first(int round, int place) {
    const long long group = round * kShares.grid + blockIdx.x;
    return static_cast<int>((group * (kIntegerWarps / kShares.splits) + place) * kIntegerOwn<P>);
  }
  /// The first element of the warp's first step.
  static SINTER_DEVICE unsigned begin() { return warp_index() % kShares.splits * kIntegerSpan<P>; }
  SINTER_DEVICE bool is_done() const { return round >= kShares.rounds; }
  /// The row of rhs of either half.
  SINTER_DEVICE int column(int half) const {
    const int index = first(round, warp_index() / kShares.splits) + lane_index() / 4;
    // Rows beyond the last repeat it.
    return kIsPaired<P> ? column_of<P>(min_of(index, kOutputs<P> - 1), half)
                        : column_of<P>(min_of(index + 8 * half, kOutputs<P> - 1), 0);
  }
  /// Whether another round begins.
  SINTER_DEVICE bool advance() {
    if (++step < kSteps)
      return false;
    step = 0;
    ++round;
    return true;
  }
};

/// Copies what a warp multiplies into the ring, ahead of it.
template <class P> class IntegerCopies {
  using Walk = IntegerWalk<P>;

public:
  /// @param to the lane's place in the first stage of row lane / 4
  SINTER_DEVICE IntegerCopies(const IntegerOperands<P> &rhs, unsigned char *to) : rhs(rhs), to(to) {
    begin_round();
  }

  SINTER_DEVICE void copy(int slot) {
    if (!walk.is_done())
#pragma unroll
      for (int half = 0; half < 2; ++half)
        cp_async_16_if(P::k % Walk::kStep == 0 || at < P::k,
                       to + slot * kIntegerStageBytes + half * 8 * kIntegerStep, from[half]);
    cp_async_commit();
    at += Walk::kStep;
    from[0] += Walk::kStep * P::bits / 8;
    from[1] += Walk::kStep * P::bits / 8;
    if (walk.advance() && !walk.is_done())
      begin_round();
  }

private:
  SINTER_DEVICE void begin_round() {
    at = Walk::begin() + lane_index() % 4 * (16 * 8 / P::bits);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = walk.column(half);
      from[half] = rhs.row(column) + at * P::bits / 8;
      // A scale is waited for a step, not as long as memory takes.
      if (warp_index() % Walk::kShares.splits == 0) {
        prefetch(rhs.scales + rhs.first_group(column));
        if constexpr (P::hasMinima)
          prefetch(rhs.minima + rhs.first_group(column));
      }
    }
  }
  /// The lines of a row's groups, by the four lanes of the row.
  template <class T> static SINTER_DEVICE void prefetch(const T *row) {
    constexpr int kLine = 128 / sizeof(T);
    for (int i = lane_index() % 4 * kLine; i < P::k / P::group; i += 4 * kLine)
      prefetch_line(row + i);
  }

  const IntegerOperands<P> &rhs;
  unsigned char *to;
  IntegerWalk<P> walk;
  unsigned at;
  const typename P::RhsElement *from[2];
};

/// The scales and minima of a step, of a lane's two rows.
template <class P> struct StepScales {
  static constexpr int kSpan = kIntegerSpan<P>;
  /// Those that are read of a row: a segment's own where groups and steps end in other places.
  static constexpr int kCount = P::group % kSpan == 0   ? 1
                                : kSpan % P::group == 0 ? kSpan / P::group
                                                        : kSpan / kSegment;
  Vector<typename P::ScaleElement, kCount> scales[2];
  Vector<float, P::hasMinima ? kCount : 1> minima[2];

  SINTER_DEVICE float scale(int half, int segment) const {
    return to_float(scales[half][segment * kCount * kSegment / kSpan]);
  }
  SINTER_DEVICE float minimum(int half, int segment) const {
    return minima[half][segment * kCount * kSegment / kSpan];
  }
};

/// Reads scales a step before they are multiplied by.
template <class P> class IntegerScales {
  using Walk = IntegerWalk<P>;

public:
  SINTER_DEVICE explicit IntegerScales(const IntegerOperands<P> &rhs) : rhs(rhs) {
    begin_round();
    next = read();
  }

  SINTER_DEVICE StepScales<P> take() {
    const StepScales<P> result = next;
    at += Walk::kStep;
    if (walk.advance() && !walk.is_done())
      begin_round();
    if (!walk.is_done())
      next = read();
    return result;
  }

private:
  SINTER_DEVICE void begin_round() {
    at = Walk::begin();
#pragma unroll
    for (int half = 0; half < 2; ++half)
      group[half] = rhs.first_group(walk.column(half));
  }
  SINTER_DEVICE StepScales<P> read() const {
    constexpr int kCount = StepScales<P>::kCount, kEach = kIntegerSpan<P> / kCount;
    constexpr bool kIsVector = P::group == kEach && P::k / P::group % kCount == 0;
    StepScales<P> result;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (kIsVector && at < P::k) {
        const long long first = group[half] + at / P::group;
        result.scales[half] = load<typename P::ScaleElement, kCount>(rhs.scales + first);
        if constexpr (P::hasMinima)
          result.minima[half] = load<float, kCount>(rhs.minima + first);
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (!kIsVector && at + i * kEach < P::k) {
          const long long own = group[half] + (at + i * kEach) / P::group;
          result.scales[half][i] = rhs.scales[own];
          if constexpr (P::hasMinima)
            result.minima[half][i] = rhs.minima[own];
        }
    }
    return result;
  }

  const IntegerOperands<P> &rhs;
  IntegerWalk<P> walk;
  unsigned at;
  long long group[2];
  StepScales<P> next;
};

/// The left side of a product by a segment: a warp's 16 rows at a stage, whose pieces of 16 bytes
/// are swapped so that what lanes read together lies in different banks.
template <class P> SINTER_DEVICE int swap_of(int row) {
  return P::bits == 4 ? row / 2 % 4 : row / 2 % 2 * 2;
}
template <class P>
SINTER_DEVICE void read_integers(unsigned (&left)[4], const unsigned char *stage, int segment) {
  const int row = lane_index() / 4, member = lane_index() % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned char *from = stage + (row + half * 8) * kIntegerStep;
    if constexpr (P::bits == 4) {
      const unsigned word =
          *reinterpret_cast<const unsigned *>(from + (segment ^ swap_of<P>(row)) * 16 + member * 4);
      left[half] = word << 4 & 0xF0F0F0F0u;
      left[half + 2] = word & 0xF0F0F0F0u;
    } else {
      const auto words = load<unsigned, 2>(reinterpret_cast<const unsigned *>(
          from + (segment * 2 + member / 2 ^ swap_of<P>(row)) * 16 + member % 2 * 8));
      left[half] = words[0];
      left[half + 2] = words[1];
    }
  }
}

template <class P>
SINTER_DEVICE void gemv_fixed_point(const GemvOperands<P> &operands,
                                    const IntegerOperands<P> &rhs) {
  static_assert(P::group % kSegment == 0 && kIsSame<typename P::RhsElement, signed char>,
                "a segment has one scale, and its sum is of integers");
  using Walk = IntegerWalk<P>;
  constexpr GemvShares kShares = Walk::kShares;
  constexpr int kRows = fixed_point_rows<P>(), kTiles = static_cast<int>(divide_up(kRows, 2));
  static_assert(kRows > 0, "shared memory holds a row and a ring");
  constexpr int kSegments = kIntegerSpan<P> / kSegment, kOwn = kIntegerOwn<P>;
  // What weights are multiplied by where they stand in a fragment.
  constexpr float kUnit = P::bits == 4 ? 16 : 1;
  constexpr int kStages = (P::sharedBytes - FixedPointRows<P, kRows>::kBytes -
                           static_cast<int>(sizeof(IntegerSums<kRows>))) /
                          kIntegerStageBytes;
  auto *ring = dynamic_shared<unsigned char>();
  auto &turns = *reinterpret_cast<IntegerSums<kRows> *>(ring + kStages * kIntegerStageBytes);
  const FixedPointRows<P, kRows> rows{reinterpret_cast<unsigned char *>(&turns) + sizeof turns};

  const int group = lane_index() / 4, member = lane_index() % 4;
  // A lane has digits 0 and 1 of a row, or the last one and one that nobody wants.
  const bool isLast = member % 2 == 1;
  const int second = isLast ? 0 : 256;
  unsigned char *own = ring + warp_index() * kIntegerRows * kIntegerStep;

  for (int begin = 0; begin < P::m; begin += kRows) {
    const int end = min_of(begin + kRows, P::m);
    IntegerCopies<P> copies(rhs, own + group * kIntegerStep + (member ^ swap_of<P>(group)) * 16);
#pragma unroll
    for (int slot = 0; slot < kStages; ++slot)
      copies.copy(slot);
    // Those of the rows before have been multiplied when the last round has met.
    hold_fixed_point<P, kIntegerThreads>(operands, begin, end, rows);
    __syncthreads();

    IntegerScales<P> scales(rhs);
    int slot = 0;
    for (int round = 0; round < kShares.rounds; ++round) {
      float sums[kTiles][2] = {};
      unsigned at = Walk::begin();
      for (int step = 0; step < Walk::kSteps; ++step, at += Walk::kStep) {
        const StepScales<P> factors = scales.take();
        cp_async_wait<kStages - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < kSegments; ++i) {
          if (P::k % Walk::kStep != 0 && at + i * kSegment >= P::k)
            break;
          const unsigned segment = at / kSegment + i;
          unsigned left[4];
          read_integers<P>(left, own + slot * kIntegerStageBytes, i);
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            const FixedPointColumns<P, kRows> columns(rows, tile);
            const auto right = columns.read(segment);
            int exact[4] = {};
            mma_m16n8k32<signed char, signed char>(exact, left, right[0], right[1]);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              // A digit's sum is below 2^20.
              const float sum = static_cast<float>(exact[2 * half] + exact[2 * half + 1] * second);
              sums[tile][half] =
                  fma(sum * columns.unit(segment), factors.scale(half, i), sums[tile][half]);
              if constexpr (P::hasMinima)
                sums[tile][half] = fma(isLast ? 0.0f : columns.total(segment) * kUnit,
                                       factors.minimum(half, i), sums[tile][half]);
            }
          }
        }
        // All lanes have read what the next copies overwrite.
        __syncwarp();
        copies.copy(slot);
        slot = slot + 1 == kStages ? 0 : slot + 1;
      }

      // The warps of 16 rows meet.
      auto &partial = turns[round % 2];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float part = sums[tile][half] * (isLast ? 65536 / kUnit : 1 / kUnit);
          const float sum = part + __shfl_xor_sync(0xffffffffu, part, 1);
          const int row = tile * 2 + member / 2;
          if (!isLast && row < kRows)
            partial[warp_index()][group + 8 * half][row] = sum;
        }
      __syncthreads();
      constexpr int kPlaces = kIntegerWarps / kShares.splits;
      for (int i = threadIdx.x; i < kPlaces * kOwn * (end - begin); i += kIntegerThreads) {
        const int output = i % kOwn, place = i / kOwn % kPlaces, row = i / (kOwn * kPlaces);
        const int index = Walk::first(round, place) + output;
        float sum = 0, partner = 0;
        for (int split = 0; split < kShares.splits; ++split) {
          sum += partial[place * kShares.splits + split][output][row];
          if constexpr (kIsPaired<P>)
            partner += partial[place * kShares.splits + split][output + 8][row];
        }
        if (index < kOutputs<P>)
          write_output<P>(operands, sum, partner, begin + row, index);
      }
    }
  }
}

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemv_integers_grid() {
  if (P::sharedBytes > 0)
    return products::share_integers<P>().grid;
  return divide_up(products::gemv_integers_groups<P>(), products::gemv_integers_rounds<P>());
}
template <class P> SINTER_CONSTEXPR int gemv_integers_block() {
  return P::sharedBytes > 0 ? products::kIntegerThreads : 128;
}
template <class P> SINTER_CONSTEXPR int gemv_integers_shared() {
  return P::sharedBytes > 0           ? P::sharedBytes
         : products::kIsNormalized<P> ? products::kLhsBytes<P>
                                      : 0;
}

namespace products {

template <class P>
SINTER_DEVICE void gemv_widened(const GemvOperands<P> &operands, const IntegerOperands<P> &rhs) {
  constexpr int kColumns = kGemvColumns<P>, kOwn = kIsPaired<P> ? kColumns / 2 : kColumns;
  constexpr int kSplits = gemv_integers_splits<P>(), kRounds = gemv_integers_rounds<P>();
  constexpr int kWidth = kIntegerWidth<P>;
  static_assert(kRounds == 1 || kSplits == 1, "a product of many columns needs no splits");
  struct Tile {
    IntegerTile<P> columns[kColumns];
  };
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

} // namespace products

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
  if constexpr (P::sharedBytes > 0)
    gemv_fixed_point(operands, rhs);
  else
    gemv_widened(operands, rhs);
}

} // namespace sinter
