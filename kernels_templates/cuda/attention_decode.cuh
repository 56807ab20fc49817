//===- attention_decode.cuh - Attention of the newest queries ---*- C++ -*-===//
//
// sinter.attention for few queries (1 to 4) and the many keys of a cache. It reads keys and values
// once, at memory speed: the query heads of a key-value head are the rows of one product, and the
// keys that a slot has now, which the device knows alone (start), are cut into as many equal parts
// as there are blocks for, but not below a tile for each warp; blocks without a part end.
//
// Each of a block's eight warps keeps output, largest score and sum for its own keys, as in
// attention_forward.cuh. The warps' outputs are combined in shared memory, the blocks' in `scratch`
// by the block that arrives last; both in their order, so that the bits are the same in every run.
//
// Versions:
//
//   plain     any element types, any sizes up to 256, two or four queries a block. A warp takes
//             four keys at a time, eight lanes each, and reads rows straight into registers.
//   matrices  bf16 and f16, head sizes that are a multiple of 16, 8 or 16 queries a block (those
//             that do not exist are zero: the products are cheap beside the reading). A warp takes
//             16 keys at a time and multiplies with mma.sync. Lanes read rows straight into the
//             fragments: a product's terms may be in any order, if both sides have the same, so a
//             lane has 16 bytes of a key side by side; and two keys' pairs of columns of values
//             become columns of pairs in one instruction each. The next tile is read as soon as
//             this one has been multiplied. Keys and values of 8 bits are widened to the queries'
//             type, exactly, in registers; scores and weights are multiplied by the scales.
//
// Nearly all keys have been there since long before the kernel before this one: before it waits for
// that, a block has its first ones brought into the L2 cache.
//
// Parameters: attention.cuh's, without dropout, and
//   hasScales whether keys and values have 8 bits, and scales
//   Result    element type of the result, [batch, length, heads, headSize], dense
//
// Arguments: query, key, value, start, first, slopes, the scales of keys and of values (nullptr
// where there is none), result, scratch. `scratch` has attention_decode_scratch<P>() bytes, aligned
// to 16, that are this kernel's alone, or whose first attention_decode_tickets<P>() bytes are zero
// before each launch. They are zero before the first one, and the kernel leaves them so.
//
// Launch: attention_decode_grid<P>() blocks of 256 threads, attention_decode_shared<P>() bytes.
//
//   matrices = attention_forward's
//   rows     = matrices ? (headSize <= 128 and length (heads / keyHeads) > 8 ? 16 : 8)
//                       : headSize > 128 ? 2 : 4
//   groups   = batch keyHeads ceil(length (heads / keyHeads) / rows)
//   blocks   = headSize <= 64 and not of 8 bits ? 264 : 132
//   splits   = min(max(floor(blocks / groups), 1), ceil(maxSequence / 128))
//   grid     = groups splits
//   shared   = 32 rows (headSize + 6)
//   tickets  = 4 groups rounded up to 16
//   scratch  = tickets + (splits > 1 ? 4 groups splits rows (headSize + 2) : 0)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"
#include "tiles.cuh"

