//===- KernelMath.h - CUDA's mathematics on a host --------------*- C++ -*-===//
//
// Functions of <cmath> that CUDA has too come from there. What the device approximates (__expf and
// its like) is computed exactly here: a test that compares with a reference has to allow for the
// device's error anyway.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>

#define SINTER_SIMT_FUNCTION(type, name, parameters, value)                                        \
  SINTER_SIMT_INLINE type name parameters { return value; }

// Overloads without std::, as device code calls them.
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

SINTER_SIMT_FUNCTION(float, rsqrtf, (float x), 1.0f / ::sqrtf(x))
SINTER_SIMT_FUNCTION(double, rsqrt, (double x), 1.0 / ::sqrt(x))
SINTER_SIMT_FUNCTION(float, __expf, (float x), ::expf(x))
SINTER_SIMT_FUNCTION(float, __exp10f, (float x), ::powf(10.0f, x))
SINTER_SIMT_FUNCTION(float, __logf, (float x), ::logf(x))
SINTER_SIMT_FUNCTION(float, __log2f, (float x), ::log2f(x))
SINTER_SIMT_FUNCTION(float, __log10f, (float x), ::log10f(x))
SINTER_SIMT_FUNCTION(float, __powf, (float x, float y), ::powf(x, y))
SINTER_SIMT_FUNCTION(float, __sinf, (float x), ::sinf(x))
SINTER_SIMT_FUNCTION(float, __cosf, (float x), ::cosf(x))
SINTER_SIMT_FUNCTION(float, __tanf, (float x), ::tanf(x))
SINTER_SIMT_FUNCTION(float, __fdividef, (float x, float y), x / y)
SINTER_SIMT_FUNCTION(float, __fdiv_rn, (float x, float y), x / y)
SINTER_SIMT_FUNCTION(float, __frcp_rn, (float x), 1.0f / x)
SINTER_SIMT_FUNCTION(float, __fsqrt_rn, (float x), ::sqrtf(x))
SINTER_SIMT_FUNCTION(float, __frsqrt_rn, (float x), 1.0f / ::sqrtf(x))
SINTER_SIMT_FUNCTION(float, __fmaf_rn, (float x, float y, float z), ::fmaf(x, y, z))
SINTER_SIMT_FUNCTION(double, __fma_rn, (double x, double y, double z), ::fma(x, y, z))
SINTER_SIMT_FUNCTION(float, __saturatef, (float x), ::fminf(::fmaxf(x, 0.0f), 1.0f))
SINTER_SIMT_FUNCTION(float, normcdff, (float x), 0.5f * ::erfcf(-x * 0.70710678118654752f))

// The results of these must be rounded by themselves: no contraction into a fused operation.
#define SINTER_SIMT_ROUNDED(name, type, operation)                                                 \
  [[gnu::noinline, clang::no_sanitize("thread")]] inline type name(type x, type y) {               \
    return x operation y;                                                                          \
  }
SINTER_SIMT_ROUNDED(__fadd_rn, float, +)
SINTER_SIMT_ROUNDED(__fsub_rn, float, -)
SINTER_SIMT_ROUNDED(__fmul_rn, float, *)
SINTER_SIMT_ROUNDED(__dadd_rn, double, +)
SINTER_SIMT_ROUNDED(__dsub_rn, double, -)
SINTER_SIMT_ROUNDED(__dmul_rn, double, *)
#undef SINTER_SIMT_ROUNDED

// Conversions of floats to integers that round as their names say.
SINTER_SIMT_FUNCTION(int, __float2int_rn, (float x), int(::rintf(x)))
SINTER_SIMT_FUNCTION(int, __float2int_rz, (float x), int(x))
SINTER_SIMT_FUNCTION(int, __float2int_rd, (float x), int(::floorf(x)))
SINTER_SIMT_FUNCTION(int, __float2int_ru, (float x), int(::ceilf(x)))
SINTER_SIMT_FUNCTION(unsigned, __float2uint_rn, (float x), unsigned(::rintf(x)))
SINTER_SIMT_FUNCTION(float, __int2float_rn, (int x), float(x))
SINTER_SIMT_FUNCTION(float, __uint2float_rn, (unsigned x), float(x))

