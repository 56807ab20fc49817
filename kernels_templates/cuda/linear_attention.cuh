//===- linear_attention.cuh - Linear attention, token by token --*- C++ -*-===//
//
// sinter.linear_attention (Yang et al., "Gated Delta Networks", 2025, equation 10), token after
// token, with the state in registers. Its columns do not meet, so that they are divided among warps
// and blocks as there are places for them. Of a column a few lanes have every so many rows:
//
//   p = S^T k                       a sum over the lanes' rows, and over the lanes
//   u = beta (v - exp(decay) p)
//   S = exp(decay) S + k u^T
//   result = scale S^T q            the same sums
//
// A state that only adds has u = beta v (Dao and Gu, "Transformers are SSMs", 2024, equation 2).
//
// The state is read once and written once, by the lanes that have it, so that it may be in one
// place. A column's sums are in one order, whatever the batch: rows of a lane in four sums, then
// lanes. A chunk and its tokens one by one give the same bits.
//
// Versions:
//
//   step    one token: memory decides, which the state crosses once in each direction. A lane has
//           up to four columns side by side, all of whose rows it reads before it waits for any;
//           before it waits for the kernel before this one, a block has them brought into the L2
//           cache.
//   chunk   more tokens: arithmetic decides, four operations an element and token. A lane has one
//           column. Queries, keys, values and gates of a few tokens at a time are copied to shared
//           memory while those before them are computed.
//
// Parameters: linear_parts.cuh's, and
//
//   Result     (typename) element type of the result
//   hasState   (bool) whether chunks follow each other
//
// Arguments: query, key [slots, tokens, groups, depth], value [slots, tokens, heads, width], decay,
// beta [slots, tokens, heads], state [slots, heads, depth, width] of f32, start, count [slots]
// (these three nullptr without state), result as value, next as state or nullptr. A slot's state is
// zero where its start is; tokens from its count on have the result zero.
//
// Launch: linear_attention_grid<P>() blocks of linear_attention_block<P>() threads,
// linear_attention_shared<P>() bytes of dynamic shared memory.
//
//   lanes   = depth <= 128 ? 8 : depth <= 256 ? 16 : 32
//   pitch   = 4 lanes ceil(depth / (4 lanes))
//   columns = (32 / lanes) (tokens = 1 ? 2 (width % 4 = 0 ? 4 : 1) : 4)
//   grid    = slots heads ceil(width / columns)
//   block   = tokens = 1 ? 64 : 128
//   tile    = max(floor(2048 / pitch), 1)
//   shared  = tokens = 1 ? 0 : twice the bytes, each rounded up to 16, of tile pitch of Query and
//   of
//             Key, tile columns of Value, and twice tile f32
//
//===----------------------------------------------------------------------===//
#pragma once

#include "linear_parts.cuh"