namespace sinter {

namespace attention {
constexpr int kDecodeWarps = 8, kDecodeThreads = kDecodeWarps * kWarp;

/// Queries of a block.
template <class P> SINTER_CONSTEXPR int decode_rows() {
  if (!uses_matrices_once_widened<P>())
    return P::headSize > 128 ? 2 : 4;
  return P::headSize <= 128 && P::length * kGroup<P> > 8 ? 16 : 8;
}
/// Blocks, but for the parts that keys are cut into.
template <class P> SINTER_CONSTEXPR int decode_groups() {
  return P::batch * P::keyHeads *
         static_cast<int>(divide_up(P::length * kGroup<P>, decode_rows<P>()));
}
/// Blocks of which all find a place on 132 processors, each of which has registers for one block or
/// two; a part has a tile of keys for each warp at the least.
template <class P> SINTER_CONSTEXPR int decode_splits() {
  constexpr int kBlocks = P::headSize <= 64 && !kIsByte<typename P::Element> ? 264 : 132;
  return static_cast<int>(min_of<long long>(max_of(kBlocks / decode_groups<P>(), 1),
                                            divide_up(P::maxSequence, kDecodeWarps * 16)));
}
} // namespace attention

template <class P> SINTER_CONSTEXPR int attention_decode_block() {
  return attention::kDecodeThreads;
}
template <class P> SINTER_CONSTEXPR long long attention_decode_grid() {
  return static_cast<long long>(attention::decode_groups<P>()) * attention::decode_splits<P>();
}
template <class P> SINTER_CONSTEXPR int attention_decode_shared() {
  return 4 * attention::kDecodeWarps * attention::decode_rows<P>() *
         (float_pitch_of(P::headSize) + 2);
}
template <class P> SINTER_CONSTEXPR long long attention_decode_tickets() {
  return round_up(4 * attention::decode_groups<P>(), 16);
}
template <class P> SINTER_CONSTEXPR long long attention_decode_scratch() {
  constexpr int kSplits = attention::decode_splits<P>();
  return attention_decode_tickets<P>() + (kSplits > 1
                                              ? 4ll * attention::decode_groups<P>() * kSplits *
                                                    attention::decode_rows<P>() * (P::headSize + 2)
                                              : 0);
}

namespace attention {

/// What a block computes: rows [row, row + rows) of the queries of a key-value head, and of what
/// these see its part [begin, end) of the keys. Row r is query r / group of head r % group.
template <class P> struct DecodePart {
  int group, split, parts, slot, keyHead, row, rows, start, begin, end;

  /// The block's queries; of keys it is told later.
  SINTER_DEVICE DecodePart() {
    constexpr int kRows = decode_rows<P>(), kAll = P::length * kGroup<P>;
    constexpr int kBlocks = static_cast<int>(divide_up(kAll, kRows)), kSplits = decode_splits<P>();
    group = blockIdx.x / kSplits;
    split = blockIdx.x % kSplits;
    slot = group / kBlocks / P::keyHeads;
    keyHead = group / kBlocks % P::keyHeads;
    row = group % kBlocks * kRows;
    rows = min_of(kRows, kAll - row);
  }

  /// Takes its part of the keys, were the first query at `position`.
  SINTER_DEVICE void take_keys(int position, const int *first) {
    constexpr int kSplits = decode_splits<P>();
    start = position;
    const int earliest = query_of(0), latest = query_of(rows - 1);
    int smallest = 0;
    if (P::hasFirst && first) {
      smallest = first_of<P>(first, slot, earliest);
      for (int t = earliest + 1; t <= latest; ++t)
        smallest = min_of(smallest, first_of<P>(first, slot, t));
    }
    const int from = visible_keys<P>(start + earliest, smallest).begin;
    const int to = visible_keys<P>(start + latest, 0).end;
    // Parts are of whole tiles of the warps' 16 keys; there are no more than have any.
    const int count = max_of(to - from, 1);
    const int part = static_cast<int>(round_up(divide_up(count, kSplits), kDecodeWarps * 16));
    parts = static_cast<int>(divide_up(count, part));
    begin = from + split * part;
    end = min_of(begin + part, to);
  }

  SINTER_DEVICE int query_of(int r) const { return (row + r) / kGroup<P>; }
  SINTER_DEVICE int head_of(int r) const { return keyHead * kGroup<P> + (row + r) % kGroup<P>; }
  SINTER_DEVICE Keys keys_of(const int *first, int r) const {
    if (r >= rows)
      return {0, 0};
    return visible_keys<P>(start + query_of(r), first_of<P>(first, slot, query_of(r)));
  }
};

/// What parts of the keys have found for a row: weights are relative to its largest score.
template <int WIDTH> struct RowPart {
  float largest = kNothing, sum = 0;
  Vector<float, WIDTH> output = {};
};

/// Adds up COUNT parts in their order.
template <int COUNT, int WIDTH>
SINTER_DEVICE RowPart<WIDTH> combine_parts(const RowPart<WIDTH> (&parts)[COUNT]) {
  RowPart<WIDTH> result;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    result.largest = maxnum(result.largest, parts[i].largest);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    const float weight = exp2_fast(parts[i].largest - result.largest);
    result.sum = fma(parts[i].sum, weight, result.sum);
#pragma unroll
    for (int c = 0; c < WIDTH; ++c)
      result.output[c] = fma(parts[i].output[c], weight, result.output[c]);
  }
  return result;
}

/// What the warps of a block have found: their outputs [warps][rows][headSize], largest scores and
/// sums [warps][rows] in shared memory.
template <class P> struct DecodeResults {
  static constexpr int kRows = decode_rows<P>(), kPitch = float_pitch_of(P::headSize);
  static constexpr int kWidth = P::headSize % 4 == 0 ? 4 : 1, kVectors = P::headSize / kWidth;
  /// Parts that are read together.
  static constexpr int kTogether = min_of(decode_splits<P>(), 8);
  float *outputs, *largest, *sums;

  SINTER_DEVICE DecodeResults() {
    outputs = dynamic_shared<float>();
    largest = outputs + kDecodeWarps * kRows * kPitch;
    sums = largest + kDecodeWarps * kRows;
  }

  /// Where a warp's output of a row begins.
  SINTER_DEVICE float *output_of(int r) const {
    return outputs + (warp_index() * kRows + r) * kPitch;
  }
  SINTER_DEVICE void set_weight(int r, float ownLargest, float sum) const {
    largest[warp_index() * kRows + r] = ownLargest;
    sums[warp_index() * kRows + r] = sum;
  }

  /// Combines the warps' results, and those of all blocks of a group in the last one.
  SINTER_DEVICE void combine(const DecodePart<P> &part, typename P::Result *result,
                             void *scratch) const {
    constexpr int kSplits = decode_splits<P>();
    auto *tickets = static_cast<unsigned *>(scratch);
    // Of each part the outputs, and behind those of all parts largest scores and sums.
    auto *partial =
        reinterpret_cast<float *>(static_cast<char *>(scratch) + attention_decode_tickets<P>()) +
        static_cast<long long>(part.group) * kSplits * kRows * (P::headSize + 2);
    auto *weights = partial + kSplits * kRows * P::headSize;
    __syncthreads();
    for (int i = threadIdx.x; i < part.rows * kVectors; i += kDecodeThreads) {
      const int r = i / kVectors, column = i % kVectors * kWidth;
      RowPart<kWidth> warps[kDecodeWarps];
#pragma unroll
      for (int warp = 0; warp < kDecodeWarps; ++warp)
        warps[warp] = {largest[warp * kRows + r], sums[warp * kRows + r],
                       load<float, kWidth>(outputs + (warp * kRows + r) * kPitch + column)};
      const RowPart<kWidth> row = combine_parts(warps);
      if (part.parts == 1) {
        write(part, r, column, row, result);
      } else {
        const int at = part.split * kRows + r;
        store(partial + at * P::headSize + column, row.output);
        if (column == 0)
          store(weights + 2 * at, Vector<float, 2>{{row.largest, row.sum}});
      }
    }
    if (part.parts == 1 || !arrive_last(tickets + part.group, part.parts))
      return;
    for (int i = threadIdx.x; i < part.rows * kVectors; i += kDecodeThreads) {
      const int r = i / kVectors, column = i % kVectors * kWidth;
      RowPart<kWidth> row;
      for (int split = 0; split < part.parts; split += kTogether) {
        RowPart<kWidth> found[kTogether + 1];
        found[0] = row;
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          // Parts beyond the last repeat it, and weigh nothing.
          const int at = min_of(split + j, part.parts - 1) * kRows + r;
          const auto weight = load<float, 2>(weights + 2 * at);
          const bool exists = split + j < part.parts;
          found[j + 1] = {exists ? weight[0] : kNothing, exists ? weight[1] : 0.0f,
                          load<float, kWidth>(partial + at * P::headSize + column)};
        }
        row = combine_parts(found);
      }
      write(part, r, column, row, result);
    }
  }

private:
  SINTER_DEVICE static void write(const DecodePart<P> &part, int r, int column,
                                  const RowPart<kWidth> &row, typename P::Result *result) {
    const long long at =
        (static_cast<long long>(part.slot) * P::length + part.query_of(r)) * P::heads +
        part.head_of(r);
    Vector<typename P::Result, kWidth> numbers;
#pragma unroll
    for (int c = 0; c < kWidth; ++c)
      numbers[c] = from_float<typename P::Result>(row.sum == 0 ? 0.0f : row.output[c] / row.sum);
    store(result + at * P::headSize + column, numbers);
  }
};

