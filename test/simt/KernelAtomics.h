//===- KernelAtomics.h - Atomic operations and plain loads ------*- C++ -*-===//
//
// A thread runs until it waits, so an update is atomic by itself. What matters is that the detector
// of races hears of an atomic operation and not of a load and a store: hence no instrumentation in
// here.
//
//===----------------------------------------------------------------------===//
#pragma once

template <typename T, typename Update>
[[gnu::noinline, clang::no_sanitize("thread")]] T sinter_simt_atomic(T *address, Update update) {
  sinter::simt::noteAtomic(address, sizeof(T), __builtin_return_address(0));
  T old = *address;
  *address = update(old);
  return old;
}

#define SINTER_SIMT_ATOMIC(name, result)                                                           \
  template <typename T> SINTER_SIMT_INLINE T name(T *address, T value) {                           \
    return sinter_simt_atomic(address, [value](T old) -> T { return result; });                    \
  }
SINTER_SIMT_ATOMIC(atomicAdd, old + value)
SINTER_SIMT_ATOMIC(atomicSub, old - value)
SINTER_SIMT_ATOMIC(atomicExch, value)
SINTER_SIMT_ATOMIC(atomicMin, value < old ? value : old)
SINTER_SIMT_ATOMIC(atomicMax, old < value ? value : old)
SINTER_SIMT_ATOMIC(atomicAnd, old &value)
SINTER_SIMT_ATOMIC(atomicOr, old | value)
SINTER_SIMT_ATOMIC(atomicXor, old ^ value)
SINTER_SIMT_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
SINTER_SIMT_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef SINTER_SIMT_ATOMIC

SINTER_SIMT_INLINE float atomicAdd(float *address, double value) {
  return atomicAdd(address, float(value));
}
SINTER_SIMT_INLINE unsigned atomicAdd(unsigned *address, int value) {
  return atomicAdd(address, unsigned(value));
}
SINTER_SIMT_INLINE unsigned atomicInc(unsigned *address, int value) {
  return atomicInc(address, unsigned(value));
}

template <typename T> SINTER_SIMT_INLINE T atomicCAS(T *address, T expected, T value) {
  return sinter_simt_atomic(address, [=](T old) -> T { return old == expected ? value : old; });
}

// Cache operators have no meaning here; the loads are instrumented like any other.
template <typename T> SINTER_SIMT_INLINE T __ldg(const T *address) { return *address; }
template <typename T> SINTER_SIMT_INLINE T __ldcs(const T *address) { return *address; }
template <typename T> SINTER_SIMT_INLINE T __ldcg(const T *address) { return *address; }
template <typename T> SINTER_SIMT_INLINE T __ldca(const T *address) { return *address; }
template <typename T> SINTER_SIMT_INLINE void __stcs(T *address, T value) { *address = value; }
template <typename T> SINTER_SIMT_INLINE void __stcg(T *address, T value) { *address = value; }
