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
//   plain     any element types, any sizes up to 512; as in attention_forward.cuh: f32 tiles in
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
//   warpgroups
//             The same for sm_90a (wgmma) and head sizes 64 and 128: a warpgroup has 64 of the rows
//             that stay, and 64 pass by at a time. Its products read their right sides from shared
//             memory themselves, and the left ones of S and D, at the full rate of the units, which
//             mma.sync does not reach there; and what a warp need not load it does not wait for. P
//             and dS are left sides in registers again. One thread's registers hold both results of
//             keys. Where there are blocks enough, two warpgroups share what passes by, and one
//             computes with scores while the other's products are under way.
//
// Parameters: attention.cuh's, and
//   Gradient  element type of gradient, [batch, length, heads, headSize], dense
//   Result    element type of the results, dense, of q's shape or k's
//   warpgroups
//             (bool) the version of warpgroups may be used
//
// Arguments: query, key, value, gradient, logsumexp (f32 [batch, length, heads]), delta (the same),
// start, first, slopes, seed, and dK and dV, or dQ.
//
// Launch: attention_backward_<keys|queries>_grid<P>() blocks of .._block<P>() threads with
// .._shared<P>() bytes.
//
//   matrices = attention_forward's, and Gradient is Element
//   groups   = matrices && warpgroups && (headSize == 64 || headSize == 128)
//   tall     = matrices && (groups || (headSize <= 128 && dropout == 0)) &&
//              keys:    batch * keyHeads * ceil(maxSequence / 128) >= 264
//              queries: batch * heads * ceil(length / 128) >= 264,
//              if 128 rows fit into sharedMemory
//   wide     = headSize > 256: 32 rows and 16 passing where these fit into sharedMemory with 512
//              bytes of info, else 16 and 8
//   rows     = matrices ? (tall ? 128 : 64) : wide ? 32 or 16 : headSize > 64 ? 32 : 64
//   passing  = groups ? 64 : matrices ? (headSize > 64 ? 32 : 64) : wide ? 16 or 8
//                          : headSize > 128 ? 16 : 32
//   grid     = keys:    batch * keyHeads * ceil(maxSequence / rows)
//              queries: batch * heads * ceil(length / rows)
//   block    = groups ? 2 rows : wide ? 8 rows : keys && matrices && headSize > 128 ? 256 : 128
//   info     = 16 (keys ? 2 passing : rows)
//   shared   = groups   ? 896 + info + 2 (2 rows + 4 passing) headSize
//            : matrices ? info + 2 (2 rows + 4 passing) (headSize + 8)
//                       : info + 4 ((2 rows + 2 passing) (columns + 4) + 2 rows (passing + 4))
//                         with columns = headSize rounded up to 32
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention_backward_matrices.cuh"
#include "attention_backward_plain.cuh"
#include "attention_backward_warpgroups.cuh"

namespace sinter {
namespace attention {

template <class P, bool KEYS>
SINTER_DEVICE void backward(const BackwardOperands<P> &operands, typename P::Result *firstResult,
                            typename P::Result *secondResult) {
  if constexpr (backward_uses_warpgroups<P>()) {
    backward_warpgroups<P, KEYS>(operands, firstResult, secondResult);
  } else if constexpr (KEYS && backward_takes_turns<P>()) {
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
  return P::batch * P::keyHeads * divide_up(P::maxSequence, attention::backward_rows<P, true>());
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