/// A slot's start as it is before pdl_wait, when it may still change: good for a guess at what is
/// read soon, and for nothing else.
SINTER_DEVICE int guess_start(const int *start) {
#ifdef SINTER_SIMT
  return 0;
#else
  return max_of(*static_cast<const volatile int *>(start), 0);
#endif
}

/// Has a warp's keys and values from `at` on brought nearer.
template <class P>
SINTER_DEVICE void prefetch_keys(const typename P::Element *key, const typename P::Element *value,
                                 const DecodePart<P> &part, int at) {
  constexpr int kLine = 128 / sizeof(typename P::Element);
  constexpr int kLines = static_cast<int>(divide_up(P::headSize, kLine));
#pragma unroll
  for (int i = lane_index(); i < 16 * kLines; i += kWarp) {
    const int j = at + i / kLines, column = i % kLines * kLine;
    if (j < part.end) {
      prefetch_line(key_at<P>(key, part.slot, j, part.keyHead) + column);
      prefetch_line(value_at<P>(value, part.slot, j, part.keyHead) + column);
    }
  }
}

template <class P>
SINTER_DEVICE void decode_plain(const typename P::Query *query, const typename P::Element *key,
                                const typename P::Element *value, const DecodePart<P> &part,
                                const int *first, const float *slopes, const float *keyScales,
                                const float *valueScales, typename P::Result *result,
                                void *scratch) {
  using T = typename P::Element;
  constexpr int kRows = decode_rows<P>();
  constexpr int kWidth = has_aligned_rows<P>() && P::headSize % 4 == 0 ? 4 : 1;
  // Lanes that share a key, as many keys as a warp has at a time, and pieces of a key that are a
  // lane's.
  constexpr int kLanes = has_wide_heads<P>() ? 16 : 8, kKeys = kWarp / kLanes;
  constexpr int kParts = static_cast<int>(divide_up(P::headSize, kLanes * kWidth));
  const int lane = lane_index(), ownColumn = lane % kLanes * kWidth;

  // Every lane has the queries' columns that it multiplies with.
  float queries[kRows][kParts][kWidth], output[kRows][kParts][kWidth] = {};
  float largest[kRows], sum[kRows], slope[kRows];
  Keys visible[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    largest[r] = kNothing;
    sum[r] = 0;
    visible[r] = part.keys_of(first, r);
    const int exists = min_of(r, part.rows - 1);
    slope[r] = slope_of<P>(slopes, part.head_of(exists));
    const typename P::Query *row =
        query_at<P>(query, part.slot, part.query_of(exists), part.head_of(exists));
#pragma unroll
    for (int i = 0; i < kParts; ++i)
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
        const int column = ownColumn + kLanes * kWidth * i + c;
        queries[r][i][c] = column < P::headSize ? to_float(row[column]) : 0.0f;
      }
  }
  auto read = [&](float (&to)[kParts][kWidth], const T *row) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const int column = ownColumn + kLanes * kWidth * i;
      Vector<T, kWidth> vector = {};
      if (column < P::headSize)
        vector = load<T, kWidth>(row + column);
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        to[i][c] = to_float(vector[c]);
    }
  };
  for (int at = part.begin + warp_index() * kKeys; at < part.end; at += kDecodeWarps * kKeys) {
    // Keys beyond the last repeat it: nobody sees them.
    const int j = at + lane / kLanes, exists = min_of(j, part.end - 1);
    float k[kParts][kWidth], v[kParts][kWidth];
    read(k, key_at<P>(key, part.slot, exists, part.keyHead));
    read(v, value_at<P>(value, part.slot, exists, part.keyHead));
    const float keyScale = scale_of<P>(keyScales, part.slot, exists, part.keyHead);
    const float valueScale = scale_of<P>(valueScales, part.slot, exists, part.keyHead);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= part.rows)
        break;
      float score = 0;
