//===- linear_parts.cuh - What linear attention's templates share -*- C++ -*-===//
//
// A vector of N elements (a key, or a value) lies in the registers of a few neighbouring lanes of a
// warp, pieces of four elements in turn; those beyond N are zero. So does a vector of a state that
// is multiplied by it. Sums over one have one order: a lane's elements in four sums, then lanes.
//
// Parameters P of both templates:
//
//   Query, Key, Value, Decay, Beta   (typename) element types
//   slots, tokens, groups, heads     (int) groups divide heads
//   depth, width                     (int) elements of a key, to 1024, and of a value
//   scale                            (double)
//   additive                         (bool) keys and values are added, and not by the delta rule
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {
namespace linear {

/// Lanes that have a vector of N elements together, and the elements of each.
template <int N> constexpr int kLanes = N <= 128 ? 8 : N <= 256 ? 16 : 32;
template <int N> constexpr int kElements = 4 * static_cast<int>(divide_up(N, 4 * kLanes<N>));
template <int N> constexpr int kPitch = kLanes<N> * kElements<N>;
/// Tokens whose vectors of N elements are in shared memory at a time.
template <int N> constexpr int kTileTokens = max_of(2048 / kPitch<N>, 1);

/// Bytes of shared memory that so many elements take.
template <class T> SINTER_CONSTEXPR int shared_bytes(int count) {
  return static_cast<int>(round_up(count * static_cast<int>(sizeof(T)), 16));
}

/// The warp's own lane among those that have a vector, and which of the warp's vectors that is.
template <int N> SINTER_DEVICE int own_lane() { return lane_index() % kLanes<N>; }
template <int N> SINTER_DEVICE int own_vector() { return lane_index() / kLanes<N>; }
/// Which element of a vector is the lane's i-th.
template <int N> SINTER_DEVICE int element_of(int i) {
  return (i / 4 * kLanes<N> + own_lane<N>()) * 4 + i % 4;
}

/// Reads a lane's elements of a vector in shared memory, kPitch<N> elements.
template <int N, class T>
SINTER_DEVICE void read_vector(float (&to)[kElements<N>], const T *vector) {
#pragma unroll
  for (int i = 0; i < kElements<N>; i += 4) {
    const auto four = to_floats(load<T, 4>(vector + element_of<N>(i)));
#pragma unroll
    for (int j = 0; j < 4; ++j)
      to[i + j] = four[j];
  }
}

/// The product of two vectors, in each lane that has a part of them.
template <int N>
SINTER_DEVICE float dot(const float (&a)[kElements<N>], const float (&b)[kElements<N>]) {
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < kElements<N>; ++i)
    sums[i % 4] = fma(a[i], b[i], sums[i % 4]);
  return warp_reduce_sum<kLanes<N>>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Copies the first `columns` elements of rows to rows of PITCH elements in shared memory, all
/// THREADS threads together, and makes the others zero: there after a wait for the group and a
/// barrier. IS_ALIGNED says that rows and columns are multiples of 16 bytes.
template <int THREADS, int PITCH, bool IS_ALIGNED, class T>
SINTER_DEVICE void copy_rows(T *shared, const T *global, long long stride, int rows, int columns) {
  if constexpr (IS_ALIGNED) {
    constexpr int kPieces = PITCH / kVector<T>;
    static_assert(PITCH % kVector<T> == 0, "a row is a multiple of 16 bytes");
#pragma unroll 1
    for (int i = threadIdx.x; i < rows * kPieces; i += THREADS) {
      const int row = i / kPieces, column = i % kPieces * kVector<T>;
      cp_async_16_if(column < columns, shared + row * PITCH + column,
                     column < columns ? global + row * stride + column : global);
    }
  } else {
#pragma unroll 1
    for (int i = threadIdx.x; i < rows * PITCH; i += THREADS) {
      const int row = i / PITCH, column = i % PITCH;
      shared[i] = column < columns ? global[row * stride + column] : from_float<T>(0.0f);
    }
  }
}
template <class T, int PITCH> SINTER_CONSTEXPR bool has_aligned_rows(int length) {
  return length * sizeof(T) % 16 == 0 && PITCH * sizeof(T) % 16 == 0;
}

/// The decays and betas of heads, whose token t has them from t * heads on.
template <class P> struct Gates {
  const typename P::Decay *decay;
  const typename P::Beta *beta;
};

/// Goes along `count` tokens, TILE of them at a time, with two buffers of BYTES bytes each in
/// shared memory: `copy(buffer, begin, n)` begins to bring n tokens into one while
/// `compute(buffer, factors, betas, begin, n)` has the tokens before them in the other, with
/// exp(decay) and beta of HEADS neighbouring heads of each. STEP is -1 where the gates are of the
/// last token and all goes backwards.
template <class P, int TILE, int BYTES, int THREADS, int STEP, int HEADS, class Copy, class Compute>
SINTER_DEVICE void walk(const Gates<P> &gates, int count, char *shared, Copy copy,
                        Compute compute) {
  constexpr int kGates = TILE * HEADS, kBuffer = BYTES + 2 * shared_bytes<float>(kGates);
  static_assert(kGates <= THREADS, "a thread has the gates of a token and head");
  auto factors_of = [&](int turn) {
    return reinterpret_cast<float *>(shared + turn * kBuffer + BYTES);
  };
  auto betas_of = [&](int turn) {
    return reinterpret_cast<float *>(shared + turn * kBuffer + BYTES + shared_bytes<float>(kGates));
  };
  const int thread = threadIdx.x;
  float decay = 0, beta = 0;
  auto begin_tile = [&](int begin, int turn) {
    const int n = min_of(TILE, count - begin);
    copy(shared + turn * kBuffer, begin, n);
    cp_async_commit();
    if (thread < n * HEADS) {
      const long long at =
          static_cast<long long>(begin + thread / HEADS) * STEP * P::heads + thread % HEADS;
      decay = to_float(gates.decay[at]);
      beta = to_float(gates.beta[at]);
    }
  };
  auto finish_gates = [&](int turn) {
    if (thread < kGates) {
      factors_of(turn)[thread] = exp(decay);
      betas_of(turn)[thread] = beta;
    }
  };
  for (int begin = -TILE, turn = 1; begin < count; begin += TILE, turn ^= 1) {
    // Behind this barrier nobody reads the other buffer any more.
    cp_async_wait<0>();
    __syncthreads();
    const bool goesOn = begin + TILE < count;
    if (goesOn)
      begin_tile(begin + TILE, turn ^ 1);
    if (begin >= 0)
      compute(shared + turn * kBuffer, factors_of(turn), betas_of(turn), begin,
              min_of(TILE, count - begin));
    if (goesOn)
      finish_gates(turn ^ 1);
  }
}
/// Bytes of shared memory that `walk` is given.
template <int TILE, int BYTES, int HEADS> SINTER_CONSTEXPR int walk_bytes() {
  return 2 * (BYTES + 2 * shared_bytes<float>(TILE * HEADS));
}

} // namespace linear
} // namespace sinter
