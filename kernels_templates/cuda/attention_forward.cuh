//===- attention_forward.cuh - softmax(scale q.k + bias) . v ----*- C++ -*-===//
//
// sinter.attention for many queries (training, prefill). Scores never exist as a matrix in memory
// (Dao, "FlashAttention-2", 2023, algorithm 1): for a tile of queries, whose output O, largest
// score m and sum of weights l stay in registers,
//
//   for each tile of keys that a query of the tile may see
//     S = Q K^T, masked;  m' = max(m, max S);  P = 2^(S - m');  c = 2^(m - m')
//     l = l c + sum P;  O = O c + P V
//   result = O / l;  logsumexp = (m + log2 l) ln 2
//
// Versions:
//
//   plain     any element types, any sizes up to 256. Keys and values as f32 in shared memory;
//             eight threads share a query: each has every eighth key's score and every eighth group
//             of four columns of the output, kRows / 16 queries at a time. Weights pass through
//             shared memory, from which four at a time are read.
//   matrices  bf16 and f16, head sizes that are a multiple of 16. Warps, each with its own 16 or 32
//             queries, multiply with mma.sync; the weights of a warp are already laid out as
//             the left side of the second product. Keys and values of the next tile are copied
//             (cp.async) while one is computed with, which leaves one barrier a tile. Only tiles
//             that a bound crosses are masked element by element. The result goes through the
//             memory of the warp's queries, so that its rows are written 16 bytes at a time.
//             Keys and values of 8 bits are copied as they are; the block widens a tile to the
//             queries' type, exactly, when it is there, which takes a second barrier.
//
// Of keys and values of 8 bits scores and weights are multiplied by the scales.
//
// Blocks with the most keys (the last queries, if causal) begin first.
//
// Parameters: attention.cuh's, and
//   Result        element type of the result, [batch, length, heads, headSize], dense
//   hasScales     whether keys and values have 8 bits, and scales (attention.cuh)
//   hasLogsumexp  whether `logsumexp`, f32 [batch, length, heads], is written; nullptr if not
//   tile          with matrix instructions: queries of a block, 64 or 128; 0 as below
//
// Where there are enough queries, a block has 128 of them, eight warps of 16 or, where registers
// allow that, four of 32: for 64 queries each byte of keys and values is worth 64 operations, which
// by estimate (it is not measured) asks more of the L2 cache than the products can wait for.
//
// Launch: attention_forward_grid<P>() blocks of attention_forward_block<P>() threads,
// attention_forward_shared<P>() bytes.
//
//   large  = tile ? tile == 128 : batch * heads * ceil(length / 128) >= 264,
//            if 128 rows fit into sharedMemory
//   wide   = headSize > 256: 32 rows and 16 keys where they fit into sharedMemory, else 16 and 8
//   rows   = matrices ? (large ? 128 : 64) : wide ? 32 or 16 : headSize > 128 ? 32 : 64
//   block  = matrices && large && (headSize > 128 || dropout > 0) ? 256 : 128
//   keys   = matrices ? (headSize > 128 ? 32 : 64) : wide ? 16 or 8 : 32
//   grid   = batch * heads * ceil(length / rows)
//   shared = matrices ? 2 (rows + 4 keys) (headSize + 8)
//                     : 4 ((rows + 2 keys) (columns + 4) + rows (keys + 4))
//                       with columns = headSize rounded up to 32
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"
#include "tiles.cuh"