#pragma unroll
      for (int i = 0; i < kParts; ++i)
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
          score = fma(queries[r][i][c], k[i][c], score);
      score = warp_reduce_sum<kLanes>(score) * keyScale;
      score = shape_score<P>(score, slope[r], part.start + part.query_of(r) - j) * kFactor<P>;
      if (j < visible[r].begin || j >= min_of(visible[r].end, part.end))
        score = -kInfinity;
      const float before = largest[r];
      largest[r] = maxnum(before, warp_reduce_max(score));
      const float correction = exp2_fast(before - largest[r]);
      const float weight = exp2_fast(score - largest[r]);
      // Lanes of a key have the same weight; sums are of one lane's keys until the end.
      sum[r] = sum[r] * correction + weight;
#pragma unroll
      for (int i = 0; i < kParts; ++i)
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
          output[r][i][c] = fma(weight * valueScale, v[i][c], output[r][i][c] * correction);
    }
  }

  const DecodeResults<P> results;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // Over the keys of a step.
    auto add_keys = [](float x) {
      if (kLanes < 16)
        x += __shfl_xor_sync(0xffffffffu, x, 8);
      return x + __shfl_xor_sync(0xffffffffu, x, 16);
    };
    const float total = add_keys(sum[r]);
    if (lane == 0)
      results.set_weight(r, largest[r], total);
