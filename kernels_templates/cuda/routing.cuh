//===- routing.cuh - Choosing experts, and their order ----------*- C++ -*-===//
//
// sinter.top_k and sinter.route, the same numbers in the same places as a processor's.
//
// top_k   The k largest elements of each row, the largest first. A warp searches a row k times. Of
//         an element a key is compared, a whole number with the element's place in the order of
//         numbers above and its place in the row below: no two are equal, and the next one is the
//         largest that is less than the one before. Rows are short, and stay in the L1 cache.
//
// route   Assignments in the order of experts. A block owns an expert: it counts the assignments of
//         those before, and goes along all of them once more, a batch of its threads at a time, of
//         which each tells by a ballot how many before it are the expert's, too. No atomics, and
//         nothing that one block needs of another.
//
// Parameters:
//
//   Element      (top_k) element type of the rows
//   rows, width, k   (top_k) (int) rows, their length, how many are chosen of each
//   tokens, k, experts   (route) (int) ids are [tokens, k]
//
// Arguments: of top_k operand [rows, width], values and indices [rows, k]; of route ids, order,
// tokenOf (both [tokens * k]), places [tokens, k] and offsets [experts + 1]. Results that nobody
// needs are nullptr.
//
// Launch: <function>_grid<P>() blocks of <function>_block<P>() threads, no dynamic shared memory.
//
//   top_k   grid = ceil(rows / 4), block = 128
//   route   grid = experts, block = 512
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

template <class P> SINTER_CONSTEXPR int top_k_block() { return 4 * kWarp; }
template <class P> SINTER_CONSTEXPR long long top_k_grid() { return divide_up(P::rows, 4); }
template <class P> SINTER_CONSTEXPR int top_k_shared() { return 0; }

template <class P> SINTER_CONSTEXPR int route_block() { return 512; }
template <class P> SINTER_CONSTEXPR long long route_grid() { return P::experts; }
template <class P> SINTER_CONSTEXPR int route_shared() { return 0; }

namespace routing {
/// The key of the element at `place` of a row. Numbers are ordered as integers are once those with
/// a sign have their other bits turned; adding zero makes one of both zeros; NaN is below all.
template <class P> SINTER_DEVICE long long key_of(float x, int place) {
  int bits = __builtin_bit_cast(int, x + 0.0f);
  bits = x == x ? bits ^ (bits >> 31 & 0x7fffffff) : -0x7fffffff;
  return bits * (1ll << 32) + (P::width - 1 - place);
}
} // namespace routing

template <class P>
SINTER_DEVICE void top_k(const typename P::Element *operand, typename P::Element *values,
                         int *indices) {
  pdl_launch_dependents();
  pdl_wait();
  constexpr long long kLeast = -0x7fffffffffffffffll - 1;
  const long long row = static_cast<long long>(blockIdx.x) * 4 + warp_index();
  if (row >= P::rows)
    return;
  const typename P::Element *elements = operand + row * P::width;
  long long last = 0x7fffffffffffffffll;
  for (int j = 0; j < P::k; ++j) {
    long long next = kLeast;
    for (int i = lane_index(); i < P::width; i += kWarp) {
      const long long key = routing::key_of<P>(to_float(elements[i]), i);
      next = max_of(next, key < last ? key : kLeast);
    }
    last = warp_reduce_max(next);
    if (lane_index() != 0)
      continue;
    const int place = P::width - 1 - static_cast<int>(last & 0xffffffff);
    if (values)
      values[row * P::k + j] = elements[place];
    if (indices)
      indices[row * P::k + j] = place;
  }
}

template <class P>
SINTER_DEVICE void route(const int *ids, int *order, int *tokenOf, int *places, int *offsets) {
  pdl_launch_dependents();
  pdl_wait();
  constexpr int kThreads = route_block<P>(), kWarps = kThreads / kWarp;
  constexpr int kCount = P::tokens * P::k;
  const int expert = blockIdx.x, thread = threadIdx.x;
  // An id outside of the experts is that of the nearest one.
  auto find = [&](int i) { return max_of(0, min_of(ids[i], P::experts - 1)); };

  int before = 0;
  for (int i = thread; i < kCount; i += kThreads)
    before += find(i) < expert;
  int row = block_reduce_sum<kThreads>(before);
  if (thread == 0 && offsets) {
    offsets[expert] = row;
    if (expert == P::experts - 1)
      offsets[P::experts] = kCount;
  }
  // Batches take turns: who writes has passed the barrier that those who read it were before.
  __shared__ int counts[2][kWarps];
  for (int begin = 0, turn = 0; begin < kCount; begin += kThreads, turn ^= 1) {
    const int i = begin + thread;
    const bool isOurs = i < kCount && find(i) == expert;
    const unsigned ours = __ballot_sync(0xffffffffu, isOurs);
    if (lane_index() == 0)
      counts[turn][warp_index()] = __popc(ours);
    __syncthreads();
    int place = row + __popc(ours & ((1u << lane_index()) - 1));
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      place += warp < warp_index() ? counts[turn][warp] : 0;
      row += counts[turn][warp];
    }
    if (!isOurs)
      continue;
    if (order)
      order[place] = i;
    if (tokenOf)
      tokenOf[place] = i / P::k;
    if (places)
      places[i] = place;
  }
}

} // namespace sinter
