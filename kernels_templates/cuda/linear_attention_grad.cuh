//===- linear_attention_grad.cuh - Linear attention, backwards --*- C++ -*-===//
//
// sinter.linear_attention_grad, by the formulas of the op, in which no sum has both a state S and a
// gradient G of one. Given the steps of all tokens, rows of a state do not meet, either, so that of
// four passes over tokens two have their sums over rows in lanes and are divided by columns, and
// two have those over columns in lanes and are divided by rows; no sum crosses blocks but those of
// a decay and a beta:
//
//   1. misses: forwards, columns of S      m = v - a S'^T k        S = a S' + beta k m^T
//   2. values: backwards, columns of G     dv = beta G^T k         with G of the op
//   3. queries: forwards, rows of S        dq = scale S o          e = a S' dv
//   4. keys: backwards, rows of G          dk = beta G m - e       dbeta = k . G m
//
// Of a state that only adds m is v, e is zeros, and G has no part with dv.
//
// and y . o - v . dv of the op, whose sum over later tokens a decay's gradient is, is
// q . dq - k . e - beta dbeta. Sums of the value heads of a key head are in one order; so are those
// over the parts of a token's rows, which a last block adds up.
//
// All of it is one launch: blocks take numbers as they begin, the first ones do passes 1 and 2 side
// by side, and those behind them wait for theirs to be done and do passes 3 and 4, one after the
// other, of a few value heads of a key head at a time.
//
// Parameters: linear_parts.cuh's, with values of 1024 elements at the most, and
//
//   Gradient    (typename) element type of the result's gradient
//
// Arguments: query, key, value, decay, beta as linear_attention's, gradient as value; their
// gradients, of f32, of which all but that of the value may be nullptr; scratch. `scratch` has
// linear_attention_grad_scratch<P>() bytes, aligned to 16, that are this kernel's alone, or whose
// first linear_attention_grad_tickets<P>() bytes are zero before each launch. They are zero before
// the first one, and the kernel leaves them so.
//
// Launch: linear_attention_grad_grid<P>() blocks of 128 threads, linear_attention_grad_shared<P>()
// bytes of dynamic shared memory. With lanes(n), pitch(n) as linear_attention.cuh has them of keys,
// and each of the bytes of shared memory rounded up to 16:
//
//   columns  = 128 / lanes(depth)
//   rows     = 128 / lanes(width)
//   together = pitch(width) > 512 ? 1 : the largest divisor of heads / groups up to 4
//   grid     = 2 slots heads ceil(width / columns) + slots groups ceil(depth / rows)
//   first    = max(floor(2048 / pitch(depth)), 1) tokens: twice the bytes of pitch(depth) of Query,
//              of Key, columns of f32, and twice 1 f32, a token
//   second   = max(floor(2048 / (pitch(width) together)), 1) tokens: twice the bytes of together
//              pitch(width) of Gradient and twice of f32, rows of Query and Key and twice of f32,
//              and twice together f32, a token; and 8 together f32 a token
//   shared   = max(first, second)
//   tickets  = 4 (1 + 2 slots groups) rounded up to 16
//   scratch  = tickets + 4 slots tokens heads (width + 2 ceil(depth / rows))
//
//===----------------------------------------------------------------------===//
#pragma once

#include "linear_parts.cuh"

