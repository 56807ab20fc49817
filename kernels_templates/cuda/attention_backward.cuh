//===- attention_backward.cuh - Gradients of q, k and v ---------*- C++ -*-===//
//
// sinter.attention_grad in two kernels, without atomics, so that the bits are the same in every
// run. Both compute the weights P again from logsumexp, for tiles of queries and keys, and
//
//   dS = P (gradient V^T - delta) (1 - (capped / softcap)^2)
//
//   attention_backward_keys     a block has a tile of keys and their values, and the queries of all
//                               the heads that read them pass by:
//                               dV = P^T gradient, dK = scale dS^T Q
//   attention_backward_queries  a block has a tile of queries, and the keys that they see pass by:
//                               dQ = scale dS K
//
// (Dao, "FlashAttention-2", 2023, algorithm 2, which adds to dQ from all blocks instead.) The two
// are one algorithm for what stays and what passes: rows A1 (k or q) and A2 (v or gradient) stay,
// B1 (q or k) and B2 (gradient or v) pass, and with S = A1 B1^T and D = A2 B2^T, transposed for
// keys, the first result is dS B1 and the second, for keys, P B2.
//
// Versions:
//
//   plain     any element types, any sizes up to 256; as in attention_forward.cuh: f32 tiles in
//             shared memory, eight threads to a row that stays.
//   matrices  bf16 and f16, head sizes that are a multiple of 16. A warp has 16 of the rows that
//             stay, and P and dS are laid out in its registers as the left sides of the second
//             products. The next tile is copied (cp.async) while one is computed with. Above 128
//             columns two warps share rows, and each has half of the results' columns: they compute
//             P and dS twice, since one thread's registers do not hold both results.
//
// Parameters: attention.cuh's, and
//   Gradient  element type of gradient, [batch, length, heads, headSize], dense
//   Result    element type of the results, dense, of q's shape or k's
//
// Arguments: query, key, value, gradient, logsumexp (f32 [batch, length, heads]), delta (the same),
// start, first, slopes, seed, and dK and dV, or dQ.
//
// Launch: attention_backward_<keys|queries>_grid<P>() blocks of .._block<P>() threads with
// .._shared<P>() bytes.
//
//   matrices = attention_forward's, and Gradient is Element
//   rows     = matrices ? 64 : headSize > 64 ? 32 : 64
//   passing  = matrices ? (headSize > 64 ? 32 : 64) : headSize > 128 ? 16 : 32
//   grid     = keys:    batch * keyHeads * ceil(capacity / rows)
//              queries: batch * heads * ceil(length / rows)
//   block    = keys && matrices && headSize > 128 ? 256 : 128
//   info     = 16 (keys ? 2 passing : rows)
//   shared   = matrices ? info + 2 (2 rows + 4 passing) (headSize + 8)
//                       : info + 4 ((2 rows + 2 passing) (columns + 4) + 2 rows (passing + 4))
//                         with columns = headSize rounded up to 32
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"
#include "tiles.cuh"