namespace sinter {

namespace attention {
/// Memory for queries, keys, values and weights, without matrix instructions.
template <class P> SINTER_CONSTEXPR int forward_plain_shared(int rows, int keys) {
  return 4 * ((rows + 2 * keys) * float_pitch_of(round_up(P::headSize, 32)) +
              rows * float_pitch_of(keys));
}
/// Whether there is room for 32 wide queries and 16 keys.
template <class P> SINTER_CONSTEXPR bool forward_has_room() {
  return forward_plain_shared<P>(32, 16) <= P::sharedMemory;
}
/// Keys of a tile.
template <class P> SINTER_CONSTEXPR int forward_keys() {
  if (uses_matrices_once_widened<P>())
    return P::headSize > 128 ? 32 : 64;
  return !has_wide_heads<P>() ? 32 : forward_has_room<P>() ? 16 : 8;
}
/// Memory for the queries and twice the keys and values, with matrix instructions.
template <class P> SINTER_CONSTEXPR int forward_matrices_shared(int rows) {
  return 2 * (rows + 4 * forward_keys<P>()) * pitch_of(P::headSize);
}
/// Whether a block has 128 queries: there is room, and it is asked for, or such tiles fill a
/// machine.
template <class P> SINTER_CONSTEXPR bool forward_is_large() {
  const bool wanted = P::tile ? P::tile == 128
                              : P::batch * P::heads * divide_up(P::length, 128) >= SINTER_FULL_GRID;
  return wanted && forward_matrices_shared<P>(128) <= P::sharedMemory;
}
/// Whether a warp has 32 queries: what it reads of keys and values then serves twice as many.
template <class P> SINTER_CONSTEXPR bool forward_is_tall() {
  return forward_is_large<P>() && P::headSize <= 128 && P::dropout == 0;
}
} // namespace attention

template <class P> SINTER_CONSTEXPR int attention_forward_rows() {
  if (attention::uses_matrices_once_widened<P>())
    return attention::forward_is_large<P>() ? 128 : 64;
  if (attention::has_wide_heads<P>())
    return attention::forward_has_room<P>() ? 32 : 16;
  return P::headSize > 128 ? 32 : 64;
}
template <class P> SINTER_CONSTEXPR int attention_forward_block() {
  return attention::uses_matrices_once_widened<P>() && attention::forward_is_large<P>() &&
                 !attention::forward_is_tall<P>()
             ? 256
             : 128;
}
template <class P> SINTER_CONSTEXPR long long attention_forward_grid() {
  return P::batch * P::heads * divide_up(P::length, attention_forward_rows<P>());
}
template <class P> SINTER_CONSTEXPR int attention_forward_shared() {
  constexpr int kRows = attention_forward_rows<P>(), kKeys = attention::forward_keys<P>();
  if (attention::uses_matrices_once_widened<P>())
    return attention::forward_matrices_shared<P>(kRows);
  return attention::forward_plain_shared<P>(kRows, kKeys);
}

namespace attention {

/// The factor of an output whose weights add up to `sum`.
template <class P> SINTER_DEVICE float output_factor(float sum) {
  return sum == 0 ? 0.0f : kShare<P> / sum;
}

template <class P>
SINTER_DEVICE void write_logsumexp(float *logsumexp, int slot, int t, int head, float largest,
                                   float sum) {
  // Of no weights the logarithm is minus infinity.
  logsumexp[(static_cast<long long>(slot) * P::length + t) * P::heads + head] =
      (largest + log2(sum)) * kLn2;
}

//===----------------------------------------------------------------------===//
// Plain
//===----------------------------------------------------------------------===//

template <class P>
SINTER_DEVICE void forward_plain(const typename P::Query *query, const typename P::Element *key,
                                 const typename P::Element *value, const int *starts,
                                 const int *first, const float *slopes, const float *keyScales,
                                 const float *valueScales, const int *seeds,
                                 typename P::Result *result, float *logsumexp) {
  constexpr int kRows = attention_forward_rows<P>(), kKeys = forward_keys<P>();
  constexpr int kThreads = attention_forward_block<P>(), kColumns = round_up(P::headSize, 32);
  constexpr int kPitch = float_pitch_of(kColumns), kWeightPitch = float_pitch_of(kKeys);
  // A thread's queries; its scores of each are of keys lane + 8 i; its columns 4 lane + 32 i.
  constexpr int kOwn = kRows / 16, kScores = kKeys / 8, kParts = kColumns / 32;
  constexpr bool kAligned = has_aligned_rows<P>();

  float *queries = dynamic_shared<float>();
  float *keys = queries + kRows * kPitch, *values = keys + kKeys * kPitch;
  float *weights = values + kKeys * kPitch;

  const QueryTile<P, kRows> tile(starts);
  const int lane = threadIdx.x % 8, ownRow = threadIdx.x / 8 * kOwn;
  const float slope = slope_of<P>(slopes, tile.head);
  const Seed<P> seed(seeds);
  const Keys range = tile.template keys<kThreads>(first);

  Keys visible[kOwn];
  float largest[kOwn], sum[kOwn];
  Vector<float, 4> output[kOwn][kParts] = {};
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    visible[r] = tile.keys_of(first, ownRow + r);
    largest[r] = kNothing;
    sum[r] = 0;
  }