#pragma unroll
    for (int i = 0; i < kParts; ++i)
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
        const float all = add_keys(output[r][i][c]);
        const int column = ownColumn + kLanes * kWidth * i + c;
        if (lane < kLanes && column < P::headSize)
          results.output_of(r)[column] = all;
      }
  }
  results.combine(part, result, scratch);
}

/// Neighbours of a row, in their order with others if they are 16 bytes.
template <class T, int N> SINTER_DEVICE Vector<T, N> read_piece(const T *from) {
  if constexpr (N == kVector<T>)
    return load_once(from);
  else
    return load<T, N>(from);
}

/// Two elements a word, those of 8 bits widened, exactly.
template <class T, class Stored, int N>
SINTER_DEVICE void widen(unsigned (&words)[N / 2], const Vector<Stored, N> &elements) {
  if constexpr (kIsByte<Stored>) {
    const Vector<float, N> numbers = to_floats(elements);
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      words[i] = pack<T>(numbers[2 * i], numbers[2 * i + 1]);
  } else {
    const union {
      Vector<Stored, N> elements;
      unsigned words[N / 2];
    } pairs = {elements};
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      words[i] = pairs.words[i];
  }
}

/// Neighbours of a row that each of so many lanes reads together: of a wide head of 8 bits few,
/// since they are widened together.
template <class P, int LANES> SINTER_CONSTEXPR int decode_width() {
  using T = typename P::Element;
  constexpr int kColumns = P::headSize / LANES;
  return min_of(kColumns & -kColumns, kIsByte<T> && P::headSize > 128 ? 32 / LANES : kVector<T>);
}

template <class P>
SINTER_DEVICE void decode_matrices(const typename P::Query *query, const typename P::Element *key,
                                   const typename P::Element *value, const DecodePart<P> &part,
                                   const int *first, const float *slopes, const float *keyScales,
                                   const float *valueScales, typename P::Result *result,
                                   void *scratch) {
  // What is multiplied, and what is read.
  using T = typename P::Query;
  using Stored = typename P::Element;
  constexpr int kRows = decode_rows<P>(), kHalves = kRows / 8, kSteps = P::headSize / 16;
  constexpr int kKeyWidth = decode_width<P, 4>(), kKeyPieces = P::headSize / 4 / kKeyWidth;
  constexpr int kValueWidth = decode_width<P, 8>(), kValuePieces = P::headSize / 8 / kValueWidth;
  // Values are read with keys where there are registers for both.
  constexpr bool kReadsBoth = P::headSize <= 128;
  const int lane = lane_index(), row = lane / 4, pair = lane % 4;

  // Of 16 keys a lane has pieces of two, and of four values.
  Vector<Stored, kKeyWidth> keys[2][kKeyPieces];
  Vector<Stored, kValueWidth> values[4][kValuePieces];
  struct Scales {
    float keys[4], values[4];
  } scales;
  // Keys beyond the last repeat it: nobody sees them.
  auto key_of = [&](int at, int i) { return at + i / 2 * 8 + pair * 2 + i % 2; };
  auto read_keys = [&](int at) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const Stored *from =
          key_at<P>(key, part.slot, min_of(at + i * 8 + row, part.end - 1), part.keyHead) +
          pair * kKeyWidth;
#pragma unroll
      for (int piece = 0; piece < kKeyPieces; ++piece)
        keys[i][piece] = read_piece<Stored, kKeyWidth>(from + piece * 4 * kKeyWidth);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = min_of(key_of(at, i), part.end - 1);
      scales.keys[i] = scale_of<P>(keyScales, part.slot, j, part.keyHead);
      scales.values[i] = scale_of<P>(valueScales, part.slot, j, part.keyHead);
    }
  };
  auto read_values = [&](int at) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Stored *from =
          value_at<P>(value, part.slot, min_of(key_of(at, i), part.end - 1), part.keyHead) +
          row * kValueWidth;