namespace sinter {
namespace attention {

template <class P> SINTER_CONSTEXPR bool backward_uses_matrices() {
  return uses_matrices<P>() && kIsSame<typename P::Gradient, typename P::Element>;
}
/// Rows that stay with a block.
template <class P> SINTER_CONSTEXPR int backward_rows() {
  return !backward_uses_matrices<P>() && P::headSize > 64 ? 32 : 64;
}
/// Rows of a tile that passes by.
template <class P> SINTER_CONSTEXPR int backward_passing() {
  if (backward_uses_matrices<P>())
    return P::headSize > 64 ? 32 : 64;
  return P::headSize > 128 ? 16 : 32;
}
/// Warps that share rows.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_splits() {
  return KEYS && backward_uses_matrices<P>() && P::headSize > 128 ? 2 : 1;
}
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_block() {
  return 128 * backward_splits<P, KEYS>();
}

/// What is known of a query, beside its row.
struct alignas(16) QueryInfo {
  float logsumexp; // in units of log 2
  float delta;
  Keys keys; // that it sees
};

template <class P, bool KEYS> SINTER_CONSTEXPR int backward_shared() {
  constexpr int kRows = backward_rows<P>(), kPassing = backward_passing<P>();
  constexpr int kInfo = 16 * (KEYS ? 2 * kPassing : kRows);
  if (backward_uses_matrices<P>())
    return kInfo + 2 * (2 * kRows + 4 * kPassing) * pitch_of(P::headSize);
  return kInfo + 4 * ((2 * kRows + 2 * kPassing) * float_pitch_of(round_up(P::headSize, 32)) +
                      2 * kRows * float_pitch_of(kPassing));
}

/// The operands of both kernels.
template <class P> struct BackwardOperands {
  const typename P::Query *query;
  const typename P::Element *key, *value;
  const typename P::Gradient *gradient;
  const float *logsumexp, *delta;
  const int *starts, *first;
  const float *slopes;
  const int *seeds;

  SINTER_DEVICE const typename P::Gradient *gradient_at(int slot, int t, int head) const {
    return gradient +
           ((static_cast<long long>(slot) * P::length + t) * P::heads + head) * P::headSize;
  }

  /// Copies rows of queries and their gradients, or of keys and their values, to tiles of ROWS
  /// rows.
  template <int ROWS, int THREADS, class T>
  SINTER_DEVICE void copy_queries(T *queries, T *gradients, int slot, int t, int head,
                                  int count) const {
    copy<ROWS, THREADS>(queries, query_at<P>(query, slot, t, head), P::queryRowStride, count);
    copy<ROWS, THREADS>(gradients, gradient_at(slot, t, head),
                        static_cast<long long>(P::heads) * P::headSize, count);
  }
  template <int ROWS, int THREADS, class T>
  SINTER_DEVICE void copy_keys(T *keys, T *values, int slot, int j, int keyHead, int count) const {
    copy<ROWS, THREADS>(keys, key_at<P>(key, slot, j, keyHead), P::keyRowStride, count);
    copy<ROWS, THREADS>(values, value_at<P>(value, slot, j, keyHead), P::valueRowStride, count);
  }

  /// Nothing is seen by queries beyond the last.
  SINTER_DEVICE QueryInfo info(int slot, int start, int t, int head) const {
    if (t >= P::length)
      return {0, 0, {0, 0}};
    const long long at = (static_cast<long long>(slot) * P::length + t) * P::heads + head;
    return {logsumexp[at] * kLog2E, delta[at],
            visible_keys<P>(start + t, first_of<P>(first, slot, t))};
  }

private:
  template <int ROWS, int THREADS, class To, class From>
  SINTER_DEVICE void copy(To *to, const From *from, long long stride, int count) const {
    constexpr bool kAligned =
        has_aligned_rows<P>() && P::headSize % kVector<typename P::Gradient> == 0;
    if constexpr (backward_uses_matrices<P>())
      copy_tile_async<ROWS, P::headSize, THREADS>(to, from, stride, count);
    else
      copy_tile_as_float<ROWS, round_up(P::headSize, 32), THREADS, kAligned>(to, from, stride,
                                                                             count, P::headSize);
  }
};

/// What stays with a block and what passes by, tile after tile: rows [row, row + ROWS) of keys and
/// queries [begin, end) of the heads that read them, from `head` on, or of queries and keys
/// [begin, end).
template <class P, bool KEYS, int ROWS, int PASSING> struct BackwardTile {
  int slot, head, keyHead, row, rows, start, begin, end, tiles;

  template <int THREADS> SINTER_DEVICE void find(const BackwardOperands<P> &operands) {
    if constexpr (KEYS) {
      const int heads = blockIdx.x % (P::batch * P::keyHeads);
      slot = heads / P::keyHeads;
      keyHead = heads % P::keyHeads;
      head = keyHead * kGroup<P>;
      // The first keys are seen by the most queries: they go first.
      row = blockIdx.x / (P::batch * P::keyHeads) * ROWS;
      rows = min_of(ROWS, P::capacity - row);
      start = start_of<P>(operands.starts, slot);
      begin = 0;
      end = P::length;
      if constexpr (P::causal)
        begin = max_of(0, row - start);
      if constexpr (P::window > 0)
        end = min_of(end, row + rows - 1 + P::window - start);
    } else {
      const QueryTile<P, ROWS> tile(operands.starts);
      slot = tile.slot;
      head = tile.head;
      keyHead = tile.keyHead;
      row = tile.row;
      rows = tile.rows;
      start = tile.start;
      const Keys keys = tile.template keys<THREADS>(operands.first);
      begin = keys.begin;
      end = keys.end;
    }
    begin = begin / PASSING * PASSING;
    tiles = max_of(0, static_cast<int>(divide_up(end - begin, PASSING)));
  }

  /// Tiles that pass by.
  SINTER_DEVICE int count() const { return KEYS ? tiles * kGroup<P> : tiles; }
  SINTER_DEVICE int head_of(int item) const { return KEYS ? head + item / tiles : head; }
  SINTER_DEVICE int first_of_tile(int item) const {
    return begin + (KEYS ? item % tiles : item) * PASSING;
  }
};

/// From a score and `D`, how the score changes and what the value's weight is.
template <class P>
SINTER_DEVICE void differentiate_score(float &score, float &product, const QueryInfo &info,
                                       float slope, int position, int key, bool isKept) {
  float derivative;
  const float shaped = shape_score<P>(score, slope, position - key, derivative);
  const bool isSeen = key >= info.keys.begin && key < info.keys.end;
  const float weight = isSeen ? exp2_fast(fma(shaped, kFactor<P>, -info.logsumexp)) : 0.0f;
  const float factor = P::dropout > 0 ? (isKept ? kShare<P> : 0.0f) : 1.0f;
  product = weight * (product * factor - info.delta) * derivative;
  score = weight * factor;
}

//===----------------------------------------------------------------------===//
// Plain
//===----------------------------------------------------------------------===//

template <class P, bool KEYS>
SINTER_DEVICE void backward_plain(const BackwardOperands<P> &operands,
                                  typename P::Result *firstResult,
                                  typename P::Result *secondResult) {
  constexpr int kRows = backward_rows<P>(), kPassing = backward_passing<P>(), kThreads = 128;
  constexpr int kColumns = round_up(P::headSize, 32), kPitch = float_pitch_of(kColumns);
  constexpr int kWeightPitch = float_pitch_of(kPassing);
  constexpr int kOwn = kRows / 16, kScores = kPassing / 8, kParts = kColumns / 32;

  QueryInfo *infos = dynamic_shared<QueryInfo>();
  float *stay1 = reinterpret_cast<float *>(infos + (KEYS ? 2 * kPassing : kRows));
  float *stay2 = stay1 + kRows * kPitch;
  float *pass1 = stay2 + kRows * kPitch, *pass2 = pass1 + kPassing * kPitch;
  float *changes = pass2 + kPassing * kPitch, *weights = changes + kRows * kWeightPitch;

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = threadIdx.x % 8, ownRow = threadIdx.x / 8 * kOwn;
  const uint2 seed = seed_of<P>(operands.seeds);

  if constexpr (KEYS) {
    operands.template copy_keys<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.keyHead,
                                                 tile.rows);
  } else {
    operands.template copy_queries<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.head,
                                                    tile.rows);
    if (threadIdx.x < kRows)
      infos[threadIdx.x] = operands.info(tile.slot, tile.start, tile.row + threadIdx.x, tile.head);
  }

  Vector<float, 4> first[kOwn][kParts] = {}, second[KEYS ? kOwn : 1][KEYS ? kParts : 1] = {};
  for (int item = 0; item < tile.count(); ++item) {
    const int head = tile.head_of(item), at = tile.first_of_tile(item);
    const float slope = slope_of<P>(operands.slopes, head);
    const int count = min_of(kPassing, tile.end - at);
    // Everybody is done with the tile before.
    __syncthreads();
    if constexpr (KEYS) {
      operands.template copy_queries<kPassing, kThreads>(pass1, pass2, tile.slot, at, head, count);
      if (threadIdx.x < kPassing)
        infos[threadIdx.x] = operands.info(tile.slot, tile.start, at + threadIdx.x, head);
    } else {
      operands.template copy_keys<kPassing, kThreads>(pass1, pass2, tile.slot, at, tile.keyHead,
                                                      count);
    }
    __syncthreads();

    float scores[kOwn][kScores] = {}, products[kOwn][kScores] = {};
    for (int d = 0; d < P::headSize; d += 4) {
      Vector<float, 4> b1[kScores], b2[kScores];
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        b1[j] = load<float, 4>(pass1 + (lane + 8 * j) * kPitch + d);
        b2[j] = load<float, 4>(pass2 + (lane + 8 * j) * kPitch + d);
      }
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        const Vector<float, 4> a1 = load<float, 4>(stay1 + (ownRow + r) * kPitch + d);
        const Vector<float, 4> a2 = load<float, 4>(stay2 + (ownRow + r) * kPitch + d);
#pragma unroll
        for (int j = 0; j < kScores; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            scores[r][j] = fma(a1[i], b1[j][i], scores[r][j]);
            products[r][j] = fma(a2[i], b2[j][i], products[r][j]);
          }
      }
    }
