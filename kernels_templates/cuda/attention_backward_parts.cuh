//===- attention_backward_parts.cuh - What its versions share ---*- C++ -*-===//
//
// Sizes, operands, tiles, and what becomes of scores, for the versions of attention_backward.cuh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention.cuh"
#include "tiles.cuh"
#include "warpgroup.cuh"

namespace sinter {
namespace attention {

template <class P> SINTER_CONSTEXPR bool backward_uses_matrices() {
  return uses_matrices<P>() && kIsSame<typename P::Gradient, typename P::Element>;
}
/// Whether these are of warpgroups.
template <class P> SINTER_CONSTEXPR bool backward_uses_warpgroups() {
  return P::warpgroups && backward_uses_matrices<P>() && (P::headSize == 64 || P::headSize == 128);
}
/// Memory for the rows that stay, those that pass by, weights and their changes, without matrix
/// instructions.
template <class P> SINTER_CONSTEXPR int backward_plain_shared(int rows, int passing) {
  return 4 * ((2 * rows + 2 * passing) * float_pitch_of(round_up(P::headSize, 32)) +
              2 * rows * float_pitch_of(passing));
}
/// Whether there is room for 32 wide rows that stay and 16 that pass by, beside what is known of
/// queries.
template <class P> SINTER_CONSTEXPR bool backward_has_room() {
  return backward_plain_shared<P>(32, 16) + 512 <= P::sharedMemory;
}
/// Rows of a tile that passes by.
template <class P> SINTER_CONSTEXPR int backward_passing() {
  if (backward_uses_matrices<P>())
    return P::headSize > 64 && !backward_uses_warpgroups<P>() ? 32 : 64;
  if (has_wide_heads<P>())
    return backward_has_room<P>() ? 16 : 8;
  return P::headSize > 128 ? 16 : 32;
}
/// Memory for what is known of queries, the rows that stay and twice those that pass by, with matrix
/// instructions.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_matrices_shared(int rows) {
  constexpr int kPassing = backward_passing<P>();
  const int info = 16 * (KEYS ? 2 * kPassing : rows), tiles = 2 * rows + 4 * kPassing;
  if (backward_uses_warpgroups<P>())
    return kWgmmaAlignment + info + 2 * tiles * P::headSize;
  return info + 2 * tiles * pitch_of(P::headSize);
}
/// Whether a block has 128 of the rows that stay, for which there have to be memory and blocks
/// enough: what it copies of those that pass by then serves twice as many. A warp has 32 of them,
/// for which it needs registers, or there are two warpgroups.
template <class P, bool KEYS> SINTER_CONSTEXPR bool backward_is_tall() {
  constexpr long long kTiles =
      KEYS ? P::keyHeads * divide_up(P::maxSequence, 128) : P::heads * divide_up(P::length, 128);
  return backward_uses_matrices<P>() && P::batch * kTiles >= SINTER_FULL_GRID &&
         backward_matrices_shared<P, KEYS>(128) <= P::sharedMemory &&
         (backward_uses_warpgroups<P>() || (P::headSize <= 128 && P::dropout == 0));
}
/// Whether the gradients of values and of keys are computed one after the other, since one thread's
/// registers do not hold both.
template <class P> SINTER_CONSTEXPR bool backward_takes_turns() {
  return backward_is_tall<P, true>() && P::headSize > 64 && !backward_uses_warpgroups<P>();
}
/// Rows that stay with a block.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_rows() {
  if (backward_uses_matrices<P>())
    return backward_is_tall<P, KEYS>() ? 128 : 64;
  if (has_wide_heads<P>())
    return backward_has_room<P>() ? 32 : 16;
  return P::headSize > 64 ? 32 : 64;
}
/// Warps that share rows.
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_splits() {
  return KEYS && backward_uses_matrices<P>() && P::headSize > 128 ? 2 : 1;
}
template <class P, bool KEYS> SINTER_CONSTEXPR int backward_block() {
  if (backward_uses_warpgroups<P>())
    return 2 * backward_rows<P, KEYS>();
  // Eight threads to a row: registers hold results of one.
  if (has_wide_heads<P>())
    return 8 * backward_rows<P, KEYS>();
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
  return kInfo + backward_plain_shared<P>(kRows, kPassing);
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
    if constexpr (backward_uses_warpgroups<P>())
      copy_rows_for_wgmma<ROWS, P::headSize, THREADS>(to, from, stride, count);
    else if constexpr (backward_uses_matrices<P>())
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
      rows = min_of(ROWS, P::maxSequence - row);
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

  /// Copies what stays, and what passes by at a place: rows of keys or queries to one tile, and the
  /// values or gradients that belong to them to another.
  template <int THREADS, class T>
  SINTER_DEVICE void copy_staying(const BackwardOperands<P> &operands, T *to1, T *to2) const {
    if constexpr (KEYS)
      operands.template copy_keys<ROWS, THREADS>(to1, to2, slot, row, keyHead, rows);
    else
      operands.template copy_queries<ROWS, THREADS>(to1, to2, slot, row, head, rows);
  }
  template <int THREADS, class T>
  SINTER_DEVICE void copy_passing(const BackwardOperands<P> &operands, T *to1, T *to2,
                                  Place place) const {
    const int count = min_of(PASSING, end - place.at);
    if constexpr (KEYS)
      operands.template copy_queries<PASSING, THREADS>(to1, to2, slot, place.at, place.head, count);
    else
      operands.template copy_keys<PASSING, THREADS>(to1, to2, slot, place.at, keyHead, count);
  }

  /// What is known of this thread's query, of those that pass by at a place or of those that stay.
  SINTER_DEVICE QueryInfo passing_info(const BackwardOperands<P> &operands, Place place) const {
    return operands.info(slot, start, place.at + threadIdx.x, place.head);
  }
  SINTER_DEVICE QueryInfo staying_info(const BackwardOperands<P> &operands) const {
    return operands.info(slot, start, row + threadIdx.x, head);
  }
  /// Writes what is known of the queries that stay, or of those that pass by first.
  SINTER_DEVICE void write_infos(const BackwardOperands<P> &operands, QueryInfo *infos) const {
    if constexpr (!KEYS) {
      if (threadIdx.x < ROWS)
        infos[threadIdx.x] = staying_info(operands);
    } else if (is_place(first_place()) && threadIdx.x < PASSING) {
      infos[threadIdx.x] = passing_info(operands, first_place());
    }
  }

  /// Where row `row + r` of a result begins.
  SINTER_DEVICE long long result_row(int r) const {
    constexpr int kLength = KEYS ? P::maxSequence : P::length;
    constexpr int kHeads = KEYS ? P::keyHeads : P::heads;
    return ((static_cast<long long>(slot) * kLength + row + r) * kHeads +
            (KEYS ? keyHead : head)) *
           P::headSize;
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

/// Which of a tile's keys are seen.
struct Sight {
  bool seen = false;    // one of them by one of the queries
  bool crossed = false; // not all of them by all of the queries

  /// Looks at keys [begin, begin + count) from a query that sees `keys`.
  SINTER_DEVICE void look(Keys keys, int begin, int count) {
    seen |= keys.begin < begin + count && keys.end > begin;
    crossed |= keys.begin > begin || keys.end < begin + count;
  }
};

/// The same for tiles of products, of which `query_of`, `key_of` and `info_of` tell for element i of
/// product j of tile m. What is seen from everywhere is not masked.
template <class P, int TILES, int COUNT, class InfoOf, class QueryOf, class KeyOf>
SINTER_DEVICE void differentiate_scores(float (&scores)[TILES][COUNT][4],
                                        float (&products)[TILES][COUNT][4], bool isCrossed,
                                        int slot, int head, int start, float slope,
                                        const Seed<P> &seed, InfoOf info_of, QueryOf query_of,
                                        KeyOf key_of) {
  if (!kIsShaped<P> && isCrossed)
    for_each_element<TILES, COUNT>([&](int m, int j, int i) {
      if (!info_of(m, j, i).sees(key_of(m, j, i)))
        scores[m][j][i] = -kInfinity;
    });
  unsigned kept = 0;
  if constexpr (P::dropout > 0)
    kept = seed.template keep_weights<COUNT>([&](int j, int i) {
      return seed.number_row(slot, head, query_of(0, j, i)) + key_of(0, j, i);
    });
  for_each_element<TILES, COUNT>([&](int m, int j, int i) {
    const int key = key_of(m, j, i);
    const QueryInfo &info = info_of(m, j, i);
    differentiate_score<P>(scores[m][j][i], products[m][j][i], info, slope,
                           start + query_of(m, j, i), key, !kIsShaped<P> || info.sees(key),
                           kept >> (4 * j + i) & 1);
  });
}

/// Writes two neighbouring numbers of a result.
template <class Result>
SINTER_DEVICE void write_pair(Result *to, float low, float high, float factor) {
  Vector<Result, 2> pair;
  pair[0] = from_float<Result>(low * factor);
  pair[1] = from_float<Result>(high * factor);
  store(to, pair);
}

} // namespace attention
} // namespace sinter
