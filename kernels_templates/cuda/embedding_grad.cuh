//===- embedding_grad.cuh - Rows added where ids say ------------*- C++ -*-===//
//
// sinter.embedding_grad: result[ids[t], :] += gradient[t, :] for t in order, from `into` or from
// zeros. An id outside of the table adds to its nearest row; the id `padding` adds nothing. With a
// start the table is the rows of a larger one from there on, and an id outside adds nothing.
//
// Versions:
//
//   owned  A block owns 64 rows of the table and 128 of their columns, and keeps their sums in
//          shared memory. All ids pass by, 1024 at a time; those of its rows are put in a list in
//          their order, and the block adds the gradients of the list one after another, a column a
//          thread. No atomics: the bits are the same in every run. Every block reads all ids, which
//          stay in the L2 cache; a gradient's row is read once. A frequent token is one block's
//          chain of additions in shared memory, whose gradients are loaded 4 at a time.
//
// (Adding with atomics is as fast for rare tokens and slower for frequent ones, and changes bits
// from run to run; sorting tokens first needs more kernels than it saves.)
//
// Parameters:
//
//   Element     element type of gradient
//   tokens, rows, width   (int) ids, fewer than 2^25; rows of the table; elements of a row
//   hasPadding, padding   (bool, int)
//   hasInto     (bool) whether the sums begin with `into`, which may be the result itself; nullptr
//               if not
//   hasStart    (bool) whether there is a start; nullptr if not
//
// Arguments: ids (i32 [tokens]), gradient [tokens, width], into, start (i32 [1]), result (f32
// [rows, width]).
//
// Launch: embedding_grad_grid<P>() blocks of 128 threads, embedding_grad_shared<P>() bytes.
//
//   grid   = ceil(rows / 64) ceil(width / 128)
//   shared = 4 (64 * 128 + 8 (128 + 4))
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

namespace embedding {
constexpr int kRows = 64, kThreads = 128, kWarps = kThreads / kWarp;
/// Ids that a thread looks at together, and gradients that it loads before it adds them.
constexpr int kIds = 8, kAhead = 4;
} // namespace embedding

template <class P> SINTER_CONSTEXPR int embedding_grad_block() { return embedding::kThreads; }
template <class P> SINTER_CONSTEXPR long long embedding_grad_grid() {
  return divide_up(P::rows, embedding::kRows) * divide_up(P::width, embedding::kThreads);
}
template <class P> SINTER_CONSTEXPR int embedding_grad_shared() {
  using namespace embedding;
  return 4 * (kRows * kThreads + kIds * (kThreads + kWarps));
}

template <class P>
SINTER_DEVICE void embedding_grad(const int *ids, const typename P::Element *gradient,
                                  const float *into, const int *start, float *result) {
  using namespace embedding;
  constexpr int kParts = static_cast<int>(divide_up(P::width, kThreads));
  const int thread = threadIdx.x, lane = lane_index(), warp = warp_index();
  const int first = blockIdx.x / kParts * kRows;
  const int rows = min_of(kRows, P::rows - first);
  const int column = blockIdx.x % kParts * kThreads + thread;
  const bool exists = column < P::width;

  float *sums = dynamic_shared<float>();
  // The list: kRows times a token, and the place of its row among the block's.
  static_assert(P::tokens < (1 << 25), "an element of the list is of 31 bits");
  int *list = reinterpret_cast<int *>(sums + kRows * kThreads), *counts = list + kIds * kThreads;
  for (int row = 0; row < rows; ++row) {
    const long long element = static_cast<long long>(first + row) * P::width + column;
    sums[row * kThreads + thread] = P::hasInto && exists ? into[element] : 0.0f;
  }
  const int firstId = P::hasStart ? *start + first : first;
  // Which of the block's rows a token's id names, or none of them.
  auto find = [&](int token) {
    if (token >= P::tokens)
      return -1;
    const int id = ids[token];
    if (P::hasPadding && id == P::padding)
      return -1;
    return (P::hasStart ? id : max_of(0, min_of(id, P::rows - 1))) - firstId;
  };
  for (int begin = 0; begin < P::tokens; begin += kIds * kThreads) {
    int found[kIds];
#pragma unroll
    for (int k = 0; k < kIds; ++k)
      found[k] = find(begin + k * kThreads + thread);
    auto find_ours = [&](int k) {
      return __ballot_sync(0xFFFFFFFFu, found[k] >= 0 && found[k] < rows);
    };
#pragma unroll
    for (int k = 0; k < kIds; ++k) {
      const int ours = __popc(find_ours(k));
      if (lane == 0)
        counts[k * kWarps + warp] = ours;
    }
    __syncthreads();
    int count = 0;
#pragma unroll
    for (int k = 0; k < kIds; ++k) {
      const unsigned ours = find_ours(k);
      int place = count + __popc(ours & ((1u << lane) - 1));
#pragma unroll
      for (int other = 0; other < kWarps; ++other) {
        place += other < warp ? counts[k * kWarps + other] : 0;
        count += counts[k * kWarps + other];
      }
      if (ours >> lane & 1)
        list[place] = (begin + k * kThreads + thread) * kRows + found[k];
    }
    __syncthreads();
    for (int i = 0; exists && i < count; i += kAhead) {
      float terms[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
        if (i + k < count)
          terms[k] =
              to_float(gradient[static_cast<long long>(list[i + k] / kRows) * P::width + column]);
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
        if (i + k < count)
          sums[list[i + k] % kRows * kThreads + thread] += terms[k];
    }
  }
  if (exists)
    for (int row = 0; row < rows; ++row)
      result[static_cast<long long>(first + row) * P::width + column] =
          sums[row * kThreads + thread];
}

} // namespace sinter