#pragma unroll
      for (int piece = 0; piece < kValuePieces; ++piece)
        values[i][piece] = read_piece<Stored, kValueWidth>(from + piece * 8 * kValueWidth);
    }
  };
  int at = part.begin + warp_index() * 16;
  if (at < part.end) {
    read_keys(at);
    if constexpr (kReadsBoth)
      read_values(at);
  }

  // The queries' columns in the order of the keys' in a lane; of wide heads they stay where they
  // are.
  constexpr int kPieceSteps = kKeyWidth / 4;
  auto read_queries = [&](unsigned (&to)[kPieceSteps][4], int piece) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = half * 8 + row;
      unsigned words[kKeyWidth / 2] = {};
      if (half < kHalves && r < part.rows)
        widen<T, T, kKeyWidth>(
            words,
            load<T, kKeyWidth>(query_at<P>(query, part.slot, part.query_of(r), part.head_of(r)) +
                               (piece * 4 + pair) * kKeyWidth));
#pragma unroll
      for (int i = 0; i < kKeyWidth / 2; ++i)
        to[i / 2][i % 2 * 2 + half] = words[i];
    }
  };
  constexpr bool kKeepsQueries = P::headSize <= 128;
  unsigned queries[kKeepsQueries ? kKeyPieces : 1][kPieceSteps][4];
  if constexpr (kKeepsQueries)
#pragma unroll
    for (int piece = 0; piece < kKeyPieces; ++piece)
      read_queries(queries[piece], piece);
  Keys visible[kHalves];
  float slope[kHalves], largest[kHalves], sum[kHalves] = {};
  int position[kHalves];
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
    const int r = half * 8 + row, exists = min_of(r, part.rows - 1);
    visible[half] = part.keys_of(first, r);
    slope[half] = slope_of<P>(slopes, part.head_of(exists));
    position[half] = part.start + part.query_of(exists);
    largest[half] = kNothing;
  }

  // Transposed: columns of values by rows of queries.
  float output[kSteps][kHalves][4] = {};
  for (; at < part.end; at += kDecodeWarps * 16) {
    const int next = at + kDecodeWarps * 16;
    float scores[2][4] = {};
#pragma unroll
    for (int piece = 0; piece < kKeyPieces; ++piece) {
      unsigned words[2][kKeyWidth / 2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        widen<T, Stored, kKeyWidth>(words[i], keys[i][piece]);
      auto &own = queries[kKeepsQueries ? piece : 0];
      if constexpr (!kKeepsQueries)
        read_queries(own, piece);
#pragma unroll
      for (int i = 0; i < kPieceSteps; ++i)
#pragma unroll
        for (int n = 0; n < 2; ++n)
          mma_m16n8k16<T>(scores[n], own[i], words[n][2 * i], words[n][2 * i + 1]);
    }
    const Scales own = scales;
    if constexpr (!kReadsBoth)
      read_values(at);
    else if (next < part.end)
      read_keys(next);
    unsigned weights[kHalves][2];
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      float top = -kInfinity;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = key_of(at, i);
        float &score = scores[i / 2][half * 2 + i % 2];
        score = shape_score<P>(score * own.keys[i], slope[half], position[half] - j);
        if (j < visible[half].begin || j >= min_of(visible[half].end, part.end))
          score = -kInfinity;
        top = maxnum(top, score);
      }
      const float before = largest[half];
      largest[half] = maxnum(before, warp_reduce_max<4>(top) * kFactor<P>);
      const float correction = exp2_fast(before - largest[half]);
      sum[half] *= correction;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float &score = scores[i / 2][half * 2 + i % 2];
        score = exp2_fast(fma(score, kFactor<P>, -largest[half]));
        sum[half] += score;
        score *= own.values[i];
      }
