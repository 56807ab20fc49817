//===- attention_decode.cuh - Attention of the newest queries ---*- C++ -*-===//
//
// sinter.attention for few queries (1 to 4) and the many keys of a cache. It reads keys and values
// once, at memory speed: the query heads of a key-value head are the rows of one product, and the
// keys that a slot has now, which the device knows alone (start), are cut into `splits` equal parts
// for as many blocks.
//
// Each of a block's four warps keeps output, largest score and sum for its own keys, as in
// attention_forward.cuh. The warps' outputs are combined in shared memory, the blocks' in `scratch`
// by the block that arrives last; both in their order, so that the bits are the same in every run.
//
// Versions:
//
//   plain     any element types, any sizes up to 256, two or four queries a block. A warp takes
//   four keys at
//             a time, eight lanes each, and reads rows straight into registers.
//   matrices  bf16 and f16, head sizes that are a multiple of 16, 16 queries a block (those that do
//             not exist are zero: the products are cheap beside the reading). A warp takes 16 keys
//             at a time and multiplies with mma.sync; it copies (cp.async) one or two tiles ahead
//             for itself, without a barrier. Keys and values of 8 bits are copied as they are, and
//             a tile is widened to the queries' type, exactly, when it is there; scores and weights
//             are multiplied by the scales.
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
// Launch: attention_decode_grid<P>() blocks of 128 threads, attention_decode_shared<P>() bytes.
//
//   matrices = attention_forward's
//   rows     = matrices ? 16 : headSize > 128 ? 2 : 4
//   groups   = batch keyHeads ceil(length (heads / keyHeads) / rows)
//   splits   = min(ceil(264 / groups), ceil(maxSequence / 256))
//   grid     = groups splits
//   stages   = headSize > 128 ? 2 : 3, or 2 where 3 do not fit into sharedMemory
//   shared   = 16 rows (headSize + 4) + 32 rows,
//              but matrices ? at least 32 (headSize + 8) (1 + 8 stages), of 8 bits
//                                      288 (headSize + 8) + 128 headSize stages
//   tickets  = 4 groups rounded up to 16
//   scratch  = tickets + (splits > 1 ? 4 groups splits rows (headSize + 2) : 0)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"
#include "tiles.cuh"

