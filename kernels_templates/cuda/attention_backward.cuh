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
//             stay, or 32 where there are blocks enough and no dropout (then what is read of shared
//             memory, which else is what all wait for, serves twice as many), and P and dS are laid
//             out in its registers as the left sides of the second products. The next tile is
//             copied (cp.async) while one is computed with. Only what a bound crosses is masked.
//             One thread's registers do not hold both results of keys with 32 rows of more than 64
//             columns, for which queries pass by twice, once for dV and once for dK; nor with more
//             than 128 columns, where two warps share rows, and each has half of the columns.
//             Either way P is computed twice.
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
//   tall     = matrices && headSize <= 128 && dropout == 0 &&
//              keys:    batch * keyHeads * ceil(capacity / 128) >= 264
//              queries: batch * heads * ceil(length / 128) >= 264,
//              if 128 rows fit into sharedMemory
//   rows     = matrices ? (tall ? 128 : 64) : headSize > 64 ? 32 : 64
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
/// Rows of a tile that passes by.
template <class P> SINTER_CONSTEXPR int backward_passing() {
  if (backward_uses_matrices<P>())
    return P::headSize > 64 ? 32 : 64;
  return P::headSize > 128 ? 16 : 32;
}
/// Memory for what is known of queries, the rows that stay and twice those that pass by, with matrix
/// instructions.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_matrices_shared(int rows) {
  constexpr int kPassing = backward_passing<P>();
  return 16 * (KEYS ? 2 * kPassing : rows) +
         2 * (2 * rows + 4 * kPassing) * pitch_of(P::headSize);
}
/// Whether a warp has 32 of the rows that stay: what it reads of those that pass by then serves
/// twice as many. There have to be registers for the results, memory, and blocks enough.
template <class P, bool KEYS> SINTER_CONSTEXPR bool backward_is_tall() {
  constexpr long long kTiles =
      KEYS ? P::keyHeads * divide_up(P::capacity, 128) : P::heads * divide_up(P::length, 128);
  return backward_uses_matrices<P>() && P::headSize <= 128 && P::dropout == 0 &&
         P::batch * kTiles >= 264 && backward_matrices_shared<P, KEYS>(128) <= P::sharedMemory;
}
/// Whether the gradients of values and of keys are computed one after the other, since one thread's
/// registers do not hold both.
template <class P> SINTER_CONSTEXPR bool backward_takes_turns() {
  return backward_is_tall<P, true>() && P::headSize > 64;
}
/// Rows that stay with a block.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_rows() {
  if (backward_uses_matrices<P>())
    return backward_is_tall<P, KEYS>() ? 128 : 64;
  return P::headSize > 64 ? 32 : 64;
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

  SINTER_DEVICE bool sees(int key) const { return key >= keys.begin && key < keys.end; }
};

template <class P, bool KEYS> SINTER_CONSTEXPR int backward_shared() {
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kInfo = 16 * (KEYS ? 2 * kPassing : kRows);
  if (backward_uses_matrices<P>())
    return backward_matrices_shared<P, KEYS>(kRows);
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

  /// Nothing is seen by queries beyond the last. Of a query that sees nothing the logarithm is of
  /// no use, and minus infinity.
  SINTER_DEVICE QueryInfo info(int slot, int start, int t, int head) const {
    if (t >= P::length)
      return {0, 0, {0, 0}};
    const long long at = (static_cast<long long>(slot) * P::length + t) * P::heads + head;
    const Keys keys = visible_keys<P>(start + t, first_of<P>(first, slot, t));
    return {keys.begin < keys.end ? logsumexp[at] * kLog2E : 0.0f, delta[at], keys};
  }

private:
  template <int ROWS, int THREADS, class To, class From>
  SINTER_DEVICE void copy(To *to, const From *from, long long stride, int count) const {
    constexpr bool kAligned =
        has_aligned_rows<P>() && P::headSize % kVector<typename P::Gradient> == 0;
    if constexpr (backward_uses_matrices<P>())
      copy_rows_async<ROWS, P::headSize, THREADS>(to, from, stride, count);
    else
      copy_tile_as_float<ROWS, round_up(P::headSize, 32), THREADS, kAligned>(to, from, stride,
                                                                             count, P::headSize);
  }
};