#pragma unroll
      for (int n = 0; n < 2; ++n)
        weights[half][n] = pack<T>(scores[n][half * 2], scores[n][half * 2 + 1]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float its = __shfl_sync(0xFFFFFFFFu, correction, (pair * 2 + i) * 4);
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          output[step][half][i] *= its;
          output[step][half][i + 2] *= its;
        }
      }
    }
#pragma unroll
    for (int piece = 0; piece < kValuePieces; ++piece) {
      unsigned words[4][kValueWidth / 2];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        widen<T, Stored, kValueWidth>(words[i], values[i][piece]);
#pragma unroll
      for (int i = 0; i < kValueWidth / 2; ++i) {
        // A column of two keys' pairs of columns, and the other one.
        const unsigned a[4] = {__byte_perm(words[0][i], words[1][i], 0x5410),
                               __byte_perm(words[0][i], words[1][i], 0x7632),
                               __byte_perm(words[2][i], words[3][i], 0x5410),
                               __byte_perm(words[2][i], words[3][i], 0x7632)};
#pragma unroll
        for (int half = 0; half < kHalves; ++half)
          mma_m16n8k16<T>(output[piece * (kValueWidth / 2) + i][half], a, weights[half][0],
                          weights[half][1]);
      }
    }
    if (next < part.end) {
      if constexpr (kReadsBoth)
        read_values(next);
      else
        read_keys(next);
    }
  }

  const DecodeResults<P> results;
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
    const float total = warp_reduce_sum<4>(sum[half]);
    if (pair == 0 && half * 8 + row < part.rows)
      results.set_weight(half * 8 + row, largest[half], total);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int r = half * 8 + pair * 2 + i;
      if (r >= part.rows)
        continue;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        constexpr int kSpan = kValueWidth / 2;
        const int column = (step / kSpan * 8 + row) * kValueWidth + step % kSpan * 2;
        store(results.output_of(r) + column,
              Vector<float, 2>{{output[step][half][i], output[step][half][i + 2]}});
      }
    }
  }
  results.combine(part, result, scratch);
}

} // namespace attention

template <class P>
SINTER_DEVICE void attention_decode(const typename P::Query *query, const typename P::Element *key,
                                    const typename P::Element *value, const int *start,
                                    const int *first, const float *slopes, const float *keyScales,
                                    const float *valueScales, typename P::Result *result,
                                    void *scratch) {
  static_assert(P::dropout == 0, "dropout is for attention_forward");
  static_assert(P::scale > 0, "the largest product has the largest score");
  static_assert(P::hasScales == kIsByte<typename P::Element>, "bytes, and only they, have scales");
  pdl_launch_dependents();
  attention::DecodePart<P> part;
  // Most of the keys have been there long before the kernel before this one: their way from memory
  // is gone while that is at work.
  if constexpr (P::hasStart) {
    part.take_keys(attention::guess_start(start + part.slot), nullptr);
    for (int tile = 0; tile < 2; ++tile)
      attention::prefetch_keys<P>(
          key, value, part, part.begin + (tile * attention::kDecodeWarps + warp_index()) * 16);
  }
  pdl_wait();
  part.take_keys(attention::start_of<P>(start, part.slot), first);
  if (part.split >= part.parts)
    return;
  if constexpr (attention::uses_matrices_once_widened<P>())
    attention::decode_matrices<P>(query, key, value, part, first, slopes, keyScales, valueScales,
                                  result, scratch);
  else
    attention::decode_plain<P>(query, key, value, part, first, slopes, keyScales, valueScales,
                               result, scratch);
}

} // namespace sinter