namespace sinter {

namespace attention {
/// Queries of a block.
template <class P> SINTER_CONSTEXPR int decode_rows() {
  return uses_matrices_once_widened<P>() ? 16 : P::headSize > 128 ? 2 : 4;
}
/// Blocks, but for the parts that keys are cut into.
template <class P> SINTER_CONSTEXPR int decode_groups() {
  return P::batch * P::keyHeads *
         static_cast<int>(divide_up(P::length * kGroup<P>, decode_rows<P>()));
}
/// Two blocks for each of 132 processors fill a machine; a part of less than 256 keys is not worth
/// its combining.
template <class P> SINTER_CONSTEXPR int decode_splits() {
  return static_cast<int>(min_of(divide_up(264, decode_groups<P>()), divide_up(P::maxSequence, 256)));
}
/// Memory for the queries and the warps' tiles of keys and values, with matrix instructions.
template <class P> SINTER_CONSTEXPR int decode_copies(int stages) {
  if (kIsByte<typename P::Element>)
    return 32 * pitch_of(P::headSize) * (1 + 8) + 128 * P::headSize * stages;
  return 32 * pitch_of(P::headSize) * (1 + 8 * stages);
}
template <class P> SINTER_CONSTEXPR int decode_stages() {
  return P::headSize > 128 || decode_copies<P>(3) > P::sharedMemory ? 2 : 3;
}
} // namespace attention

template <class P> SINTER_CONSTEXPR int attention_decode_block() { return 128; }
template <class P> SINTER_CONSTEXPR long long attention_decode_grid() {
  return static_cast<long long>(attention::decode_groups<P>()) * attention::decode_splits<P>();
}
template <class P> SINTER_CONSTEXPR int attention_decode_shared() {
  constexpr int kRows = attention::decode_rows<P>();
  constexpr int kCombining = 16 * kRows * float_pitch_of(P::headSize) + 32 * kRows;
  constexpr int kCopying = attention::decode_copies<P>(attention::decode_stages<P>());
  return attention::uses_matrices_once_widened<P>() && kCopying > kCombining ? kCopying
                                                                             : kCombining;
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
  int group, split, slot, keyHead, row, rows, start, begin, end;

  SINTER_DEVICE DecodePart(const int *starts, const int *first) {
    constexpr int kRows = decode_rows<P>(), kAll = P::length * kGroup<P>;
    constexpr int kBlocks = static_cast<int>(divide_up(kAll, kRows)), kSplits = decode_splits<P>();
    group = blockIdx.x / kSplits;
    split = blockIdx.x % kSplits;
    slot = group / kBlocks / P::keyHeads;
    keyHead = group / kBlocks % P::keyHeads;
    row = group % kBlocks * kRows;
    rows = min_of(kRows, kAll - row);
    start = start_of<P>(starts, slot);
    const int earliest = query_of(0), latest = query_of(rows - 1);
    int smallest = first_of<P>(first, slot, earliest);
    for (int t = earliest + 1; t <= latest; ++t)
      smallest = min_of(smallest, first_of<P>(first, slot, t));
    const int from = visible_keys<P>(start + earliest, smallest).begin;
    const int to = visible_keys<P>(start + latest, 0).end;
    // Parts are of whole tiles of four warps' 16 keys.
    const int part = round_up(divide_up(max_of(to - from, 0), kSplits), 64);
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

/// Adds up outputs of the same row in their order. Weights are relative to a largest score, which
/// the first part to be told of has to exceed.
struct CombinedRow {
  float largest = kNothing, sum = 0, output = 0;

  SINTER_DEVICE void add(float otherLargest, float otherSum, float otherOutput) {
    const float top = maxnum(largest, otherLargest);
    const float own = exp2_fast(largest - top), other = exp2_fast(otherLargest - top);
    sum = sum * own + otherSum * other;
    output = output * own + otherOutput * other;
    largest = top;
  }
};

/// What the warps of a block have found: their outputs [4][rows][headSize], largest scores and sums
/// [4][rows] in shared memory.
template <class P> struct DecodeResults {
  static constexpr int kRows = decode_rows<P>(), kPitch = float_pitch_of(P::headSize);
  float *outputs, *largest, *sums;

  SINTER_DEVICE DecodeResults() {
    outputs = dynamic_shared<float>();
    largest = outputs + 4 * kRows * kPitch;
    sums = largest + 4 * kRows;
  }

  /// Combines the warps' results, and those of all blocks of a group in the last one.
  SINTER_DEVICE void combine(const DecodePart<P> &part, typename P::Result *result,
                             void *scratch) const {
    constexpr int kSplits = decode_splits<P>(), kStride = P::headSize + 2;
    auto *tickets = static_cast<unsigned *>(scratch);
    auto *partial =
        reinterpret_cast<float *>(static_cast<char *>(scratch) + attention_decode_tickets<P>()) +
        static_cast<long long>(part.group) * kSplits * kRows * kStride;
    __syncthreads();
    for (int i = threadIdx.x; i < part.rows * P::headSize; i += 128) {
      const int r = i / P::headSize, column = i % P::headSize;
      CombinedRow row;
#pragma unroll
      for (int warp = 0; warp < 4; ++warp)
        row.add(largest[warp * kRows + r], sums[warp * kRows + r],
                outputs[(warp * kRows + r) * kPitch + column]);
      if constexpr (kSplits == 1) {
        write(part, r, column, row, result);
      } else {
        float *to = partial + (part.split * kRows + r) * kStride;
        to[column] = row.output;
        if (column == 0) {
          to[P::headSize] = row.largest;
          to[P::headSize + 1] = row.sum;
        }
      }
    }
    if constexpr (kSplits > 1) {
      if (!arrive_last(tickets + part.group, kSplits))
        return;
      for (int i = threadIdx.x; i < part.rows * P::headSize; i += 128) {
        const int r = i / P::headSize, column = i % P::headSize;
        CombinedRow row;
        for (int split = 0; split < kSplits; ++split) {
          const float *from = partial + (split * kRows + r) * kStride;
          row.add(from[P::headSize], from[P::headSize + 1], from[column]);
        }
        write(part, r, column, row, result);
      }
    }
  }

private:
  SINTER_DEVICE static void write(const DecodePart<P> &part, int r, int column,
                                  const CombinedRow &row, typename P::Result *result) {
    const long long at =
        (static_cast<long long>(part.slot) * P::length + part.query_of(r)) * P::heads +
        part.head_of(r);
    result[at * P::headSize + column] =
        from_float<typename P::Result>(row.sum == 0 ? 0.0f : row.output / row.sum);
  }
};

template <class P>
SINTER_DEVICE void decode_plain(const typename P::Query *query, const typename P::Element *key,
                                const typename P::Element *value, const int *starts,
                                const int *first, const float *slopes, const float *keyScales,
                                const float *valueScales, typename P::Result *result,
                                void *scratch) {
  using T = typename P::Element;
  constexpr int kRows = decode_rows<P>();
  constexpr int kWidth = has_aligned_rows<P>() && P::headSize % 4 == 0 ? 4 : 1;
  constexpr int kParts = static_cast<int>(divide_up(P::headSize, 8 * kWidth));
  const DecodePart<P> part(starts, first);
  const int lane = lane_index(), ownColumn = lane % 8 * kWidth;

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
        const int column = ownColumn + 8 * kWidth * i + c;
        queries[r][i][c] = column < P::headSize ? to_float(row[column]) : 0.0f;
      }
  }
  auto read = [&](float (&to)[kParts][kWidth], const T *row) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const int column = ownColumn + 8 * kWidth * i;
      Vector<T, kWidth> vector = {};
      if (column < P::headSize)
        vector = load<T, kWidth>(row + column);
#pragma unroll
      for (int c = 0; c < kWidth; ++c)
        to[i][c] = to_float(vector[c]);
    }
  };
  for (int at = part.begin + warp_index() * 4; at < part.end; at += 16) {
    // Keys beyond the last repeat it: nobody sees them.
    const int j = at + lane / 8, exists = min_of(j, part.end - 1);
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
      score = warp_reduce_sum<8>(score) * keyScale;
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
    // Over the four keys of a step.
    auto add_keys = [](float x) {
      x += __shfl_xor_sync(0xffffffffu, x, 8);
      return x + __shfl_xor_sync(0xffffffffu, x, 16);
    };
    const int at = warp_index() * kRows + r;
    const float total = add_keys(sum[r]);
    if (lane == 0) {
      results.largest[at] = largest[r];
      results.sums[at] = total;
    }
#pragma unroll
    for (int i = 0; i < kParts; ++i)
#pragma unroll
      for (int c = 0; c < kWidth; ++c) {
        const float all = add_keys(output[r][i][c]);
        const int column = ownColumn + 8 * kWidth * i + c;
        if (lane < 8 && column < P::headSize)
          results.outputs[at * results.kPitch + column] = all;
      }
  }
  results.combine(part, result, scratch);
}