  copy_tile_as_float<kRows, kColumns, kThreads, kAligned>(
      queries, query_at<P>(query, tile.slot, tile.row, tile.head), P::queryRowStride, tile.rows,
      P::headSize);
  for (int begin = range.begin / kKeys * kKeys; begin < range.end; begin += kKeys) {
    // Everybody is done with the tile before.
    __syncthreads();
    const int count = min_of(kKeys, range.end - begin);
    copy_tile_as_float<kKeys, kColumns, kThreads, kAligned>(
        keys, key_at<P>(key, tile.slot, begin, tile.keyHead), P::keyRowStride, count, P::headSize);
    copy_tile_as_float<kKeys, kColumns, kThreads, kAligned>(
        values, value_at<P>(value, tile.slot, begin, tile.keyHead), P::valueRowStride, count,
        P::headSize);
    __syncthreads();

    float scores[kOwn][kScores] = {};
    for (int d = 0; d < P::headSize; d += 4) {
      Vector<float, 4> k[kScores];
#pragma unroll
      for (int j = 0; j < kScores; ++j)
        k[j] = load<float, 4>(keys + (lane + 8 * j) * kPitch + d);
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        Vector<float, 4> q = load<float, 4>(queries + (ownRow + r) * kPitch + d);
#pragma unroll
        for (int j = 0; j < kScores; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            scores[r][j] = fma(q[i], k[j][i], scores[r][j]);
      }
    }

    float keyScale[kScores], valueScale[kScores];
#pragma unroll
    for (int j = 0; j < kScores; ++j) {
      const int at = min_of(begin + lane + 8 * j, range.end - 1);
      keyScale[j] = scale_of<P>(keyScales, tile.slot, at, tile.keyHead);
      valueScale[j] = scale_of<P>(valueScales, tile.slot, at, tile.keyHead);
    }
#pragma unroll
    for (int r = 0; r < kOwn; ++r) {
      const int t = tile.row + ownRow + r;
      float before = largest[r];
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        int at = begin + lane + 8 * j;
        const float product = scores[r][j] * keyScale[j];
        float score = shape_score<P>(product, slope, tile.start + t - at) * kFactor<P>;
        scores[r][j] = at >= visible[r].begin && at < visible[r].end ? score : -kInfinity;
        largest[r] = maxnum(largest[r], scores[r][j]);
      }
      largest[r] = warp_reduce_max<8>(largest[r]);
      float correction = exp2_fast(before - largest[r]);
      sum[r] *= correction;
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        float weight = exp2_fast(scores[r][j] - largest[r]);
        sum[r] += weight;
        if constexpr (P::dropout > 0) {
          int at = begin + lane + 8 * j;
          if (!seed.keeps(seed.number_row(tile.slot, tile.head, t) + at))
            weight = 0;
        }
        weights[(ownRow + r) * kWeightPitch + lane + 8 * j] = weight * valueScale[j];
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          output[r][part][i] *= correction;
    }
    // A query's threads are of one warp.
    __syncwarp();

    for (int j = 0; j < kKeys; j += 4) {
      Vector<float, 4> weight[kOwn];
#pragma unroll
      for (int r = 0; r < kOwn; ++r)
        weight[r] = load<float, 4>(weights + (ownRow + r) * kWeightPitch + j);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          Vector<float, 4> v = load<float, 4>(values + (j + i) * kPitch + 4 * lane + 32 * part);
#pragma unroll
          for (int r = 0; r < kOwn; ++r)
#pragma unroll
            for (int c = 0; c < 4; ++c)
              output[r][part][c] = fma(weight[r][i], v[c], output[r][part][c]);
        }
    }
  }

#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const int t = tile.row + ownRow + r;
    const float total = warp_reduce_sum<8>(sum[r]), factor = output_factor<P>(total);
    if (t >= P::length)
      continue;
    typename P::Result *to =
        result +
        ((static_cast<long long>(tile.slot) * P::length + t) * P::heads + tile.head) * P::headSize;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (int column = 4 * lane + 32 * part + i; column < P::headSize)
          to[column] = from_float<typename P::Result>(output[r][part][i] * factor);
    if constexpr (P::hasLogsumexp)
      if (lane == 0)
        write_logsumexp<P>(logsumexp, tile.slot, t, tile.head, largest[r], total);
  }
}