// The same bits as another type.
SINTER_SIMT_FUNCTION(int, __float_as_int, (float x), __builtin_bit_cast(int, x))
SINTER_SIMT_FUNCTION(unsigned, __float_as_uint, (float x), __builtin_bit_cast(unsigned, x))
SINTER_SIMT_FUNCTION(float, __int_as_float, (int x), __builtin_bit_cast(float, x))
SINTER_SIMT_FUNCTION(float, __uint_as_float, (unsigned x), __builtin_bit_cast(float, x))
SINTER_SIMT_FUNCTION(long long, __double_as_longlong, (double x), __builtin_bit_cast(long long, x))
SINTER_SIMT_FUNCTION(double, __longlong_as_double, (long long x), __builtin_bit_cast(double, x))

// Integers.
SINTER_SIMT_FUNCTION(unsigned, __umulhi, (unsigned x, unsigned y),
                     unsigned((unsigned long long)(x)*y >> 32))
SINTER_SIMT_FUNCTION(int, __mulhi, (int x, int y), int((long long)(x)*y >> 32))
SINTER_SIMT_FUNCTION(int, __popc, (unsigned x), __builtin_popcount(x))
SINTER_SIMT_FUNCTION(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
SINTER_SIMT_FUNCTION(int, __clz, (int x), x ? __builtin_clz(unsigned(x)) : 32)
SINTER_SIMT_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
SINTER_SIMT_FUNCTION(unsigned, __brev, (unsigned x), __builtin_bitreverse32(x))
SINTER_SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((((unsigned long long)(high) << 32) | low) >> (shift & 31));
}
SINTER_SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((((unsigned long long)(high) << 32 | low) << (shift & 31)) >> 32);
}
/// PTX ISA, "prmt", default mode: four bytes picked from the eight of y:x.
SINTER_SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned long long bytes = (unsigned long long)(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned pick = selector >> 4 * i & 15;
    unsigned byte = unsigned(bytes >> 8 * (pick & 7)) & 255;
    if (pick & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

#define SINTER_SIMT_MIN_MAX(type, left, right)                                                     \
  SINTER_SIMT_FUNCTION(type, min, (left x, right y),                                               \
                       (type)(y) < (type)(x) ? (type)(y) : (type)(x))                              \
  SINTER_SIMT_FUNCTION(type, max, (left x, right y), (type)(x) < (type)(y) ? (type)(y) : (type)(x))
SINTER_SIMT_MIN_MAX(int, int, int)
SINTER_SIMT_MIN_MAX(unsigned, unsigned, unsigned)
SINTER_SIMT_MIN_MAX(unsigned, int, unsigned)
SINTER_SIMT_MIN_MAX(unsigned, unsigned, int)
SINTER_SIMT_MIN_MAX(long, long, long)
SINTER_SIMT_MIN_MAX(unsigned long, unsigned long, unsigned long)
SINTER_SIMT_MIN_MAX(long long, long long, long long)
SINTER_SIMT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
#undef SINTER_SIMT_MIN_MAX
SINTER_SIMT_FUNCTION(float, min, (float x, float y), ::fminf(x, y))
SINTER_SIMT_FUNCTION(float, max, (float x, float y), ::fmaxf(x, y))
SINTER_SIMT_FUNCTION(double, min, (double x, double y), ::fmin(x, y))
SINTER_SIMT_FUNCTION(double, max, (double x, double y), ::fmax(x, y))

[[noreturn]] SINTER_SIMT_INLINE void __trap() { __builtin_trap(); }

#undef SINTER_SIMT_FUNCTION