#pragma unroll
    for (int r = 0; r < kOwn; ++r)
#pragma unroll
      for (int j = 0; j < kScores; ++j) {
        const int query = KEYS ? lane + 8 * j : ownRow + r;
        const int t = (KEYS ? at : tile.row) + query;
        const int key = KEYS ? tile.row + ownRow + r : at + lane + 8 * j;
        bool isKept = true;
        if constexpr (P::dropout > 0)
          isKept = keeps<P>(weight_number<P>(tile.slot, head, t) + key, seed);
        differentiate_score<P>(scores[r][j], products[r][j], infos[query], slope, tile.start + t,
                               key, isKept);
        changes[(ownRow + r) * kWeightPitch + lane + 8 * j] = products[r][j];
        if constexpr (KEYS)
          weights[(ownRow + r) * kWeightPitch + lane + 8 * j] = scores[r][j];
      }
    // A row's threads are of one warp.
    __syncwarp();

    for (int j = 0; j < kPassing; ++j) {
      float change[kOwn], weight[kOwn];
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        change[r] = changes[(ownRow + r) * kWeightPitch + j];
        if constexpr (KEYS)
          weight[r] = weights[(ownRow + r) * kWeightPitch + j];
      }
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const Vector<float, 4> b1 = load<float, 4>(pass1 + j * kPitch + 4 * lane + 32 * part);
#pragma unroll
        for (int r = 0; r < kOwn; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c)
            first[r][part][c] = fma(change[r], b1[c], first[r][part][c]);
        if constexpr (KEYS) {
          const Vector<float, 4> b2 = load<float, 4>(pass2 + j * kPitch + 4 * lane + 32 * part);
#pragma unroll
          for (int r = 0; r < kOwn; ++r)
#pragma unroll
            for (int c = 0; c < 4; ++c)
              second[r][part][c] = fma(weight[r], b2[c], second[r][part][c]);
        }
      }
    }
  }

  constexpr int kHeads = KEYS ? P::keyHeads : P::heads;
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    if (ownRow + r >= tile.rows)
      break;
    const long long to = ((static_cast<long long>(tile.slot) * (KEYS ? P::capacity : P::length) +
                           tile.row + ownRow + r) *
                              kHeads +
                          (KEYS ? tile.keyHead : tile.head)) *
                         P::headSize;
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (int column = 4 * lane + 32 * part + i; column < P::headSize) {
          firstResult[to + column] =
              from_float<typename P::Result>(first[r][part][i] * static_cast<float>(P::scale));
          if constexpr (KEYS)
            secondResult[to + column] = from_float<typename P::Result>(second[r][part][i]);
        }
  }
}