//===----------------------------------------------------------------------===//
// With matrix instructions
//===----------------------------------------------------------------------===//

template <class P>
SINTER_DEVICE void forward_matrices(const typename P::Query *query, const typename P::Element *key,
                                    const typename P::Element *value, const int *starts,
                                    const int *first, const float *slopes, const float *keyScales,
                                    const float *valueScales, const int *seeds,
                                    typename P::Result *result, float *logsumexp) {
  // What is multiplied, and what is copied.
  using T = typename P::Query;
  using Stored = typename P::Element;
  constexpr bool kWidens = kIsByte<Stored>;
  using Result = typename P::Result;
  constexpr int kRows = attention_forward_rows<P>(), kKeys = forward_keys<P>();
  constexpr int kThreads = attention_forward_block<P>();
  constexpr int kPitch = pitch_of(P::headSize), kSteps = P::headSize / 16;
  // A warp's queries are kTiles times 16; a thread has two of each 16: lane / 4 and 8 further.
  constexpr int kTiles = forward_is_tall<P>() ? 2 : 1, kWarpRows = 16 * kTiles;
  constexpr int kScores = kKeys / 8, kParts = P::headSize / 8;
  // Registers that hold the queries for good are worth it where there are enough.
  constexpr bool kKeepsQueries = kTiles * kSteps <= 8 && P::dropout == 0;
  // Without them, steps need not be unrolled, which spares the registers of their addresses. The
  // compiler has enough for those of 32 queries, but from compute capability 10.0 on not for more
  // than four steps.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  constexpr bool kUnrollsAll = kKeepsQueries || (kTiles > 1 && kSteps <= 4);
#else
  constexpr bool kUnrollsAll = kKeepsQueries || kTiles > 1;
#endif
  constexpr int kUnrolledSteps = kUnrollsAll ? kSteps : 4;

  T *queries = dynamic_shared<T>(), *stages = queries + kRows * kPitch;
  const QueryTile<P, kRows> tile(starts);
  const int lane = lane_index(), ownRow = warp_index() * kWarpRows;
  const float slope = slope_of<P>(slopes, tile.head);
  const Seed<P> seed(seeds);
  const Keys range = tile.template keys<kThreads>(first);
  // Where elements are widened, what is copied stands behind one widened tile, in no more memory
  // than a second one would take, with the scales of that tile's keys and values at its end.
  constexpr int kStoredPitch = kWidens ? P::headSize : kPitch;
  Stored *stored = reinterpret_cast<Stored *>(stages + (kWidens ? 2 * kKeys * kPitch : 0));
  float *scales = reinterpret_cast<float *>(stored + 4 * kKeys * P::headSize);
  float nextScale = 1;
  auto copy_keys = [&](int begin, int stage) {
    Stored *to = stored + stage * 2 * kKeys * kStoredPitch;
    const int count = min_of(kKeys, range.end - begin);
    const Stored *keys = key_at<P>(key, tile.slot, begin, tile.keyHead);
    const Stored *values = value_at<P>(value, tile.slot, begin, tile.keyHead);
    if constexpr (kWidens) {
      static_assert(kThreads >= 2 * kKeys, "a thread has one scale");
      copy_bytes_async<kKeys, P::headSize, kThreads>(to, keys, P::keyRowStride, count);
      copy_bytes_async<kKeys, P::headSize, kThreads>(to + kKeys * kStoredPitch, values,
                                                     P::valueRowStride, count);
      const int j = begin + min_of(static_cast<int>(threadIdx.x) % kKeys, count - 1);
      nextScale =
          scale_of<P>(threadIdx.x < kKeys ? keyScales : valueScales, tile.slot, j, tile.keyHead);
    } else {
      copy_rows_async<kKeys, P::headSize, kThreads>(to, keys, P::keyRowStride, count);
      copy_rows_async<kKeys, P::headSize, kThreads>(to + kKeys * kStoredPitch, values,
                                                    P::valueRowStride, count);
    }
  };

  Keys visible[kTiles][2];
  float largest[kTiles][2], sum[kTiles][2];
  float output[kTiles][kParts][4] = {};
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      visible[m][half] = tile.keys_of(first, ownRow + m * 16 + half * 8 + lane / 4);
      largest[m][half] = kNothing;
      sum[m][half] = 0;
    }

  const int begin = range.begin / kKeys * kKeys;
  copy_rows_async<kRows, P::headSize, kThreads>(
      queries, query_at<P>(query, tile.slot, tile.row, tile.head), P::queryRowStride, tile.rows);
  if (begin < range.end)
    copy_keys(begin, 0);
  cp_async_commit();

  unsigned kept[kKeepsQueries ? kTiles : 1][kKeepsQueries ? kSteps : 1][4];
  for (int at = begin, stage = 0; at < range.end; at += kKeys, stage ^= 1) {
    // This tile is there, and everybody is done with the one before.
    cp_async_wait<0>();
    __syncthreads();
    if constexpr (kKeepsQueries)
      if (at == begin)
#pragma unroll
        for (int m = 0; m < kTiles; ++m)
#pragma unroll
          for (int step = 0; step < kSteps; ++step)
            load_rows_as_a<kPitch>(kept[m][step], queries + (ownRow + m * 16) * kPitch + step * 16,
                                   lane);
    if constexpr (kWidens) {
      widen_bytes<2 * kKeys, P::headSize, kThreads>(stages,
                                                    stored + stage * 2 * kKeys * kStoredPitch);
      if (threadIdx.x < 2 * kKeys)
        scales[threadIdx.x] = nextScale;
    }
    if (at + kKeys < range.end)
      copy_keys(at + kKeys, stage ^ 1);
    cp_async_commit();
    if constexpr (kWidens)
      __syncthreads();
    // What all of the warp's queries see is not masked; what none of them sees, not computed.
    bool seen = false, crossed = false;
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        seen |= visible[m][half].begin < at + kKeys && visible[m][half].end > at;
        crossed |= visible[m][half].begin > at || visible[m][half].end < at + kKeys;
      }
    if (!__any_sync(0xffffffffu, seen))
      continue;
    const T *keys = stages + (kWidens ? 0 : stage) * 2 * kKeys * kPitch;
    const T *values = keys + kKeys * kPitch;

    float scores[kTiles][kScores][4] = {};