namespace sinter {

namespace linear {
constexpr int kGradThreads = 128, kGradWarps = kGradThreads / kWarp;
template <class P> constexpr int kGroup = P::heads / P::groups;
/// Columns and rows of a block, and blocks of a head and of a key head.
template <class P> constexpr int kGradColumns = kGradThreads / kLanes<P::depth>;
template <class P> constexpr int kGradRows = kGradThreads / kLanes<P::width>;
template <class P>
constexpr int kColumnBlocks = static_cast<int>(divide_up(P::width, kGradColumns<P>));
template <class P> constexpr int kRowBlocks = static_cast<int>(divide_up(P::depth, kGradRows<P>));
/// Value heads of a key head that are gone through together.
template <class P> SINTER_CONSTEXPR int heads_together() {
  for (int heads = kPitch<P::width> > 512 ? 1 : 4; heads > 1; --heads)
    if (kGroup<P> % heads == 0)
      return heads;
  return 1;
}

/// Tokens of passes by columns in shared memory: queries, keys, and the block's columns of values
/// or of gradients.
template <class P> struct ColumnTile {
  static constexpr int kTokens = kTileTokens<P::depth>, kRow = kPitch<P::depth>;
  static constexpr int kColumns = kGradColumns<P>;
  static constexpr int kKeys = shared_bytes<typename P::Query>(kTokens * kRow);
  static constexpr int kSlices = kKeys + shared_bytes<typename P::Key>(kTokens * kRow);
  static constexpr int kBytes = kSlices + shared_bytes<float>(kTokens * kColumns);
};
/// Tokens of passes by rows: of each head gradients, misses and gradients of values; the block's
/// elements of queries, keys, and what their gradients are so far.
template <class P> struct RowTile {
  static constexpr int kHeads = heads_together<P>(), kRow = kPitch<P::width>;
  static constexpr int kTokens = max_of(2048 / (kRow * kHeads), 1), kRows = kGradRows<P>;
  static constexpr int kMisses = shared_bytes<typename P::Gradient>(kTokens * kHeads * kRow);
  static constexpr int kValues = kMisses + shared_bytes<float>(kTokens * kHeads * kRow);
  static constexpr int kQueries = kValues + shared_bytes<float>(kTokens * kHeads * kRow);
  static constexpr int kKeys = kQueries + shared_bytes<typename P::Query>(kTokens * kRows);
  static constexpr int kOfQueries = kKeys + shared_bytes<typename P::Key>(kTokens * kRows);
  static constexpr int kOfKeys = kOfQueries + shared_bytes<float>(kTokens * kRows);
  static constexpr int kBytes = kOfKeys + shared_bytes<float>(kTokens * kRows);
  static constexpr int kWalk = walk_bytes<kTokens, kBytes, kHeads>();
  static constexpr int kSums = 2 * kGradWarps * kTokens * kHeads; ///< behind the walk's memory
};
} // namespace linear

template <class P> SINTER_CONSTEXPR int linear_attention_grad_block() {
  return linear::kGradThreads;
}
template <class P> SINTER_CONSTEXPR long long linear_attention_grad_grid() {
  return 2ll * P::slots * P::heads * linear::kColumnBlocks<P> +
         static_cast<long long>(P::slots) * P::groups * linear::kRowBlocks<P>;
}
template <class P> SINTER_CONSTEXPR int linear_attention_grad_shared() {
  using Columns = linear::ColumnTile<P>;
  using Rows = linear::RowTile<P>;
  return max_of(linear::walk_bytes<Columns::kTokens, Columns::kBytes, 1>(),
                Rows::kWalk + linear::shared_bytes<float>(Rows::kSums));
}
template <class P> SINTER_CONSTEXPR long long linear_attention_grad_tickets() {
  return round_up(4 * (1 + 2 * P::slots * P::groups), 16);
}
template <class P> SINTER_CONSTEXPR long long linear_attention_grad_scratch() {
  return linear_attention_grad_tickets<P>() +
         4ll * P::slots * P::tokens * P::heads * (P::width + 2 * linear::kRowBlocks<P>);
}

namespace linear {

/// What a launch reads and writes.
template <class P> struct Gradients {
  const typename P::Query *query;
  const typename P::Key *key;
  const typename P::Value *value;
  Gates<P> gates;
  const typename P::Gradient *gradient;
  float *ofQuery, *ofKey, *ofValue, *ofDecay, *ofBeta;
  void *scratch;

  SINTER_DEVICE unsigned *numbers() const { return static_cast<unsigned *>(scratch); }
  /// Of a slot's key head, how many blocks of passes by columns are done, and by rows.
  SINTER_DEVICE unsigned *columns_done(int of) const { return numbers() + 1 + 2 * of; }
  SINTER_DEVICE unsigned *rows_done(int of) const { return numbers() + 2 + 2 * of; }
  /// As the value.
  SINTER_DEVICE float *misses() const {
    return reinterpret_cast<float *>(static_cast<char *>(scratch) +
                                     linear_attention_grad_tickets<P>());
  }
  /// [slots, heads, row blocks, tokens] parts of dbeta, and of q . dq - k . e.
  SINTER_DEVICE float *of_keys(int slot, int head, int part) const {
    return misses() + static_cast<long long>(P::slots) * P::tokens * P::heads * P::width +
           ((static_cast<long long>(slot) * P::heads + head) * kRowBlocks<P> + part) * P::tokens;
  }
  SINTER_DEVICE float *of_queries(int slot, int head, int part) const {
    return of_keys(slot, head, part) +
           static_cast<long long>(P::slots) * P::tokens * P::heads * kRowBlocks<P>;
  }

  SINTER_DEVICE static long long key_row(int slot, int t, int group) {
    return ((static_cast<long long>(slot) * P::tokens + t) * P::groups + group) * P::depth;
  }
  SINTER_DEVICE static long long gate(int slot, int t, int head) {
    return (static_cast<long long>(slot) * P::tokens + t) * P::heads + head;
  }
  SINTER_DEVICE Gates<P> gates_of(int slot, int t, int head) const {
    return {gates.decay + gate(slot, t, head), gates.beta + gate(slot, t, head)};
  }
};

/// Copies `count` elements of rows of LENGTH elements, or parts of these, to rows of PITCH.
template <int PITCH, int LENGTH, class T>
SINTER_DEVICE void copy_parts(T *to, const T *from, long long stride, int rows, int count) {
  copy_rows<kGradThreads, PITCH, has_aligned_rows<T, PITCH>(LENGTH)>(to, from, stride, rows, count);
}

/// The first two passes over some columns of a head: misses, or gradients of values, which go
/// backwards.
template <class P, bool IS_BACKWARD>
SINTER_DEVICE void pass_columns(const Gradients<P> &all, int slot, int head, int begin) {
  using Query = typename P::Query;
  using Key = typename P::Key;
  using Tile = ColumnTile<P>;
  constexpr int kElementsOfKey = kElements<P::depth>, kStep = IS_BACKWARD ? -1 : 1;
  const int group = head / kGroup<P>, vector = threadIdx.x / kLanes<P::depth>;
  auto token_of = [&](int i) { return IS_BACKWARD ? P::tokens - 1 - i : i; };
  auto copy = [&](char *buffer, int i, int n) {
    const long long keys = all.key_row(slot, token_of(i), group);
    constexpr int kKeyStride = kStep * P::groups * P::depth;
    if constexpr (IS_BACKWARD)
      copy_parts<Tile::kRow, P::depth>(reinterpret_cast<Query *>(buffer), all.query + keys,
                                       kKeyStride, n, P::depth);
    copy_parts<Tile::kRow, P::depth>(reinterpret_cast<Key *>(buffer + Tile::kKeys), all.key + keys,
                                     kKeyStride, n, P::depth);
    const long long values = all.gate(slot, token_of(i), head) * P::width + begin;
    const int columns = min_of(P::width - begin, Tile::kColumns);
    constexpr int kStride = kStep * P::heads * P::width;
    if constexpr (IS_BACKWARD)
      copy_parts<Tile::kColumns, P::width>(
          reinterpret_cast<typename P::Gradient *>(buffer + Tile::kSlices), all.gradient + values,
          kStride, n, columns);
    else
      copy_parts<Tile::kColumns, P::width>(
          reinterpret_cast<typename P::Value *>(buffer + Tile::kSlices), all.value + values,
          kStride, n, columns);
  };
  float state[kElementsOfKey] = {};
  auto compute = [&](const char *buffer, const float *factors, const float *betas, int first,
                     int n) {
    const auto *queries = reinterpret_cast<const Query *>(buffer);
    const auto *keys = reinterpret_cast<const Key *>(buffer + Tile::kKeys);
    float k[kElementsOfKey], q[kElementsOfKey];
    for (int t = 0; t < n; ++t) {
      read_vector<P::depth>(k, keys + t * Tile::kRow);
      const float factor = factors[t], beta = betas[t];
      float found;
      if constexpr (IS_BACKWARD) {
        read_vector<P::depth>(q, queries + t * Tile::kRow);
        const auto *slices = reinterpret_cast<const typename P::Gradient *>(buffer + Tile::kSlices);
        const float o =
            static_cast<float>(P::scale) * to_float(slices[t * Tile::kColumns + vector]);
#pragma unroll
        for (int i = 0; i < kElementsOfKey; ++i)
          state[i] = fma(o, q[i], state[i]);
        found = beta * dot<P::depth>(k, state);
#pragma unroll
        for (int i = 0; i < kElementsOfKey; ++i)
          state[i] = factor * (P::additive ? state[i] : fma(-found, k[i], state[i]));
      } else {
        const auto *slices = reinterpret_cast<const typename P::Value *>(buffer + Tile::kSlices);
        found = to_float(slices[t * Tile::kColumns + vector]);
        if constexpr (!P::additive) {
          found = fma(-factor, dot<P::depth>(k, state), found);
          const float step = beta * found;
#pragma unroll
          for (int i = 0; i < kElementsOfKey; ++i)
            state[i] = fma(k[i], step, factor * state[i]);
        }
      }
      if (own_lane<P::depth>() == 0 && begin + vector < P::width)
        (IS_BACKWARD ? all.ofValue
                     : all.misses())[all.gate(slot, token_of(first + t), head) * P::width + begin +
                                     vector] = found;
    }
  };
  walk<P, Tile::kTokens, Tile::kBytes, kGradThreads, kStep, 1>(
      all.gates_of(slot, token_of(0), head), P::tokens, dynamic_shared<char>(), copy, compute);
}

/// The last two passes over some rows of a few heads of a key head: gradients of queries, or of
/// keys, which go backwards.
template <class P, bool IS_BACKWARD>
SINTER_DEVICE void pass_rows(const Gradients<P> &all, int slot, int group, int part, int first) {
  using Query = typename P::Query;
  using Key = typename P::Key;
  using Gradient = typename P::Gradient;
  using Tile = RowTile<P>;
  constexpr int kHeads = Tile::kHeads, kElementsOfValue = kElements<P::width>;
  constexpr int kStep = IS_BACKWARD ? -1 : 1;
  const int head = group * kGroup<P> + first, begin = part * Tile::kRows;
  const int vector = threadIdx.x / kLanes<P::width>, rows = min_of(P::depth - begin, Tile::kRows);
  const bool writes = own_lane<P::width>() == 0 && vector < rows;
  auto token_of = [&](int i) { return IS_BACKWARD ? P::tokens - 1 - i : i; };
  // What is added to is nothing at first.
  const bool hasQueries = !IS_BACKWARD && first > 0 && all.ofQuery;
  const bool hasKeys = (IS_BACKWARD || first > 0) && all.ofKey;
  auto copy = [&](char *buffer, int i, int n) {
    const long long keys = all.key_row(slot, token_of(i), group) + begin;
    const long long values = all.gate(slot, token_of(i), head) * P::width;
    constexpr int kKeyStride = kStep * P::groups * P::depth;
    constexpr int kStride = kStep * P::heads * P::width;
#pragma unroll 1
    for (int h = 0; h < kHeads; ++h) {
      const int to = h * Tile::kTokens * Tile::kRow;
      const long long from = values + h * P::width;
      copy_parts<Tile::kRow, P::width>(reinterpret_cast<Gradient *>(buffer) + to,
                                       all.gradient + from, kStride, n, P::width);
      copy_parts<Tile::kRow, P::width>(reinterpret_cast<float *>(buffer + Tile::kMisses) + to,
                                       all.misses() + from, kStride, n, P::width);
      copy_parts<Tile::kRow, P::width>(reinterpret_cast<float *>(buffer + Tile::kValues) + to,
                                       all.ofValue + from, kStride, n, P::width);
    }
    copy_parts<Tile::kRows, P::depth>(reinterpret_cast<Query *>(buffer + Tile::kQueries),
                                      all.query + keys, kKeyStride, n, rows);
    copy_parts<Tile::kRows, P::depth>(reinterpret_cast<Key *>(buffer + Tile::kKeys), all.key + keys,
                                      kKeyStride, n, rows);
    copy_parts<Tile::kRows, P::depth>(reinterpret_cast<float *>(buffer + Tile::kOfQueries),
                                      hasQueries ? all.ofQuery + keys : all.misses(), kKeyStride, n,
                                      hasQueries ? rows : 0);
    copy_parts<Tile::kRows, P::depth>(reinterpret_cast<float *>(buffer + Tile::kOfKeys),
                                      hasKeys ? all.ofKey + keys : all.misses(), kKeyStride, n,
                                      hasKeys ? rows : 0);
  };
  // What the rows of a warp have found of a token and head, in turns: [2][tokens][heads][warps].
  auto *sums = reinterpret_cast<float *>(dynamic_shared<char>() + Tile::kWalk);
  auto write_sums = [&](int before, int n, int turn) {
    for (int i = threadIdx.x; i < n * kHeads; i += kGradThreads) {
      const float *parts = sums + (turn * Tile::kTokens * kHeads + i) * kGradWarps;
      float sum = 0;
#pragma unroll
      for (int warp = 0; warp < kGradWarps; ++warp)
        sum += parts[warp];
      const int h = head + i % kHeads;
      (IS_BACKWARD ? all.of_keys(slot, h, part)
                   : all.of_queries(slot, h, part))[token_of(before + i / kHeads)] = sum;
    }
  };
  float states[kHeads][kElementsOfValue] = {};
  int turn = 0, done = 0;
  auto compute = [&](const char *buffer, const float *factors, const float *betas, int i, int n) {
    // All warps have been at the barrier behind the tile before.
    if (i > 0)
      write_sums(i - Tile::kTokens, Tile::kTokens, turn ^ 1);
    for (int t = 0; t < n; ++t) {
      const int own = t * Tile::kRows + vector;
      const float q = to_float(reinterpret_cast<const Query *>(buffer + Tile::kQueries)[own]);
      const float k = to_float(reinterpret_cast<const Key *>(buffer + Tile::kKeys)[own]);
      float ofQuery = reinterpret_cast<const float *>(buffer + Tile::kOfQueries)[own];
      float ofKey = reinterpret_cast<const float *>(buffer + Tile::kOfKeys)[own];
#pragma unroll
      for (int h = 0; h < kHeads; ++h) {
        float (&state)[kElementsOfValue] = states[h];
        const int row = (h * Tile::kTokens + t) * Tile::kRow;
        const float factor = factors[t * kHeads + h], beta = betas[t * kHeads + h];
        float o[kElementsOfValue], m[kElementsOfValue], v[kElementsOfValue];
        read_vector<P::width>(o, reinterpret_cast<const Gradient *>(buffer) + row);
        read_vector<P::width>(m, reinterpret_cast<const float *>(buffer + Tile::kMisses) + row);
        read_vector<P::width>(v, reinterpret_cast<const float *>(buffer + Tile::kValues) + row);
        float found;
        if constexpr (IS_BACKWARD) {
#pragma unroll
          for (int c = 0; c < kElementsOfValue; ++c)
            state[c] = fma(static_cast<float>(P::scale) * q, o[c], state[c]);
          const float missed = dot<P::width>(m, state);
#pragma unroll
          for (int c = 0; c < kElementsOfValue; ++c)
            state[c] = factor * (P::additive ? state[c] : fma(-k, v[c], state[c]));
          ofKey = fma(beta, missed, ofKey);
          found = k * missed;
        } else {
          const float known = P::additive ? 0.0f : factor * dot<P::width>(v, state);
#pragma unroll
          for (int c = 0; c < kElementsOfValue; ++c)
            state[c] = fma(k * beta, m[c], factor * state[c]);
          const float said = static_cast<float>(P::scale) * dot<P::width>(o, state);
          ofQuery += said;
          ofKey -= known;
          found = fma(q, said, -(k * known));
        }
        // The same in all lanes of a row: over the warp's rows.
#pragma unroll
        for (int step = kLanes<P::width>; step < kWarp; step *= 2)
          found += __shfl_xor_sync(0xffffffffu, found, step);
        if (lane_index() == 0)
          sums[((turn * Tile::kTokens + t) * kHeads + h) * kGradWarps + warp_index()] = found;
      }
      const long long at = all.key_row(slot, token_of(i + t), group) + begin + vector;
      if (!IS_BACKWARD && writes && all.ofQuery)
        all.ofQuery[at] = ofQuery;
      if (writes && all.ofKey)
        all.ofKey[at] = ofKey;
    }
    done = i;
    turn ^= 1;
  };
  walk<P, Tile::kTokens, Tile::kBytes, kGradThreads, kStep, kHeads>(
      all.gates_of(slot, token_of(0), head), P::tokens, dynamic_shared<char>(), copy, compute);
  __syncthreads();
  write_sums(done, P::tokens - done, turn ^ 1);
  __syncthreads();
}

/// The gradients of a head's decays and betas, of what the parts of its rows have found: a thread
/// has some tokens side by side, and adds to its own sums those of the threads behind it.
template <class P> SINTER_DEVICE void finish_head(const Gradients<P> &all, int slot, int head) {
  constexpr int kSpan = static_cast<int>(divide_up(P::tokens, kGradThreads));
  const int begin = threadIdx.x * kSpan, end = min_of(begin + kSpan, P::tokens);
  auto sum_parts = [&](const float *parts, int t) {
    float sum = 0;
    for (int part = 0; part < kRowBlocks<P>; ++part)
      sum += parts[static_cast<long long>(part) * P::tokens + t];
    return sum;
  };
  auto find = [&](int t, float ofBeta) {
    return fma(-to_float(all.gates.beta[all.gate(slot, t, head)]), ofBeta,
               sum_parts(all.of_queries(slot, head, 0), t));
  };
  float own = 0;
  for (int t = begin; t < end; ++t) {
    const float ofBeta = sum_parts(all.of_keys(slot, head, 0), t);
    if (all.ofBeta)
      all.ofBeta[all.gate(slot, t, head)] = ofBeta;
    own += find(t, ofBeta);
  }
  if (!all.ofDecay)
    return;
  auto *sums = dynamic_shared<float>();
  sums[threadIdx.x] = own;
  __syncthreads();
  float later = 0;
  for (int thread = kGradThreads - 1; thread > static_cast<int>(threadIdx.x); --thread)
    later += sums[thread];
  for (int t = end - 1; t >= begin; --t) {
    later += find(t, sum_parts(all.of_keys(slot, head, 0), t));
    all.ofDecay[all.gate(slot, t, head)] = later;
  }
  __syncthreads();
}

} // namespace linear

template <class P>
SINTER_DEVICE void
linear_attention_grad(const typename P::Query *query, const typename P::Key *key,
                      const typename P::Value *value, const typename P::Decay *decay,
                      const typename P::Beta *beta, const typename P::Gradient *gradient,
                      float *ofQuery, float *ofKey, float *ofValue, float *ofDecay, float *ofBeta,
                      void *scratch) {
  pdl_launch_dependents();
  pdl_wait();
  const linear::Gradients<P> all = {query, key,     value,   {decay, beta}, gradient, ofQuery,
                                    ofKey, ofValue, ofDecay, ofBeta,        scratch};
  constexpr int kColumnBlocks = linear::kColumnBlocks<P>, kRowBlocks = linear::kRowBlocks<P>;
  constexpr int kEach = P::slots * P::heads * kColumnBlocks;
  const int number = static_cast<int>(
      take_number(all.numbers(), static_cast<unsigned>(linear_attention_grad_grid<P>())));
  if (number < 2 * kEach) {
    // In turns, so that a key head's are done soon.
    const int of = number / 2 / kColumnBlocks, slot = of / P::heads, head = of % P::heads;
    const int begin = number / 2 % kColumnBlocks * linear::kGradColumns<P>;
    if (number % 2 == 0)
      linear::pass_columns<P, false>(all, slot, head, begin);
    else
      linear::pass_columns<P, true>(all, slot, head, begin);
    announce(all.columns_done(slot * P::groups + head / linear::kGroup<P>));
    return;
  }
  const int of = (number - 2 * kEach) / kRowBlocks, part = (number - 2 * kEach) % kRowBlocks;
  const int slot = of / P::groups, group = of % P::groups;
  wait_for(all.columns_done(of), 2 * linear::kGroup<P> * kColumnBlocks);
  for (int first = 0; first < linear::kGroup<P>; first += linear::heads_together<P>()) {
    linear::pass_rows<P, false>(all, slot, group, part, first);
    linear::pass_rows<P, true>(all, slot, group, part, first);
  }
  if (!arrive_last(all.rows_done(of), kRowBlocks))
    return;
  // All that waited for it have gone on.
  if (threadIdx.x == 0)
    *all.columns_done(of) = 0;
  for (int h = 0; h < linear::kGroup<P>; ++h)
    linear::finish_head<P>(all, slot, group * linear::kGroup<P> + h);
}

} // namespace sinter