//===----------------------------------------------------------------------===//
// With matrix instructions
//===----------------------------------------------------------------------===//

template <class P, bool KEYS>
SINTER_DEVICE void backward_matrices(const BackwardOperands<P> &operands,
                                     typename P::Result *firstResult,
                                     typename P::Result *secondResult) {
  using T = typename P::Element;
  using Result = typename P::Result;
  constexpr int kRows = backward_rows<P>(), kPassing = backward_passing<P>();
  constexpr int kThreads = backward_block<P, KEYS>(), kSplits = backward_splits<P, KEYS>();
  constexpr int kPitch = pitch_of(P::headSize), kSteps = P::headSize / 16;
  // A warp's columns of the results, 16 at a time; the last of its parts may not exist.
  constexpr int kScores = kPassing / 8, kParts = static_cast<int>(divide_up(kSteps, kSplits));

  QueryInfo *infos = dynamic_shared<QueryInfo>();
  T *stay1 = reinterpret_cast<T *>(infos + (KEYS ? 2 * kPassing : kRows));
  T *stay2 = stay1 + kRows * kPitch, *stages = stay2 + kRows * kPitch;

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = lane_index(), ownRow = warp_index() / kSplits * 16;
  const int firstPart = warp_index() % kSplits * kParts;
  const uint2 seed = seed_of<P>(operands.seeds);

  auto copy_tile = [&](int item, int stage) {
    T *to = stages + stage * 2 * kPassing * kPitch;
    const int at = tile.first_of_tile(item), count = min_of(kPassing, tile.end - at);
    if constexpr (KEYS)
      operands.template copy_queries<kPassing, kThreads>(to, to + kPassing * kPitch, tile.slot, at,
                                                         tile.head_of(item), count);
    else
      operands.template copy_keys<kPassing, kThreads>(to, to + kPassing * kPitch, tile.slot, at,
                                                      tile.keyHead, count);
  };
  auto read_info = [&](int item) {
    return operands.info(tile.slot, tile.start, tile.first_of_tile(item) + threadIdx.x,
                         tile.head_of(item));
  };

  const int count = tile.count();
  if constexpr (KEYS) {
    operands.template copy_keys<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.keyHead,
                                                 tile.rows);
    if (count > 0 && threadIdx.x < kPassing)
      infos[threadIdx.x] = read_info(0);
  } else {
    operands.template copy_queries<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.head,
                                                    tile.rows);
    if (threadIdx.x < kRows)
      infos[threadIdx.x] = operands.info(tile.slot, tile.start, tile.row + threadIdx.x, tile.head);
  }
  if (count > 0)
    copy_tile(0, 0);
  cp_async_commit();

  float first[kParts][2][4] = {}, second[KEYS ? kParts : 1][2][4] = {};
  for (int item = 0, stage = 0; item < count; ++item, stage ^= 1) {
    const int head = tile.head_of(item), at = tile.first_of_tile(item);
    const float slope = slope_of<P>(operands.slopes, head);
    // This tile is there, and everybody is done with the one before.
    cp_async_wait<0>();
    __syncthreads();
    if (item + 1 < count)
      copy_tile(item + 1, stage ^ 1);
    cp_async_commit();
    QueryInfo next = {};
    if constexpr (KEYS)
      if (item + 1 < count && threadIdx.x < kPassing)
        next = read_info(item + 1);
    auto keep_info = [&] {
      if constexpr (KEYS)
        if (threadIdx.x < kPassing)
          infos[(stage ^ 1) * kPassing + threadIdx.x] = next;
    };
    if constexpr (KEYS && P::hasFirst) {
      // Queries of later documents pass by unseen.
      bool sees = false;
      for (int i = lane; i < kPassing; i += kWarp) {
        const Keys keys = infos[stage * kPassing + i].keys;
        sees |= keys.begin < tile.row + tile.rows && keys.end > tile.row;
      }
      if (!__any_sync(0xffffffffu, sees)) {
        keep_info();
        continue;
      }
    }
    const T *pass1 = stages + stage * 2 * kPassing * kPitch, *pass2 = pass1 + kPassing * kPitch;

    float scores[kScores][4] = {}, products[kScores][4] = {};
#pragma unroll 2
    for (int step = 0; step < kSteps; ++step) {
      unsigned a1[4], a2[4];
      load_rows_as_a<kPitch>(a1, stay1 + ownRow * kPitch + step * 16, lane);
      load_rows_as_a<kPitch>(a2, stay2 + ownRow * kPitch + step * 16, lane);
#pragma unroll
      for (int j = 0; j < kScores; j += 2) {
        unsigned b1[4], b2[4];
        load_rows_as_b<kPitch>(b1, pass1 + j * 8 * kPitch + step * 16, lane);
        load_rows_as_b<kPitch>(b2, pass2 + j * 8 * kPitch + step * 16, lane);
        mma_m16n8k16<T>(scores[j], a1, b1[0], b1[1]);
        mma_m16n8k16<T>(scores[j + 1], a1, b1[2], b1[3]);
        mma_m16n8k16<T>(products[j], a2, b2[0], b2[1]);
        mma_m16n8k16<T>(products[j + 1], a2, b2[2], b2[3]);
      }
    }

    // Rows that stay, and those that pass by, of element i of product j.
    auto row_of = [&](int i) { return ownRow + i / 2 * 8 + lane / 4; };
    auto passing_of = [&](int j, int i) { return j * 8 + lane % 4 * 2 + i % 2; };
    unsigned kept = 0;
    if constexpr (P::dropout > 0)
      kept = kept_weights<P, kScores>(seed, [&](int j, int i) {
        const int stays = tile.row + row_of(i), passes = at + passing_of(j, i);
        return weight_number<P>(tile.slot, head, KEYS ? passes : stays) + (KEYS ? stays : passes);
      });
#pragma unroll
    for (int j = 0; j < kScores; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int stays = tile.row + row_of(i), passes = at + passing_of(j, i);
        const QueryInfo info = infos[KEYS ? stage * kPassing + passing_of(j, i) : row_of(i)];
        differentiate_score<P>(scores[j][i], products[j][i], info, slope,
                               tile.start + (KEYS ? passes : stays), KEYS ? stays : passes,
                               kept >> (4 * j + i) & 1);
      }

#pragma unroll
    for (int j = 0; j < kScores; j += 2) {
      unsigned change[4], weight[4];
      pack_as_a<T>(change, products[j], products[j + 1]);
      if constexpr (KEYS)
        pack_as_a<T>(weight, scores[j], scores[j + 1]);
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        if (kSteps % kSplits != 0 && firstPart + part >= kSteps)
          break;
        unsigned b[4];
        load_columns_as_b<kPitch>(b, pass1 + j * 8 * kPitch + (firstPart + part) * 16, lane);
        mma_m16n8k16<T>(first[part][0], change, b[0], b[1]);
        mma_m16n8k16<T>(first[part][1], change, b[2], b[3]);
        if constexpr (KEYS) {
          load_columns_as_b<kPitch>(b, pass2 + j * 8 * kPitch + (firstPart + part) * 16, lane);
          mma_m16n8k16<T>(second[part][0], weight, b[0], b[1]);
          mma_m16n8k16<T>(second[part][1], weight, b[2], b[3]);
        }
      }
    }
    keep_info();
  }
  cp_async_wait<0>();

  constexpr int kHeads = KEYS ? P::keyHeads : P::heads;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = ownRow + half * 8 + lane / 4;
    if (r >= tile.rows)
      break;
    const long long to =
        ((static_cast<long long>(tile.slot) * (KEYS ? P::capacity : P::length) + tile.row + r) *
             kHeads +
         (KEYS ? tile.keyHead : tile.head)) *
        P::headSize;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (kSteps % kSplits != 0 && firstPart + part >= kSteps)
        break;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const long long column = to + (firstPart + part) * 16 + i * 8 + lane % 4 * 2;
        auto write = [&](Result *result, const float (&values)[4], float factor) {
          Vector<Result, 2> pair;
          pair[0] = from_float<Result>(values[half * 2] * factor);
          pair[1] = from_float<Result>(values[half * 2 + 1] * factor);
          store(result + column, pair);
        };
        write(firstResult, first[part][i], static_cast<float>(P::scale));
        if constexpr (KEYS)
          write(secondResult, second[part][i], 1.0f);
      }
    }
  }
}