#pragma unroll(kUnrolledSteps)
    for (int step = 0; step < kSteps; ++step) {
      unsigned q[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
        if constexpr (kKeepsQueries) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            q[m][i] = kept[m][step][i];
        } else {
          load_rows_as_a<kPitch>(q[m], queries + (ownRow + m * 16) * kPitch + step * 16, lane);
        }
#pragma unroll
      for (int j = 0; j < kScores; j += 2) {
        unsigned k[4];
        load_rows_as_b<kPitch>(k, keys + j * 8 * kPitch + step * 16, lane);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          mma_m16n8k16<T>(scores[m][j], q[m], k[0], k[1]);
          mma_m16n8k16<T>(scores[m][j + 1], q[m], k[2], k[3]);
        }
      }
    }

    auto key_of = [&](int j, int i) { return at + j * 8 + lane % 4 * 2 + i % 2; };
    if constexpr (kWidens)
      for_each_element<kTiles, kScores>(
          [&](int m, int j, int i) { scores[m][j][i] *= scales[key_of(j, i) - at]; });
    if constexpr (kIsShaped<P>)
      for_each_element<kTiles, kScores>([&](int m, int j, int i) {
        const int t = tile.row + ownRow + m * 16 + i / 2 * 8 + lane / 4;
        scores[m][j][i] = shape_score<P>(scores[m][j][i], slope, tile.start + t - key_of(j, i));
      });
    if (__any_sync(0xffffffffu, crossed))
      for_each_element<kTiles, kScores>([&](int m, int j, int i) {
        const Keys own = visible[m][i / 2];
        if (key_of(j, i) < own.begin || key_of(j, i) >= own.end)
          scores[m][j][i] = -kInfinity;
      });

#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      unsigned keptBits = 0;
      if constexpr (P::dropout > 0)
        keptBits = seed.template keep_weights<kScores>([&](int j, int i) {
          const int t = tile.row + ownRow + m * 16 + i / 2 * 8 + lane / 4;
          return seed.number_row(tile.slot, tile.head, t) + at + j * 8 + lane % 4 * 2 + i % 2;
        });
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float before = largest[m][half];
        float top = -kInfinity;