/// What stays with a block and what passes by, tile after tile: rows [row, row + ROWS) of keys and
/// queries [begin, end) of the heads that read them, from `head` on, or of queries and keys
/// [begin, end).
template <class P, bool KEYS, int ROWS, int PASSING> struct BackwardTile {
  int slot, head, keyHead, row, rows, start, begin, end;

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
  }

  /// A tile that passes by: rows from `at` on, of a head.
  struct Place {
    int head, at;
  };
  SINTER_DEVICE Place first_place() const { return {head, begin}; }
  SINTER_DEVICE Place after(Place place) const {
    place.at += PASSING;
    if (KEYS && place.at >= end) {
      place.at = begin;
      ++place.head;
    }
    return place;
  }
  SINTER_DEVICE bool is_place(Place place) const {
    return KEYS ? begin < end && place.head < head + kGroup<P> : place.at < end;
  }
};

/// From a score and `D`, how the score changes and what the value's weight is.
template <class P>
SINTER_DEVICE void differentiate_score(float &score, float &product, const QueryInfo &info,
                                       float slope, int position, int key, bool isSeen,
                                       bool isKept) {
  float derivative;
  const float shaped = shape_score<P>(score, slope, position - key, derivative);
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
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kThreads = 128;
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
  for (auto place = tile.first_place(); tile.is_place(place); place = tile.after(place)) {
    const auto [head, at] = place;
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
                               key, infos[query].sees(key), isKept);
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

template <class P, bool KEYS, bool FIRST = true, bool SECOND = KEYS>
SINTER_DEVICE void backward_matrices(const BackwardOperands<P> &operands,
                                     typename P::Result *firstResult,
                                     typename P::Result *secondResult) {
  using T = typename P::Element;
  using Result = typename P::Result;
  constexpr int kRows = backward_rows<P, KEYS>(), kPassing = backward_passing<P>();
  constexpr int kThreads = backward_block<P, KEYS>(), kSplits = backward_splits<P, KEYS>();
  constexpr int kPitch = pitch_of(P::headSize), kSteps = P::headSize / 16;
  // A warp's rows, 16 at a time, and those that pass by that it computes with at a time.
  constexpr int kTiles = backward_is_tall<P, KEYS>() ? 2 : 1, kWarpRows = 16 * kTiles;
  constexpr int kTogether = kTiles > 1 ? 32 : kPassing, kScores = kTogether / 8;
  // A warp's columns of the results, 16 at a time; the last of its parts may not exist.
  constexpr int kParts = static_cast<int>(divide_up(kSteps, kSplits));

  QueryInfo *infos = dynamic_shared<QueryInfo>();
  T *stay1 = reinterpret_cast<T *>(infos + (KEYS ? 2 * kPassing : kRows));
  T *stay2 = stay1 + kRows * kPitch, *stages = stay2 + kRows * kPitch;

  BackwardTile<P, KEYS, kRows, kPassing> tile;
  tile.template find<kThreads>(operands);
  const int lane = lane_index(), ownRow = warp_index() / kSplits * kWarpRows;
  const int firstPart = warp_index() % kSplits * kParts;
  const uint2 seed = seed_of<P>(operands.seeds);

  using Place = typename decltype(tile)::Place;
  auto copy_tile = [&](Place place, int stage) {
    T *to = stages + stage * 2 * kPassing * kPitch;
    const int count = min_of(kPassing, tile.end - place.at);
    if constexpr (KEYS)
      operands.template copy_queries<kPassing, kThreads>(to, to + kPassing * kPitch, tile.slot,
                                                         place.at, place.head, count);
    else
      operands.template copy_keys<kPassing, kThreads>(to, to + kPassing * kPitch, tile.slot,
                                                      place.at, tile.keyHead, count);
  };
  auto read_info = [&](Place place) {
    return operands.info(tile.slot, tile.start, place.at + threadIdx.x, place.head);
  };

  Place place = tile.first_place();
  if constexpr (KEYS) {
    operands.template copy_keys<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.keyHead,
                                                 tile.rows);
    if (tile.is_place(place) && threadIdx.x < kPassing)
      infos[threadIdx.x] = read_info(place);
  } else {
    operands.template copy_queries<kRows, kThreads>(stay1, stay2, tile.slot, tile.row, tile.head,
                                                    tile.rows);
    if (threadIdx.x < kRows)
      infos[threadIdx.x] = operands.info(tile.slot, tile.start, tile.row + threadIdx.x, tile.head);
  }
  if (tile.is_place(place))
    copy_tile(place, 0);
  cp_async_commit();

  float first[kTiles][kParts][2][4] = {}, second[kTiles][kParts][2][4] = {};
  for (int stage = 0; tile.is_place(place); stage ^= 1) {
    const auto [head, at] = place;
    const float slope = slope_of<P>(operands.slopes, head);
    // This tile is there, and everybody is done with the one before.
    cp_async_wait<0>();
    __syncthreads();
    place = tile.after(place);
    const bool isLast = !tile.is_place(place);
    if (!isLast)
      copy_tile(place, stage ^ 1);
    cp_async_commit();
    QueryInfo next = {};
    if constexpr (KEYS)
      if (!isLast && threadIdx.x < kPassing)
        next = read_info(place);

    const T *pass1 = stages + stage * 2 * kPassing * kPitch, *pass2 = pass1 + kPassing * kPitch;
#pragma unroll 1
    for (int part = 0; part < kPassing; part += kTogether) {
      // Rows that stay, and those that pass by, of element i of product j.
      auto row_of = [&](int m, int i) { return ownRow + m * 16 + i / 2 * 8 + lane / 4; };
      auto passing_of = [&](int j, int i) { return part + j * 8 + lane % 4 * 2 + i % 2; };
      auto info_of = [&](int m, int j, int i) -> const QueryInfo & {
        return infos[KEYS ? stage * kPassing + passing_of(j, i) : row_of(m, i)];
      };
      // What is seen from everywhere is not masked; what from nowhere, not computed.
      bool seen = false, crossed = false;
      auto look = [&](Keys keys, int begin, int count) {
        seen |= keys.begin < begin + count && keys.end > begin;
        crossed |= keys.begin > begin || keys.end < begin + count;
      };
      if constexpr (KEYS) {
        for (int i = lane; i < kTogether; i += kWarp)
          look(infos[stage * kPassing + part + i].keys, tile.row + ownRow, kWarpRows);
      } else {
#pragma unroll
        for (int m = 0; m < kTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            look(infos[row_of(m, 2 * half)].keys, at + part, kTogether);
      }
      if (!__any_sync(0xffffffffu, seen))
        continue;

      float scores[kTiles][kScores][4] = {}, products[kTiles][kScores][4] = {};
#pragma unroll(kTiles > 1 ? kSteps : 2)
      for (int step = 0; step < kSteps; ++step) {
        unsigned a1[kTiles][4], a2[kTiles][4];
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          load_rows_as_a<kPitch>(a1[m], stay1 + (ownRow + m * 16) * kPitch + step * 16, lane);
          if constexpr (FIRST)
            load_rows_as_a<kPitch>(a2[m], stay2 + (ownRow + m * 16) * kPitch + step * 16, lane);
        }
#pragma unroll
        for (int j = 0; j < kScores; j += 2) {
          unsigned b1[4], b2[4];
          load_rows_as_b<kPitch>(b1, pass1 + (part + j * 8) * kPitch + step * 16, lane);
          if constexpr (FIRST)
            load_rows_as_b<kPitch>(b2, pass2 + (part + j * 8) * kPitch + step * 16, lane);
#pragma unroll
          for (int m = 0; m < kTiles; ++m) {
            mma_m16n8k16<T>(scores[m][j], a1[m], b1[0], b1[1]);
            mma_m16n8k16<T>(scores[m][j + 1], a1[m], b1[2], b1[3]);
            if constexpr (FIRST) {
              mma_m16n8k16<T>(products[m][j], a2[m], b2[0], b2[1]);
              mma_m16n8k16<T>(products[m][j + 1], a2[m], b2[2], b2[3]);
            }
          }
        }
      }

      auto key_of = [&](int m, int j, int i) {
        return KEYS ? tile.row + row_of(m, i) : at + passing_of(j, i);
      };
      auto query_of = [&](int m, int j, int i) {
        return KEYS ? at + passing_of(j, i) : tile.row + row_of(m, i);
      };
      if (!kIsShaped<P> && __any_sync(0xffffffffu, crossed))
        for_each_element<kTiles, kScores>([&](int m, int j, int i) {
          if (!info_of(m, j, i).sees(key_of(m, j, i)))
            scores[m][j][i] = -kInfinity;
        });
      unsigned kept = 0;
      if constexpr (P::dropout > 0)
        kept = kept_weights<P, kScores>(seed, [&](int j, int i) {
          return weight_number<P>(tile.slot, head, query_of(0, j, i)) +
                 key_of(0, j, i);
        });
      for_each_element<kTiles, kScores>([&](int m, int j, int i) {
        const int key = key_of(m, j, i);
        const QueryInfo &info = info_of(m, j, i);
        differentiate_score<P>(scores[m][j][i], products[m][j][i], info, slope,
                               tile.start + query_of(m, j, i), key,
                               !kIsShaped<P> || info.sees(key), kept >> (4 * j + i) & 1);
      });

#pragma unroll
      for (int j = 0; j < kScores; j += 2) {
        unsigned change[kTiles][4], weight[kTiles][4];
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          if constexpr (FIRST)
            pack_as_a<T>(change[m], products[m][j], products[m][j + 1]);
          if constexpr (SECOND)
            pack_as_a<T>(weight[m], scores[m][j], scores[m][j + 1]);
        }
#pragma unroll
        for (int c = 0; c < kParts; ++c) {
          if (kSteps % kSplits != 0 && firstPart + c >= kSteps)
            break;
          const int from = (part + j * 8) * kPitch + (firstPart + c) * 16;
          unsigned b[4];
          if constexpr (FIRST) {
            load_columns_as_b<kPitch>(b, pass1 + from, lane);
#pragma unroll
            for (int m = 0; m < kTiles; ++m) {
              mma_m16n8k16<T>(first[m][c][0], change[m], b[0], b[1]);
              mma_m16n8k16<T>(first[m][c][1], change[m], b[2], b[3]);
            }
          }
          if constexpr (SECOND) {
            load_columns_as_b<kPitch>(b, pass2 + from, lane);
#pragma unroll
            for (int m = 0; m < kTiles; ++m) {
              mma_m16n8k16<T>(second[m][c][0], weight[m], b[0], b[1]);
              mma_m16n8k16<T>(second[m][c][1], weight[m], b[2], b[3]);
            }
          }
        }
      }
    }
    if constexpr (KEYS)
      if (threadIdx.x < kPassing)
        infos[(stage ^ 1) * kPassing + threadIdx.x] = next;
  }
  cp_async_wait<0>();

  constexpr int kHeads = KEYS ? P::keyHeads : P::heads;
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = ownRow + m * 16 + half * 8 + lane / 4;
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
          if constexpr (FIRST)
            write(firstResult, first[m][part][i], static_cast<float>(P::scale));
          if constexpr (SECOND)
            write(secondResult, second[m][part][i], 1.0f);
        }
      }
    }
}

template <class P, bool KEYS>
SINTER_DEVICE void backward(const BackwardOperands<P> &operands, typename P::Result *firstResult,
                            typename P::Result *secondResult) {
  if constexpr (KEYS && backward_takes_turns<P>()) {
    backward_matrices<P, true, false, true>(operands, nullptr, secondResult);
    // Everybody is done with the memory.
    __syncthreads();
    backward_matrices<P, true, true, false>(operands, firstResult, nullptr);
  } else if constexpr (backward_uses_matrices<P>()) {
    backward_matrices<P, KEYS>(operands, firstResult, secondResult);
  } else {
    backward_plain<P, KEYS>(operands, firstResult, secondResult);
  }
}

} // namespace attention

template <class P> SINTER_CONSTEXPR int attention_backward_keys_block() {
  return attention::backward_block<P, true>();
}
template <class P> SINTER_CONSTEXPR long long attention_backward_keys_grid() {
  return P::batch * P::keyHeads * divide_up(P::capacity, attention::backward_rows<P, true>());
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
  return P::batch * P::heads * divide_up(P::length, attention::backward_rows<P, false>());
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