template <class P>
SINTER_DEVICE void decode_matrices(const typename P::Query *query, const typename P::Element *key,
                                   const typename P::Element *value, const int *starts,
                                   const int *first, const float *slopes, const float *keyScales,
                                   const float *valueScales, typename P::Result *result,
                                   void *scratch) {
  // What is multiplied, and what is copied.
  using T = typename P::Query;
  using Stored = typename P::Element;
  constexpr bool kWidens = kIsByte<Stored>;
  constexpr int kRows = decode_rows<P>(), kKeys = 16, kStages = decode_stages<P>();
  constexpr int kPitch = pitch_of(P::headSize), kSteps = P::headSize / 16;
  constexpr bool kKeepsQueries = kSteps <= 8;
  const DecodePart<P> part(starts, first);
  const int lane = lane_index(), warp = warp_index();
  T *queries = dynamic_shared<T>();
  // The warp's tiles of keys and values in turn; widened ones stand in front of those.
  constexpr int kStoredPitch = kWidens ? P::headSize : kPitch;
  T *widened = queries + (kRows + warp * 2 * kKeys) * kPitch;
  Stored *stages =
      reinterpret_cast<Stored *>(queries + (kRows + (kWidens ? 8 * kKeys : 0)) * kPitch) +
      warp * kStages * 2 * kKeys * kStoredPitch;

  auto copy_keys = [&](int step) {
    const int at = part.begin + (step * 4 + warp) * kKeys, count = part.end - at;
    if (count <= 0)
      return;
    Stored *to = stages + step % kStages * 2 * kKeys * kStoredPitch;
    const Stored *keys = key_at<P>(key, part.slot, at, part.keyHead);
    const Stored *values = value_at<P>(value, part.slot, at, part.keyHead);
    if constexpr (kWidens) {
      copy_bytes_async<kKeys, P::headSize, kWarp>(to, keys, P::keyRowStride, count, lane);
      copy_bytes_async<kKeys, P::headSize, kWarp>(to + kKeys * kStoredPitch, values,
                                                  P::valueRowStride, count, lane);
    } else {
      copy_rows_async<kKeys, P::headSize, kWarp>(to, keys, P::keyRowStride, count, lane);
      copy_rows_async<kKeys, P::headSize, kWarp>(to + kKeys * kStoredPitch, values,
                                                 P::valueRowStride, count, lane);
    }
  };
  // Those of the keys whose scores a thread has.
  struct Scales {
    float keys[4], values[4];
  };
  auto read_scales = [&](int at) {
    Scales scales;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int j = min_of(at + i / 2 * 8 + lane % 4 * 2 + i % 2, part.end - 1);
      scales.keys[i] = scale_of<P>(keyScales, part.slot, j, part.keyHead);
      scales.values[i] = scale_of<P>(valueScales, part.slot, j, part.keyHead);
    }
    return scales;
  };
  constexpr int kChunks = P::headSize / kVector<T>;
  for (int chunk = threadIdx.x; chunk < kRows * kChunks; chunk += 128) {
    const int r = chunk / kChunks, column = chunk % kChunks * kVector<T>;
    const int exists = min_of(r, part.rows - 1);
    cp_async_16(queries + r * kPitch + column,
                query_at<P>(query, part.slot, part.query_of(exists), part.head_of(exists)) + column,
                r < part.rows ? 16 : 0);
  }
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    copy_keys(step);
    cp_async_commit();
  }
  Keys visible[2];
  float slope[2], largest[2], sum[2] = {};
  int position[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = half * 8 + lane / 4, exists = min_of(r, part.rows - 1);
    visible[half] = part.keys_of(first, r);
    slope[half] = slope_of<P>(slopes, part.head_of(exists));
    position[half] = part.start + part.query_of(exists);
    largest[half] = kNothing;
  }
  // The queries are in the first group of copies, which all warps have begun.
  cp_async_wait<kStages - 2>();
  __syncthreads();
  unsigned kept[kKeepsQueries ? kSteps : 1][4];
  if constexpr (kKeepsQueries)
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      load_rows_as_a<kPitch>(kept[step], queries + step * 16, lane);

  float output[2 * kSteps][4] = {};
  int step = 0;
  Scales next = {};
  if (part.begin + warp * kKeys < part.end)
    next = read_scales(part.begin + warp * kKeys);
  for (int at = part.begin + warp * kKeys; at < part.end; at += 4 * kKeys, ++step) {
    // This tile is there, and the warp is done with the one before, whose place is next.
    cp_async_wait<kStages - 2>();
    __syncwarp();
    copy_keys(step + kStages - 1);
    cp_async_commit();
    const Scales scales = next;
    if (at + 4 * kKeys < part.end)
      next = read_scales(at + 4 * kKeys);
    const Stored *stored = stages + step % kStages * 2 * kKeys * kStoredPitch;
    const T *keys;
    if constexpr (kWidens) {
      widen_bytes<2 * kKeys, P::headSize, kWarp>(widened, stored, lane);
      __syncwarp();
      keys = widened;
    } else {
      keys = stored;
    }
    const T *values = keys + kKeys * kPitch;
    float scores[2][4] = {};
#pragma unroll(kKeepsQueries ? kSteps : 4)
    for (int k = 0; k < kSteps; ++k) {
      unsigned a[4], b[4];
      if constexpr (kKeepsQueries) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          a[i] = kept[k][i];
      } else {
        load_rows_as_a<kPitch>(a, queries + k * 16, lane);
      }
      load_rows_as_b<kPitch>(b, keys + k * 16, lane);
      mma_m16n8k16<T>(scores[0], a, b[0], b[1]);
      mma_m16n8k16<T>(scores[1], a, b[2], b[3]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = -kInfinity;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = at + i / 2 * 8 + lane % 4 * 2 + i % 2;
        float &score = scores[i / 2][half * 2 + i % 2];
        score = shape_score<P>(score * scales.keys[i], slope[half], position[half] - j);
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
        score *= scales.values[i];
      }
#pragma unroll
      for (int column = 0; column < 2 * kSteps; ++column) {
        output[column][half * 2] *= correction;
        output[column][half * 2 + 1] *= correction;
      }
    }
    unsigned p[4];
    pack_as_a<T>(p, scores[0], scores[1]);
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      unsigned v[4];
      load_columns_as_b<kPitch>(v, values + k * 16, lane);
      mma_m16n8k16<T>(output[2 * k], p, v[0], v[1]);
      mma_m16n8k16<T>(output[2 * k + 1], p, v[2], v[3]);
    }
  }

  // The results take the place of what was copied, once all copies are over.
  cp_async_wait<0>();
  __syncthreads();
  const DecodeResults<P> results;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = half * 8 + lane / 4, at = warp * kRows + r;
    const float total = warp_reduce_sum<4>(sum[half]);
    if (r >= part.rows)
      continue;
    if (lane % 4 == 0) {
      results.largest[at] = largest[half];
      results.sums[at] = total;
    }
#pragma unroll
    for (int column = 0; column < 2 * kSteps; ++column)
      store(results.outputs + at * results.kPitch + column * 8 + lane % 4 * 2,
            Vector<float, 2>{{output[column][half * 2], output[column][half * 2 + 1]}});
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
  pdl_wait();
  if constexpr (attention::uses_matrices_once_widened<P>())
    attention::decode_matrices<P>(query, key, value, start, first, slopes, keyScales, valueScales,
                                  result, scratch);
  else
    attention::decode_plain<P>(query, key, value, start, first, slopes, keyScales, valueScales,
                               result, scratch);
}

} // namespace sinter
