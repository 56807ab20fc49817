//===- attention.cuh - What the attention templates share -------*- C++ -*-===//
//
// Query t of slot b stands at position p = start[b] + t, key j at position j. A score is
// scale * q.k, then softcap * tanh(score / softcap), then - slope * (p - j); see sinter.attention.
//
// Parameters P of every attention template:
//
//   Query, Element, Result       element types of q; of k and v; of what the template says. Keys
//                                and values of 8 bits (signed char, sinter::E4M3) are numbers that
//                                each row, of a key-value head, has a scale for
//   batch, length, heads, headSize, maxSequence, keyHeads
//                                q is [batch, length, heads, headSize], k and v are
//                                [batch, maxSequence, keyHeads, headSize]
//   queryOffset, queryBatchStride, queryRowStride, queryHeadStride   (long long)
//   keyOffset, keyBatchStride, keyRowStride, keyHeadStride           element (b, t, h, i) of q is
//   valueOffset, valueBatchStride, valueRowStride, valueHeadStride   at offset + b * batch stride +
//                                t * row stride + h * head stride + i; the same for k and v: parts
//                                of a product's columns and caches of any order are read in place
//   scale                        (double) positive
//   causal, window, softcap      (bool, int, double) 0: no window, no soft cap
//   hasStart, hasFirst, hasSlopes
//                                whether these arguments are there; nullptr if not
//   dropout, stream              (double, unsigned) 0: no dropout, and seed is nullptr
//   isPart, wholeHeads, wholeLength, wholeSequence
//                                of a part of an attention dropout numbers weights as those of all
//                                of it, [.., wholeHeads, wholeLength, wholeSequence]; a third word
//                                of seed is the number of the part's first weight
//   plain                        the plain version, whatever the types
//   sharedMemory                 bytes of shared memory that a block may have
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

// Blocks that fill a machine, from which on a block has more rows: two for each of 132 processors.
// Tests say fewer, so that small operands meet such blocks.
#ifndef SINTER_FULL_GRID
#define SINTER_FULL_GRID 264
#endif