namespace sinter {

namespace linear {
template <class P> constexpr bool kIsStep = P::tokens == 1;
/// Columns of a lane, side by side.
template <class P> constexpr int kLaneColumns = kIsStep<P> && P::width % 4 == 0 ? 4 : 1;
template <class P> constexpr int kForwardThreads = kIsStep<P> ? 64 : 128;
/// Columns of a block.
template <class P>
constexpr int kForwardColumns = kForwardThreads<P> / kLanes<P::depth> * kLaneColumns<P>;
} // namespace linear

template <class P> SINTER_CONSTEXPR int linear_attention_block() {
  return linear::kForwardThreads<P>;
}
template <class P> SINTER_CONSTEXPR long long linear_attention_grid() {
  return static_cast<long long>(P::slots) * P::heads *
         divide_up(P::width, linear::kForwardColumns<P>);
}

namespace linear {
/// Tokens of chunks in shared memory: queries, keys, and the block's columns of values.
template <class P> struct ForwardTile {
  static constexpr int kTokens = kTileTokens<P::depth>, kRow = kPitch<P::depth>;
  static constexpr int kColumns = kForwardColumns<P>;
  static constexpr int kKeys = shared_bytes<typename P::Query>(kTokens * kRow);
  static constexpr int kValues = kKeys + shared_bytes<typename P::Key>(kTokens * kRow);
  static constexpr int kBytes = kValues + shared_bytes<typename P::Value>(kTokens * kColumns);
};
} // namespace linear

template <class P> SINTER_CONSTEXPR int linear_attention_shared() {
  using Tile = linear::ForwardTile<P>;
  return linear::kIsStep<P> ? 0 : linear::walk_bytes<Tile::kTokens, Tile::kBytes, 1>();
}

namespace linear {

/// What a block computes: columns [begin, ...) of a head of a slot, of which this lane has some
/// from `column` on.
template <class P> struct ForwardPlace {
  int slot, head, group, begin, column;

  SINTER_DEVICE ForwardPlace() {
    constexpr int kBlocks = static_cast<int>(divide_up(P::width, kForwardColumns<P>));
    slot = blockIdx.x / kBlocks / P::heads;
    head = blockIdx.x / kBlocks % P::heads;
    group = head / (P::heads / P::groups);
    begin = blockIdx.x % kBlocks * kForwardColumns<P>;
    column = begin + static_cast<int>(threadIdx.x) / kLanes<P::depth> * kLaneColumns<P>;
  }

  SINTER_DEVICE long long key_row(int t) const {
    return ((static_cast<long long>(slot) * P::tokens + t) * P::groups + group) * P::depth;
  }
  SINTER_DEVICE long long gate(int t) const {
    return (static_cast<long long>(slot) * P::tokens + t) * P::heads + head;
  }
  SINTER_DEVICE long long state_row(int i) const {
    return ((static_cast<long long>(slot) * P::heads + head) * P::depth + i) * P::width;
  }
};

/// A lane's rows of its columns of a state.
template <class P> struct State {
  static constexpr int kRows = kElements<P::depth>, kColumns = kLaneColumns<P>;
  float columns[kColumns][kRows];

  /// Reads them, whatever they are; zeros beyond the state.
  SINTER_DEVICE void read(const ForwardPlace<P> &place, const float *state) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = element_of<P::depth>(i);
      Vector<float, kColumns> numbers = {};
      if (row < P::depth && place.column < P::width)
        numbers = load<float, kColumns>(state + place.state_row(row) + place.column);
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        columns[c][i] = numbers[c];
    }
  }
  SINTER_DEVICE void clear() {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        columns[c][i] = 0;
  }
  SINTER_DEVICE void write(const ForwardPlace<P> &place, float *next) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = element_of<P::depth>(i);
      Vector<float, kColumns> numbers;
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        numbers[c] = columns[c][i];
      if (row < P::depth && place.column < P::width)
        store(next + place.state_row(row) + place.column, numbers);
    }
  }

  /// Decays, and takes in a token.
  SINTER_DEVICE void take(const float (&key)[kRows], const Vector<float, kColumns> &value,
                          float factor, float beta) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      float step = beta * value[c];
      if constexpr (!P::additive)
        step = beta * fma(-factor, dot<P::depth>(key, columns[c]), value[c]);
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        columns[c][i] = fma(key[i], step, factor * columns[c][i]);
    }
  }
  /// Writes what it says of a query.
  SINTER_DEVICE void say(const ForwardPlace<P> &place, int t, const float (&query)[kRows],
                         typename P::Result *result) const {
    Vector<typename P::Result, kColumns> said;
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      said[c] = from_float<typename P::Result>(static_cast<float>(P::scale) *
                                               dot<P::depth>(query, columns[c]));
    if (own_lane<P::depth>() == 0 && place.column < P::width)
      store(result + place.gate(t) * P::width + place.column, said);
  }
};

/// Reads a lane's elements of a vector of `depth` elements in global memory.
template <int N, class T>
SINTER_DEVICE void read_global(float (&to)[kElements<N>], const T *vector) {
#pragma unroll
  for (int i = 0; i < kElements<N>; i += 4) {
    const int first = element_of<N>(i);
    Vector<T, 4> four = {};
    if (N % 4 == 0 && first < N)
      four = load<T, 4>(vector + first);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (N % 4 != 0)
        four[j] = first + j < N ? vector[first + j] : from_float<T>(0.0f);
      to[i + j] = to_float(four[j]);
    }
  }
}

/// One token.
template <class P>
SINTER_DEVICE void forward_step(const typename P::Query *query, const typename P::Key *key,
                                const typename P::Value *value, const typename P::Decay *decay,
                                const typename P::Beta *beta, const float *state, const int *start,
                                const int *count, typename P::Result *result, float *next) {
  const ForwardPlace<P> place;
  constexpr int kColumns = kLaneColumns<P>, kRows = kElements<P::depth>;
  if constexpr (P::hasState)
    for (int row = threadIdx.x; row < P::depth; row += kForwardThreads<P>)
      prefetch_line(state + place.state_row(row) + place.begin);
  pdl_wait();
  State<P> own;
  if constexpr (P::hasState)
    own.read(place, state);
  float keys[kRows], queries[kRows];
  read_global<P::depth>(keys, key + place.key_row(0));
  read_global<P::depth>(queries, query + place.key_row(0));
  Vector<float, kColumns> values = {};
  if (place.column < P::width)
    values = to_floats(
        load<typename P::Value, kColumns>(value + place.gate(0) * P::width + place.column));
  const float factor = exp(to_float(decay[place.gate(0)])), rate = to_float(beta[place.gate(0)]);
  if (!P::hasState || start[place.slot] == 0)
    own.clear();
  if (!P::hasState || count[place.slot] > 0) {
    own.take(keys, values, factor, rate);
    own.say(place, 0, queries, result);
  } else if (own_lane<P::depth>() == 0 && place.column < P::width) {
    store(result + place.gate(0) * P::width + place.column,
          convert_vector<typename P::Result>(Vector<float, kColumns>{}));
  }
  if (next)
    own.write(place, next);
}