template <class P, bool KEYS>
SINTER_DEVICE void backward(const BackwardOperands<P> &operands, typename P::Result *firstResult,
                            typename P::Result *secondResult) {
  if constexpr (backward_uses_matrices<P>())
    backward_matrices<P, KEYS>(operands, firstResult, secondResult);
  else
    backward_plain<P, KEYS>(operands, firstResult, secondResult);
}

} // namespace attention

template <class P> SINTER_CONSTEXPR int attention_backward_keys_block() {
  return attention::backward_block<P, true>();
}
template <class P> SINTER_CONSTEXPR long long attention_backward_keys_grid() {
  return P::batch * P::keyHeads * divide_up(P::capacity, attention::backward_rows<P>());
}
template <class P> SINTER_CONSTEXPR int attention_backward_keys_shared() {
  return attention::backward_shared<P, true>();
}

template <class P>
SINTER_DEVICE void
attention_backward_keys(const typename P::Query *query, const typename P::Element *key,
                        const typename P::Element *value, const typename P::Gradient *gradient,
                        const float *logsumexp, const float *delta, const int *start,
                        const int *first, const float *slopes, const int *seed,
                        typename P::Result *keyGradient, typename P::Result *valueGradient) {
  attention::backward<P, true>(
      {query, key, value, gradient, logsumexp, delta, start, first, slopes, seed}, keyGradient,
      valueGradient);
}

template <class P> SINTER_CONSTEXPR int attention_backward_queries_block() {
  return attention::backward_block<P, false>();
}
template <class P> SINTER_CONSTEXPR long long attention_backward_queries_grid() {
  return P::batch * P::heads * divide_up(P::length, attention::backward_rows<P>());
}
template <class P> SINTER_CONSTEXPR int attention_backward_queries_shared() {
  return attention::backward_shared<P, false>();
}

template <class P>
SINTER_DEVICE void
attention_backward_queries(const typename P::Query *query, const typename P::Element *key,
                           const typename P::Element *value, const typename P::Gradient *gradient,
                           const float *logsumexp, const float *delta, const int *start,
                           const int *first, const float *slopes, const int *seed,
                           typename P::Result *queryGradient) {
  attention::backward<P, false>(
      {query, key, value, gradient, logsumexp, delta, start, first, slopes, seed}, queryGradient,
      nullptr);
}

} // namespace sinter