namespace sinter {
namespace attention {

/// Keys [begin, end) that a query sees; none if they are the wrong way round.
struct Keys {
  int begin, end;
};

/// @param first the first key of the query's document, ignored without `hasFirst`.
template <class P> SINTER_DEVICE Keys visible_keys(int position, int first) {
  Keys keys = {0, P::maxSequence};
  if constexpr (P::causal)
    keys.end = min_of(keys.end, position + 1);
  if constexpr (P::window > 0)
    keys.begin = max_of(keys.begin, position - P::window + 1);
  if constexpr (P::hasFirst)
    keys.begin = max_of(keys.begin, first);
  return keys;
}

/// Where query 0 of a slot stands.
template <class P> SINTER_DEVICE int start_of(const int *start, int slot) {
  if constexpr (P::hasStart)
    return max_of(start[slot], 0);
  else
    return 0;
}

/// What a query's document begins with.
template <class P> SINTER_DEVICE int first_of(const int *first, int slot, int t) {
  if constexpr (P::hasFirst)
    return first[static_cast<long long>(slot) * P::length + t];
  else
    return 0;
}

/// A head's slope in units of log 2, as scores are.
template <class P> SINTER_DEVICE float slope_of(const float *slopes, int head) {
  if constexpr (P::hasSlopes)
    return slopes[head] * kLog2E;
  else
    return 0;
}

/// The scale of a row of keys or values of 8 bits: f32 [batch, maxSequence, keyHeads].
template <class P> SINTER_DEVICE float scale_of(const float *scales, int slot, int j, int keyHead) {
  if constexpr (kIsByte<typename P::Element>)
    return scales[(static_cast<long long>(slot) * P::maxSequence + j) * P::keyHeads + keyHead];
  else
    return 1;
}

template <class P> constexpr bool kIsShaped = P::softcap > 0 || P::hasSlopes;

/// What a shaped score is multiplied with to be in units of log 2, so that weights are powers of
/// two: 1 unless shaping has nothing else to do than this.
template <class P>
constexpr float kFactor = kIsShaped<P> ? 1.0f : static_cast<float>(P::scale * kLog2E);

/// A product q.k as a score, but for `kFactor`.
/// @param distance the query's position minus the key's.
/// @param derivative becomes that of the score by `scale * product`.
template <class P>
SINTER_DEVICE float shape_score(float product, float slope, int distance, float &derivative) {
  derivative = 1;
  if constexpr (P::softcap > 0) {
    const float ratio = tanh_fast(product * static_cast<float>(P::scale / P::softcap));
    derivative = 1 - ratio * ratio;
    product = static_cast<float>(P::softcap * kLog2E) * ratio;
  } else if constexpr (P::hasSlopes) {
    product *= static_cast<float>(P::scale * kLog2E);
  }
  if constexpr (P::hasSlopes)
    product -= slope * static_cast<float>(distance);
  return product;
}

template <class P> SINTER_DEVICE float shape_score(float product, float slope, int distance) {
  float derivative;
  return shape_score<P>(product, slope, distance, derivative);
}

/// Below every score: the running maximum of a row that has seen nothing. Finite, so that
/// differences are numbers.
constexpr float kNothing = -3.0e38f;

/// What a dropout goes by: two words of random numbers' key, and of a part the number of its first
/// weight.
template <class P> struct Seed {
  uint2 key = make_uint2(0, 0);
  unsigned first = 0;

  SINTER_DEVICE explicit Seed(const int *words) {
    if constexpr (P::dropout > 0) {
      key = make_uint2(static_cast<unsigned>(words[0]), static_cast<unsigned>(words[1]));
      if constexpr (P::isPart)
        first = static_cast<unsigned>(words[2]);
    }
  }

  /// The number of a row's first weight in all of the attention.
  SINTER_DEVICE unsigned long long number_row(int slot, int head, int t) const {
    static_assert(P::isPart || (P::wholeHeads == P::heads && P::wholeLength == P::length &&
                                P::wholeSequence == P::maxSequence),
                  "what is no part is the whole");
    const unsigned long long row =
        (static_cast<unsigned long long>(slot) * P::wholeHeads + head) * P::wholeLength + t;
    return row * P::wholeSequence + first;
  }

  /// Whether dropout keeps a weight.
  SINTER_DEVICE bool keeps(unsigned long long number) const {
    return is_kept(number, P::stream, key, dropout_threshold(P::dropout));
  }

  /// Which of COUNT times four weights it keeps, bit 4 j + i for that of `number(j, i)`. A loop,
  /// since so many generators side by side would take all registers.
  template <int COUNT, class Number> SINTER_DEVICE unsigned keep_weights(Number number) const {
    static_assert(COUNT <= 8, "a word has 32 bits");
    unsigned kept = 0;
#pragma unroll 1
    for (int j = 0; j < COUNT; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        kept |= (keeps(number(j, i)) ? 1u : 0u) << (4 * j + i);
    return kept;
  }
};

/// What a kept weight is multiplied with.
template <class P> constexpr float kShare = static_cast<float>(1 / (1 - P::dropout));

template <class P> constexpr int kGroup = P::heads / P::keyHeads;

/// What a block computes: queries [row, row + ROWS) of a head of a slot.
template <class P, int ROWS> struct QueryTile {
  int slot, head, keyHead, row, rows, start;

  SINTER_DEVICE explicit QueryTile(const int *starts) {
    constexpr int kTiles = static_cast<int>(divide_up(P::length, ROWS));
    int heads = blockIdx.x % (P::batch * P::heads);
    slot = heads / P::heads;
    head = heads % P::heads;
    keyHead = head / kGroup<P>;
    row = (kTiles - 1 - static_cast<int>(blockIdx.x) / (P::batch * P::heads)) * ROWS;
    rows = min_of(ROWS, P::length - row);
    start = start_of<P>(starts, slot);
  }

  /// Keys of query `row + r`; none beyond the last query.
  SINTER_DEVICE Keys keys_of(const int *first, int r) const {
    if (r >= rows)
      return {0, 0};
    return visible_keys<P>(start + row + r, first_of<P>(first, slot, row + r));
  }

  /// What the queries see together. All THREADS threads of the block call it.
  template <int THREADS> SINTER_DEVICE Keys keys(const int *first) const {
    Keys result = visible_keys<P>(start + row, 0);
    result.end = visible_keys<P>(start + row + rows - 1, 0).end;
    if constexpr (P::hasFirst) {
      int smallest = P::maxSequence;
      for (int r = threadIdx.x; r < rows; r += THREADS)
        smallest = min_of(smallest, first_of<P>(first, slot, row + r));
      result.begin = max_of(result.begin, -block_reduce_max<THREADS>(-smallest));
    }
    return result;
  }
};

template <class P>
SINTER_DEVICE const typename P::Query *query_at(const typename P::Query *query, int slot, int t,
                                                int head) {
  return query + P::queryOffset + slot * P::queryBatchStride + t * P::queryRowStride +
         head * P::queryHeadStride;
}
template <class P>
SINTER_DEVICE const typename P::Element *key_at(const typename P::Element *key, int slot, int j,
                                                int keyHead) {
  return key + P::keyOffset + slot * P::keyBatchStride + j * P::keyRowStride +
         keyHead * P::keyHeadStride;
}
template <class P>
SINTER_DEVICE const typename P::Element *value_at(const typename P::Element *value, int slot, int j,
                                                  int keyHead) {
  return value + P::valueOffset + slot * P::valueBatchStride + j * P::valueRowStride +
         keyHead * P::valueHeadStride;
}

/// Whether rows of q, k and v can be read 16 bytes at a time.
template <class P> SINTER_CONSTEXPR bool has_aligned_rows() {
  constexpr int q = kVector<typename P::Query>, e = kVector<typename P::Element>;
  return P::headSize % q == 0 && P::queryOffset % q == 0 && P::queryBatchStride % q == 0 &&
         P::queryRowStride % q == 0 && P::queryHeadStride % q == 0 && P::headSize % e == 0 &&
         P::keyOffset % e == 0 && P::keyBatchStride % e == 0 && P::keyRowStride % e == 0 &&
         P::keyHeadStride % e == 0 && P::valueOffset % e == 0 && P::valueBatchStride % e == 0 &&
         P::valueRowStride % e == 0 && P::valueHeadStride % e == 0;
}

/// Whether heads are wider than registers hold outputs of, with matrix instructions.
template <class P> SINTER_CONSTEXPR bool has_wide_heads() { return P::headSize > 256; }

/// Whether the versions with matrix instructions are for P.
template <class P> SINTER_CONSTEXPR bool uses_matrices() {
  return !P::plain && !has_wide_heads<P>() && kIsNarrow<typename P::Element> &&
         kIsSame<typename P::Query, typename P::Element> && P::headSize % 16 == 0 &&
         has_aligned_rows<P>();
}
/// Whether they are, or would be if keys and values of 8 bits were widened to the queries' type.
template <class P> SINTER_CONSTEXPR bool uses_matrices_once_widened() {
  return uses_matrices<P>() ||
         (!P::plain && !has_wide_heads<P>() && kIsByte<typename P::Element> &&
          kIsNarrow<typename P::Query> && P::headSize % 16 == 0 && has_aligned_rows<P>());
}

} // namespace attention
} // namespace sinter