/// Several tokens.
template <class P>
SINTER_DEVICE void forward_chunk(const typename P::Query *query, const typename P::Key *key,
                                 const typename P::Value *value, const typename P::Decay *decay,
                                 const typename P::Beta *beta, const float *state, const int *start,
                                 const int *count, typename P::Result *result, float *next) {
  using Query = typename P::Query;
  using Key = typename P::Key;
  using Value = typename P::Value;
  using Tile = ForwardTile<P>;
  constexpr int kThreads = kForwardThreads<P>, kRows = kElements<P::depth>;
  const ForwardPlace<P> place;
  pdl_wait();
  int tokens = P::tokens;
  State<P> own;
  if constexpr (P::hasState) {
    tokens = max_of(min_of(count[place.slot], P::tokens), 0);
    if (start[place.slot] == 0)
      own.clear();
    else
      own.read(place, state);
  } else {
    own.clear();
  }
  auto copy = [&](char *buffer, int begin, int n) {
    copy_rows<kThreads, Tile::kRow, has_aligned_rows<Query, Tile::kRow>(P::depth)>(
        reinterpret_cast<Query *>(buffer), query + place.key_row(begin), P::groups * P::depth, n,
        P::depth);
    copy_rows<kThreads, Tile::kRow, has_aligned_rows<Key, Tile::kRow>(P::depth)>(
        reinterpret_cast<Key *>(buffer + Tile::kKeys), key + place.key_row(begin),
        P::groups * P::depth, n, P::depth);
    copy_rows<kThreads, Tile::kColumns, has_aligned_rows<Value, Tile::kColumns>(P::width)>(
        reinterpret_cast<Value *>(buffer + Tile::kValues),
        value + place.gate(begin) * P::width + place.begin, P::heads * P::width, n,
        min_of(P::width - place.begin, Tile::kColumns));
  };
  auto compute = [&](const char *buffer, const float *factors, const float *betas, int begin,
                     int n) {
    const auto *queries = reinterpret_cast<const Query *>(buffer);
    const auto *keys = reinterpret_cast<const Key *>(buffer + Tile::kKeys);
    const auto *values =
        reinterpret_cast<const Value *>(buffer + Tile::kValues) + (place.column - place.begin);
    float k[kRows], q[kRows];
    read_vector<P::depth>(k, keys);
    for (int t = 0; t < n; ++t) {
      read_vector<P::depth>(q, queries + t * Tile::kRow);
      own.take(k, {{to_float(values[t * Tile::kColumns])}}, factors[t], betas[t]);
      // The next key comes while the sums of this token's result cross lanes.
      read_vector<P::depth>(k, keys + min_of(t + 1, n - 1) * Tile::kRow);
      own.say(place, begin + t, q, result);
    }
  };
  walk<P, Tile::kTokens, Tile::kBytes, kThreads, 1, 1>(
      {decay + place.gate(0), beta + place.gate(0)}, tokens, dynamic_shared<char>(), copy, compute);
  if (own_lane<P::depth>() == 0 && place.column < P::width)
    for (int t = tokens; t < P::tokens; ++t)
      result[place.gate(t) * P::width + place.column] = from_float<typename P::Result>(0.0f);
  if (next)
    own.write(place, next);
}

} // namespace linear

template <class P>
SINTER_DEVICE void linear_attention(const typename P::Query *query, const typename P::Key *key,
                                    const typename P::Value *value, const typename P::Decay *decay,
                                    const typename P::Beta *beta, const float *state,
                                    const int *start, const int *count, typename P::Result *result,
                                    float *next) {
  pdl_launch_dependents();
  if constexpr (linear::kIsStep<P>)
    linear::forward_step<P>(query, key, value, decay, beta, state, start, count, result, next);
  else
    linear::forward_chunk<P>(query, key, value, decay, beta, state, start, count, result, next);
}

} // namespace sinter
