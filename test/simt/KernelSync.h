//===- KernelSync.h - Barriers, shuffles and votes by CUDA's names -*- C++ -*-===//
#pragma once

SINTER_SIMT_INLINE void __syncthreads() { sinter::simt::blockBarrier(); }
SINTER_SIMT_INLINE int __syncthreads_count(int predicate) {
  return int(sinter::simt::blockVote(predicate != 0).count);
}
SINTER_SIMT_INLINE int __syncthreads_or(int predicate) {
  return sinter::simt::blockVote(predicate != 0).count != 0;
}
SINTER_SIMT_INLINE int __syncthreads_and(int predicate) {
  return sinter::simt::blockVote(predicate != 0).all;
}
SINTER_SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { sinter::simt::warpBarrier(mask); }

SINTER_SIMT_INLINE void __threadfence() { sinter::simt::deviceFence(); }
SINTER_SIMT_INLINE void __threadfence_system() { sinter::simt::deviceFence(); }
// Orders what the caller's block sees of its own accesses, which here are in order anyway; it makes
// no thread wait for another, so it orders nothing for the detector of races.
SINTER_SIMT_INLINE void __threadfence_block() {}
SINTER_SIMT_INLINE void __nanosleep(unsigned) { sinter::simt::yield(); }

// The source lanes follow the PTX ISA, "shfl.sync": segments of `width` lanes; a lane whose source
// is outside of its segment keeps its own value.
template <typename T>
SINTER_SIMT_INLINE T sinter_simt_shuffle(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = sinter::simt::shuffle(mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T>
SINTER_SIMT_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  unsigned lane = sinter::simt::laneId(), segment = ~unsigned(width - 1);
  return sinter_simt_shuffle(mask, value, (lane & segment) | (unsigned(source) & ~segment));
}
template <typename T>
SINTER_SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  unsigned lane = sinter::simt::laneId();
  bool inside = (lane & unsigned(width - 1)) >= delta;
  return sinter_simt_shuffle(mask, value, inside ? lane - delta : lane);
}
template <typename T>
SINTER_SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  unsigned lane = sinter::simt::laneId();
  bool inside = (lane & unsigned(width - 1)) + delta < unsigned(width);
  return sinter_simt_shuffle(mask, value, inside ? lane + delta : lane);
}
template <typename T>
SINTER_SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  unsigned lane = sinter::simt::laneId(), source = lane ^ unsigned(bits);
  bool inside = source <= (lane | unsigned(width - 1));
  return sinter_simt_shuffle(mask, value, inside ? source : lane);
}

SINTER_SIMT_INLINE unsigned __activemask() { return sinter::simt::liveLanes(); }
SINTER_SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return sinter::simt::ballot(mask, predicate != 0);
}
SINTER_SIMT_INLINE int __any_sync(unsigned mask, int predicate) {
  return sinter::simt::ballot(mask, predicate != 0) != 0;
}
SINTER_SIMT_INLINE int __all_sync(unsigned mask, int predicate) {
  return sinter::simt::ballot(mask, predicate == 0) == 0;
}
template <typename T> SINTER_SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  static_assert(sizeof(T) <= 8);
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return sinter::simt::matchAny(mask, bits);
}

/// The __reduce_*_sync family: every lane of the mask gets the reduction over all of them.
template <typename T, typename Combine>
SINTER_SIMT_INLINE T sinter_simt_reduce(unsigned mask, T value, Combine combine) {
  T result = T();
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      T other = sinter_simt_shuffle(mask, value, lane);
      result = first ? other : combine(result, other);
      first = false;
    }
  return result;
}
SINTER_SIMT_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return sinter_simt_reduce(mask, value, [](unsigned a, unsigned b) { return a + b; });
}
SINTER_SIMT_INLINE int __reduce_add_sync(unsigned mask, int value) {
  return int(__reduce_add_sync(mask, unsigned(value)));
}
template <typename T> SINTER_SIMT_INLINE T __reduce_max_sync(unsigned mask, T value) {
  return sinter_simt_reduce(mask, value, [](T a, T b) { return a < b ? b : a; });
}
template <typename T> SINTER_SIMT_INLINE T __reduce_min_sync(unsigned mask, T value) {
  return sinter_simt_reduce(mask, value, [](T a, T b) { return b < a ? b : a; });
}