#pragma unroll
        for (int j = 0; j < kScores; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            top = maxnum(top, scores[m][j][half * 2 + i]);
        largest[m][half] = maxnum(before, warp_reduce_max<4>(top) * kFactor<P>);
        const float correction = exp2_fast(before - largest[m][half]);
        sum[m][half] *= correction;
#pragma unroll
        for (int j = 0; j < kScores; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &score = scores[m][j][half * 2 + i];
            score = exp2_fast(fma(score, kFactor<P>, -largest[m][half]));
            sum[m][half] += score;
            if constexpr (P::dropout > 0)
              if (!(keptBits >> (4 * j + half * 2 + i) & 1))
                score = 0;
            if constexpr (kWidens)
              score *= scales[kKeys + key_of(j, i) - at];
          }
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          output[m][part][half * 2] *= correction;
          output[m][part][half * 2 + 1] *= correction;
        }
      }
    }

#pragma unroll
    for (int j = 0; j < kScores; j += 2) {
      unsigned p[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
        pack_as_a<T>(p[m], scores[m][j], scores[m][j + 1]);
#pragma unroll
      for (int part = 0; part < kParts; part += 2) {
        unsigned v[4];
        load_columns_as_b<kPitch>(v, values + j * 8 * kPitch + part * 8, lane);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          mma_m16n8k16<T>(output[m][part], p[m], v[0], v[1]);
          mma_m16n8k16<T>(output[m][part + 1], p[m], v[2], v[3]);
        }
      }
    }
  }

  // The memory of a warp's queries takes its results; its copies are over, whatever was seen.
  cp_async_wait<0>();
  __syncthreads();
  Result *results = reinterpret_cast<Result *>(queries) + ownRow * kPitch;
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = m * 16 + half * 8 + lane / 4, t = tile.row + ownRow + r;
      const float total = warp_reduce_sum<4>(sum[m][half]), factor = output_factor<P>(total);
      if constexpr (P::hasLogsumexp)
        if (lane % 4 == 0 && t < P::length)
          write_logsumexp<P>(logsumexp, tile.slot, t, tile.head, largest[m][half], total);
      long long to = ((static_cast<long long>(tile.slot) * P::length + t) * P::heads + tile.head) *
                     P::headSize;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const int column = part * 8 + lane % 4 * 2;
        float low = output[m][part][half * 2] * factor;
        float high = output[m][part][half * 2 + 1] * factor;
        if constexpr (kIsNarrow<Result>)
          *reinterpret_cast<unsigned *>(results + r * kPitch + column) = pack<Result>(low, high);
        else if (t < P::length)
          store(result + to + column, Vector<Result, 2>{{low, high}});
      }
    }
  if constexpr (kIsNarrow<Result>) {
    __syncwarp();
    constexpr int kChunks = P::headSize / 8;
    for (int chunk = lane; chunk < kWarpRows * kChunks; chunk += kWarp) {
      const int r = chunk / kChunks, column = chunk % kChunks * 8;
      const long long t = tile.row + ownRow + r;
      if (t < P::length)
        store(result +
                  ((static_cast<long long>(tile.slot) * P::length + t) * P::heads + tile.head) *
                      P::headSize +
                  column,
              load<Result, 8>(results + r * kPitch + column));
    }
  }
}

} // namespace attention

template <class P>
SINTER_DEVICE void attention_forward(const typename P::Query *query, const typename P::Element *key,
                                     const typename P::Element *value, const int *start,
                                     const int *first, const float *slopes, const float *keyScales,
                                     const float *valueScales, const int *seed,
                                     typename P::Result *result, float *logsumexp) {
  static_assert(P::scale > 0, "the largest product has the largest score");
  static_assert(P::hasScales == kIsByte<typename P::Element>, "bytes, and only they, have scales");
  if constexpr (attention::uses_matrices_once_widened<P>())
    attention::forward_matrices<P>(query, key, value, start, first, slopes, keyScales, valueScales,
                                   seed, result, logsumexp);
  else
    attention::forward_plain<P>(query, key, value, start, first, slopes, keyScales, valueScales,
                                seed, result, logsumexp);
}

} // namespace sinter
