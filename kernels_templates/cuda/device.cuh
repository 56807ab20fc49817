//===- device.cuh - What kernels stand on -----------------------*- C++ -*-===//
//
// Everything that generated kernels and templates ask of the machine: vectors of elements, loads
// and stores, conversions, reductions, mathematics, random words, asynchronous copies, matrix
// instructions. Only here, in matrices.cuh and in warpgroup.cuh there is PTX. It needs nothing but
// CUDA's bf16 and f16 headers, so that NVRTC compiles it in milliseconds.
//
// With SINTER_SIMT the same kernels are compiled for the host and run in the emulator
// (test/simt), whose prelude stands in for CUDA's built-in names; what is PTX here is a call there.
//
// Warp-wide functions (reductions, matrices) are called by all 32 lanes together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define SINTER_DEVICE __device__ __forceinline__
// NVRTC takes functions without a word on where they run for the host's, which it has not.
#define SINTER_CONSTEXPR __device__ constexpr

namespace sinter {

constexpr int kWarp = 32;
constexpr float kInfinity = __builtin_bit_cast(float, 0x7F800000u);
constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

SINTER_CONSTEXPR long long divide_up(long long a, long long b) { return (a + b - 1) / b; }
SINTER_CONSTEXPR long long round_up(long long a, long long b) { return divide_up(a, b) * b; }

template <class A, class B> constexpr bool kIsSame = false;
template <class A> constexpr bool kIsSame<A, A> = true;

/// fp8 e4m3 (OCP's float8_e4m3fn): a sign, four bits of exponent with bias 7, three of mantissa.
struct E4M3 {
  unsigned char bits;
};
/// fp8 e5m2 (OCP's float8_e5m2): the upper half of an f16.
struct E5M2 {
  unsigned char bits;
};
template <class T> constexpr bool kIsFp8 = kIsSame<T, E4M3> || kIsSame<T, E5M2>;

/// Element types of 8 bits, which have scales beside them.
template <class T> constexpr bool kIsByte = kIsSame<T, signed char> || kIsFp8<T>;

/// Two elements of 8 bits side by side, which stand where one of 16 bits does in fragments.
template <class T> struct Pair {
  using Element = T;
  T elements[2];
};
template <class T> constexpr bool kIsPair = false;
template <class T> constexpr bool kIsPair<Pair<T>> = true;

/// What products of elements are added up in: whole numbers exactly, all others in f32.
template <class T> struct SumType {
  using Type = float;
};
template <> struct SumType<signed char> {
  using Type = int;
};
template <class T> struct SumType<Pair<T>> : SumType<T> {};
template <class T> using SumOf = typename SumType<T>::Type;

/// Element types that are computed with as f32.
template <class T> constexpr bool kIsNarrow = kIsSame<T, __nv_bfloat16> || kIsSame<T, __half>;

SINTER_DEVICE int lane_index() { return threadIdx.x % kWarp; }
SINTER_DEVICE int warp_index() { return threadIdx.x / kWarp; }

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// N elements side by side; N is a power of two. Moves in pieces of 16 bytes at the most.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
  static_assert(N > 0 && (N & (N - 1)) == 0, "a vector has a power of two of elements");
  T elements[N];

  SINTER_DEVICE T &operator[](int i) { return elements[i]; }
  SINTER_DEVICE const T &operator[](int i) const { return elements[i]; }
};

/// Elements of a load of 16 bytes.
template <class T> constexpr int kVector = 16 / static_cast<int>(sizeof(T));

namespace detail {
/// What a load or store of so many bytes moves.
template <int BYTES> struct Word;
template <> struct Word<1> {
  using Type = unsigned char;
};
template <> struct Word<2> {
  using Type = unsigned short;
};
#ifdef SINTER_SIMT
// Structs are copied member by member there; vectors of the compiler's in one access.
template <> struct Word<4> {
  using Type = unsigned;
};
template <> struct Word<8> {
  using Type = unsigned long long;
};
template <> struct Word<16> {
  using Type = unsigned __attribute__((vector_size(16)));
};
#else
template <> struct Word<4> {
  using Type = unsigned;
};
template <> struct Word<8> {
  using Type = uint2;
};
template <> struct Word<16> {
  using Type = uint4;
};
#endif

/// A vector's bytes as the words that move them.
template <class T, int N> struct Words {
  static constexpr int kBytes = sizeof(T) * N;
  using Type = typename Word<(kBytes < 16 ? kBytes : 16)>::Type;
  static constexpr int kCount = kBytes < 16 ? 1 : kBytes / 16;
  union {
    Vector<T, N> vector;
    Type words[kCount];
  };
  SINTER_DEVICE Words() {}
};
} // namespace detail

/// Reads N elements.
/// @pre `from` is aligned to the vector.
template <class T, int N> SINTER_DEVICE Vector<T, N> load(const T *from) {
  detail::Words<T, N> result;
#pragma unroll
  for (int i = 0; i < result.kCount; ++i)
    result.words[i] = reinterpret_cast<const typename detail::Words<T, N>::Type *>(from)[i];
  return result.vector;
}

/// Writes N elements.
/// @pre `to` is aligned to the vector.
template <class T, int N> SINTER_DEVICE void store(T *to, const Vector<T, N> &vector) {
  detail::Words<T, N> source;
  source.vector = vector;
#pragma unroll
  for (int i = 0; i < source.kCount; ++i)
    reinterpret_cast<typename detail::Words<T, N>::Type *>(to)[i] = source.words[i];
}

/// Reads N elements that nobody reads again soon: they do not push others out of the L1 cache.
/// @pre `from` is aligned to 16 bytes and to global memory that the kernel does not write.
template <class T, int N> SINTER_DEVICE Vector<T, N> load_streaming(const T *from) {
  static_assert(sizeof(T) * N % 16 == 0, "a streaming load is of 16 bytes or a multiple");
#ifdef SINTER_SIMT
  return load<T, N>(from);
#else
  detail::Words<T, N> result;
#pragma unroll
  for (int i = 0; i < result.kCount; ++i) {
    uint4 &word = result.words[i];
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(reinterpret_cast<const uint4 *>(from) + i));
  }
  return result.vector;
#endif
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

SINTER_DEVICE float to_float(float value) { return value; }
SINTER_DEVICE float to_float(signed char value) { return static_cast<float>(value); }
SINTER_DEVICE float to_float(double value) { return static_cast<float>(value); }
SINTER_DEVICE float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
SINTER_DEVICE float to_float(__half value) { return __half2float(value); }
/// Multiplying by 2^120 moves the exponent's bias and normalizes subnormals at once.
SINTER_DEVICE float to_float(E4M3 value) {
  const unsigned sign = (value.bits & 0x80u) << 24, magnitude = value.bits & 0x7Fu;
  const float scaled = __builtin_bit_cast(float, magnitude << 20) * 0x1p120f;
  const unsigned number = magnitude == 0x7Fu ? 0x7FC00000u : __builtin_bit_cast(unsigned, scaled);
  return __builtin_bit_cast(float, number | sign);
}

SINTER_DEVICE float to_float(E5M2 value) {
  return __half2float(__builtin_bit_cast(__half, static_cast<unsigned short>(value.bits << 8)));
}

/// The nearest e4m3, ties to even; beyond the largest, 448, that; NaN stays NaN.
SINTER_DEVICE E4M3 to_e4m3(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value), magnitude = bits & 0x7FFFFFFFu;
  unsigned code;
  if (magnitude > 0x7F800000u)
    code = 0x7Fu;
  else if (magnitude >= 0x43E00000u) // 448
    code = 0x7Eu;
  else if (magnitude < 0x3C800000u) // 2^-6, below which are multiples of 2^-9, as of f32 from 2^14
    code =
        __builtin_bit_cast(unsigned, __builtin_bit_cast(float, magnitude) + 16384.0f) - 0x46800000u;
  else
    code = (magnitude + 0x7FFFFu + (magnitude >> 20 & 1) - (120u << 23)) >> 20;
  return {static_cast<unsigned char>(code | bits >> 24 & 0x80u)};
}

/// The nearest e5m2, ties to even; infinity beyond the largest, 57344; NaN stays NaN.
SINTER_DEVICE E5M2 to_e5m2(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value), magnitude = bits & 0x7FFFFFFFu;
  unsigned code;
  if (magnitude > 0x7F800000u)
    code = 0x7Eu;
  else if (magnitude >= 0x47700000u) // 61440, halfway to what would be next
    code = 0x7Cu;
  else if (magnitude < 0x38800000u) // 2^-14, below which are multiples of 2^-16, as of f32 from 2^7
    code =
        __builtin_bit_cast(unsigned, __builtin_bit_cast(float, magnitude) + 128.0f) - 0x43000000u;
  else
    code = (magnitude + 0xFFFFFu + (magnitude >> 21 & 1) - (112u << 23)) >> 21;
  return {static_cast<unsigned char>(code | bits >> 24 & 0x80u)};
}

/// Rounds to nearest, ties to even.
template <class T> SINTER_DEVICE T from_float(float value) {
  if constexpr (kIsSame<T, __nv_bfloat16>)
    return __float2bfloat16_rn(value);
  else if constexpr (kIsSame<T, E4M3>)
    return to_e4m3(value);
  else if constexpr (kIsSame<T, E5M2>)
    return to_e5m2(value);
  else if constexpr (kIsSame<T, __half>)
    return __float2half_rn(value);
  else
    return static_cast<T>(value);
}

/// A value of another type: floats rounded to nearest, once; floats to integers towards zero.
template <class To, class From> SINTER_DEVICE To convert(From value) {
  if constexpr (kIsSame<To, From>)
    return value;
  else if constexpr (kIsNarrow<From> || kIsFp8<From>)
    return convert<To>(to_float(value));
  else if constexpr (kIsSame<To, __nv_bfloat16> && kIsSame<From, double>)
    return __double2bfloat16(value);
  else if constexpr (kIsSame<To, __half> && kIsSame<From, double>)
    return __double2half(value);
  else if constexpr (kIsNarrow<To> || kIsFp8<To>)
    return from_float<To>(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

template <class To, class From, int N>
SINTER_DEVICE Vector<To, N> convert_vector(const Vector<From, N> &vector) {
  Vector<To, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = convert<To>(vector[i]);
  return result;
}

/// The four bytes of a word as f32, less what was added to each so that none is negative: they
/// become the lower bits of 2^23.
SINTER_DEVICE Vector<float, 4> bytes_to_floats(unsigned word, unsigned added) {
  Vector<float, 4> result;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    result[i] = __builtin_bit_cast(float, __byte_perm(word, 0x4B000000u, 0x7650u | i)) -
                (8388608.0f + added);
  return result;
}

/// Two e4m3 side by side as f32: in one instruction and a widening where the machine has it.
SINTER_DEVICE Vector<float, 2> e4m3_to_floats(unsigned short pair) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  union {
    unsigned word;
    __half elements[2];
  } halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves.word) : "h"(pair));
  return {{to_float(halves.elements[0]), to_float(halves.elements[1])}};
#else
  return {{to_float(E4M3{static_cast<unsigned char>(pair)}),
           to_float(E4M3{static_cast<unsigned char>(pair >> 8)})}};
#endif
}

/// The numbers of a vector as f32.
template <class T, int N> SINTER_DEVICE Vector<float, N> to_floats(const Vector<T, N> &vector) {
  if constexpr (kIsSame<T, __nv_bfloat16> && N % 2 == 0) {
    // A bf16 is the upper half of an f32: one instruction each, if two are taken apart at a time.
    const union {
      Vector<T, N> vector;
      unsigned words[N / 2];
    } pairs = {vector};
    Vector<float, N> result;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      result[2 * i] = __builtin_bit_cast(float, pairs.words[i] << 16);
      result[2 * i + 1] = __builtin_bit_cast(float, pairs.words[i] & 0xFFFF0000u);
    }
    return result;
  } else if constexpr (kIsByte<T> && N % 4 == 0) {
    const union {
      Vector<T, N> vector;
      unsigned words[N / 4];
    } fours = {vector};
    Vector<float, N> result;
#pragma unroll
    for (int i = 0; i < N / 4; ++i) {
      const unsigned word = fours.words[i];
      Vector<float, 4> four;
      if constexpr (kIsSame<T, signed char>) {
        four = bytes_to_floats(word ^ 0x80808080u, 128);
      } else {
        const auto low = e4m3_to_floats(static_cast<unsigned short>(word));
        const auto high = e4m3_to_floats(static_cast<unsigned short>(word >> 16));
        four = {{low[0], low[1], high[0], high[1]}};
      }
#pragma unroll
      for (int j = 0; j < 4; ++j)
        result[4 * i + j] = four[j];
    }
    return result;
  } else {
    return convert_vector<float>(vector);
  }
}

/// `value` rounded to T and back.
template <class T> SINTER_DEVICE float round_to(float value) {
  return to_float(from_float<T>(value));
}

/// Two elements as the 32 bits of a matrix fragment, `low` in the low half.
template <class T> SINTER_DEVICE unsigned pack(float low, float high) {
  static_assert(kIsNarrow<T>, "fragments are of bf16 or f16");
  union {
    unsigned word;
    T elements[2];
  } result = {0};
#ifdef SINTER_SIMT
  result.elements[0] = from_float<T>(low);
  result.elements[1] = from_float<T>(high);
#else
  if constexpr (kIsSame<T, __half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result.word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result.word) : "f"(high), "f"(low));
#endif
  return result.word;
}

//===----------------------------------------------------------------------===//
// Mathematics
//===----------------------------------------------------------------------===//
//
// Accuracy is decided here. Generated kernels of f32 wait for memory, so they have the accurate
// functions (one or two units in the last place). Those that end in `_fast` are for inputs that are
// rounded to 8 or 11 bits anyway: the inner loops of matrix kernels, and generated ones of 16 bits,
// which wait half as long.

SINTER_DEVICE float exp(float x) { return ::expf(x); }
SINTER_DEVICE double exp(double x) { return ::exp(x); }
SINTER_DEVICE float exp2(float x) { return ::exp2f(x); }
SINTER_DEVICE double exp2(double x) { return ::exp2(x); }
SINTER_DEVICE float log(float x) { return ::logf(x); }
SINTER_DEVICE double log(double x) { return ::log(x); }
SINTER_DEVICE float log2(float x) { return ::log2f(x); }
SINTER_DEVICE double log2(double x) { return ::log2(x); }
SINTER_DEVICE float tanh(float x) { return ::tanhf(x); }
SINTER_DEVICE double tanh(double x) { return ::tanh(x); }
SINTER_DEVICE float erf(float x) { return ::erff(x); }
SINTER_DEVICE double erf(double x) { return ::erf(x); }
SINTER_DEVICE float sin(float x) { return ::sinf(x); }
SINTER_DEVICE double sin(double x) { return ::sin(x); }
SINTER_DEVICE float cos(float x) { return ::cosf(x); }
SINTER_DEVICE double cos(double x) { return ::cos(x); }
SINTER_DEVICE float sqrt(float x) { return ::sqrtf(x); }
SINTER_DEVICE double sqrt(double x) { return ::sqrt(x); }
SINTER_DEVICE float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
SINTER_DEVICE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
SINTER_DEVICE float abs(float x) { return ::fabsf(x); }
SINTER_DEVICE double abs(double x) { return ::fabs(x); }
SINTER_DEVICE float round_even(float x) { return ::rintf(x); }
SINTER_DEVICE double round_even(double x) { return ::rint(x); }
SINTER_DEVICE float floor(float x) { return ::floorf(x); }
SINTER_DEVICE double floor(double x) { return ::floor(x); }
SINTER_DEVICE float ceil(float x) { return ::ceilf(x); }
SINTER_DEVICE double ceil(double x) { return ::ceil(x); }
SINTER_DEVICE float pow(float x, float y) { return ::powf(x, y); }
SINTER_DEVICE double pow(double x, double y) { return ::pow(x, y); }
/// a * b + c, rounded once.
SINTER_DEVICE float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
SINTER_DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }

/// 2^x in one instruction, to about 2^-22; 0 for results below the normal numbers.
SINTER_DEVICE float exp2_fast(float x) {
#ifdef SINTER_SIMT
  return ::exp2f(x);
#else
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#endif
}

/// e^x to about |x| 2^-23; 0 for results below the normal numbers.
SINTER_DEVICE float exp_fast(float x) { return exp2_fast(x * kLog2E); }

/// a / b to two units in the last place; 0 where b is beyond 2^126.
SINTER_DEVICE float divide_fast(float a, float b) {
#ifdef SINTER_SIMT
  return a / b;
#else
  return __fdividef(a, b);
#endif
}

/// tanh x through one exponential, to about 2^-21 of one: 1 - 2 / (e^2x + 1).
SINTER_DEVICE float tanh_fast(float x) {
  return 1.0f - divide_fast(2.0f, exp2_fast(x * (2 * kLog2E)) + 1.0f);
}

/// The larger one; NaN if one is (arith.maximumf). +0 is larger than -0.
SINTER_DEVICE float maximum(float a, float b) {
#ifdef SINTER_SIMT
  if (a != a || b != b)
    return a != a ? a : b;
  return a == b ? (__builtin_signbit(a) ? b : a) : (a > b ? a : b);
#else
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}

/// The smaller one; NaN if one is (arith.minimumf). -0 is smaller than +0.
SINTER_DEVICE float minimum(float a, float b) {
#ifdef SINTER_SIMT
  return -maximum(-a, -b);
#else
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#endif
}

SINTER_DEVICE double maximum(double a, double b) { return a != a || b != b ? a + b : ::fmax(a, b); }
SINTER_DEVICE double minimum(double a, double b) { return a != a || b != b ? a + b : ::fmin(a, b); }

/// The larger one; the other if one is NaN (arith.maxnumf).
SINTER_DEVICE float maxnum(float a, float b) { return ::fmaxf(a, b); }
SINTER_DEVICE double maxnum(double a, double b) { return ::fmax(a, b); }
/// The smaller one; the other if one is NaN (arith.minnumf).
SINTER_DEVICE float minnum(float a, float b) { return ::fminf(a, b); }
SINTER_DEVICE double minnum(double a, double b) { return ::fmin(a, b); }

template <class T> SINTER_DEVICE constexpr T max_of(T a, T b) { return a > b ? a : b; }
template <class T> SINTER_DEVICE constexpr T min_of(T a, T b) { return a < b ? a : b; }

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//
//
// The order in which values are combined depends on the lane and the width alone, so that the same
// values give the same bits; every lane gets the same result.

/// The sum over each group of WIDTH neighbouring lanes, a power of two.
template <int WIDTH = kWarp, class T> SINTER_DEVICE T warp_reduce_sum(T value) {
#pragma unroll
  for (int step = WIDTH / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// The largest over each group of WIDTH neighbouring lanes, a power of two; NaN if one is.
template <int WIDTH = kWarp, class T> SINTER_DEVICE T warp_reduce_max(T value) {
#pragma unroll
  for (int step = WIDTH / 2; step > 0; step /= 2) {
    T other = __shfl_xor_sync(0xffffffffu, value, step);
    if constexpr (T(0.5) != T(0))
      value = maximum(value, other);
    else
      value = max_of(value, other);
  }
  return value;
}

namespace detail {
/// Combines what the warps of a block have found, in the order of the warps.
template <int THREADS, class T, class Combine>
SINTER_DEVICE T combine_warps(T value, Combine combine) {
  static_assert(THREADS % kWarp == 0 && THREADS <= 1024, "a block is of whole warps");
  if constexpr (THREADS > kWarp) {
    __shared__ T partial[THREADS / kWarp];
    if (lane_index() == 0)
      partial[warp_index()] = value;
    __syncthreads();
    value = partial[0];
#pragma unroll
    for (int warp = 1; warp < THREADS / kWarp; ++warp)
      value = combine(value, partial[warp]);
    // Whoever reduces next writes the same memory.
    __syncthreads();
  }
  return value;
}
} // namespace detail

/// The sum over a block of THREADS threads, which all call it.
template <int THREADS, class T> SINTER_DEVICE T block_reduce_sum(T value) {
  return detail::combine_warps<THREADS>(warp_reduce_sum(value), [](T a, T b) { return a + b; });
}

/// The largest over a block of THREADS threads, which all call it; NaN if one is.
template <int THREADS, class T> SINTER_DEVICE T block_reduce_max(T value) {
  return detail::combine_warps<THREADS>(warp_reduce_max(value), [](T a, T b) {
    if constexpr (T(0.5) != T(0))
      return maximum(a, b);
    else
      return max_of(a, b);
  });
}

//===----------------------------------------------------------------------===//
// Random words: Philox4x32-10, word for word what dialects/Sinter/Philox.h generates
//===----------------------------------------------------------------------===//

/// The four random words of a counter and a key.
SINTER_DEVICE uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned long long first = 0xD2511F53ull * counter.x, second = 0xCD9E8D57ull * counter.z;
    counter = make_uint4(
        static_cast<unsigned>(second >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(second),
        static_cast<unsigned>(first >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(first));
    key = make_uint2(key.x + 0x9E3779B9u, key.y + 0xBB67AE85u);
  }
  return counter;
}

/// Words below it are dropped.
/// @pre 0 <= probability < 1.
SINTER_CONSTEXPR unsigned dropout_threshold(double probability) {
  return static_cast<unsigned>(probability * 4294967296.0);
}

/// Whether element `index` of a tensor with random numbers of its own is kept.
SINTER_DEVICE bool is_kept(unsigned long long index, unsigned stream, uint2 seed,
                           unsigned threshold) {
  uint4 counter =
      make_uint4(static_cast<unsigned>(index), static_cast<unsigned>(index >> 32), stream, 0);
  return philox(counter, seed).x >= threshold;
}

/// A number rounded to one of bf16, up or down at random such that its expected value stays:
/// element `index` of the tensor that `tag` stands for.
SINTER_DEVICE float stochastic_round(float value, unsigned long long index, uint2 tag, uint2 seed) {
  uint4 counter =
      make_uint4(static_cast<unsigned>(index), static_cast<unsigned>(index >> 32), tag.x, tag.y);
  unsigned bits = __builtin_bit_cast(unsigned, value) + (philox(counter, seed).x >> 16);
  return value != value ? value : __builtin_bit_cast(float, bits & 0xFFFF0000u);
}

//===----------------------------------------------------------------------===//
// Shared memory and copies into it
//===----------------------------------------------------------------------===//

/// The launch's dynamic shared memory, aligned to 128 bytes.
template <class T> SINTER_DEVICE T *dynamic_shared() {
#ifdef SINTER_SIMT
  return static_cast<T *>(simt::dynamicShared());
#else
  extern __shared__ __align__(128) unsigned char sinter_dynamic_shared[];
  return reinterpret_cast<T *>(sinter_dynamic_shared);
#endif
}

/// Where shared memory stands in its own address space, as PTX wants it.
SINTER_DEVICE unsigned shared_address(const void *pointer) {
#ifdef SINTER_SIMT
  return simt::sharedAddress(pointer);
#else
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
#endif
}

/// Begins to copy `bytes` bytes (16 at the most) from global to shared memory; the rest of the 16
/// becomes zero. With 0 bytes nothing is read. Done after the wait for its group.
/// @pre both pointers are aligned to 16 bytes.
SINTER_DEVICE void cp_async_16(void *shared, const void *global, int bytes = 16) {
#ifdef SINTER_SIMT
  simt::cpAsync16(shared, global, bytes);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
#endif
}

/// Begins to copy 16 bytes from global to shared memory where they `exist`; otherwise nothing is
/// read, and they become zero. Costs less than a number of bytes that is not known beforehand: to
/// the machine that is an address to be shifted.
/// @pre both pointers are aligned to 16 bytes.
SINTER_DEVICE void cp_async_16_if(bool exist, void *shared, const void *global) {
#ifdef SINTER_SIMT
  simt::cpAsync16(shared, global, exist ? 16 : 0);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(exist ? 16 : 0)
               : "memory");
#endif
}

/// Ends the group of copies that this thread has begun since the last one.
SINTER_DEVICE void cp_async_commit() {
#ifdef SINTER_SIMT
  simt::cpAsyncCommit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until all of this thread's groups but the last PENDING are there. Other threads see them
/// after a barrier.
template <int PENDING> SINTER_DEVICE void cp_async_wait() {
#ifdef SINTER_SIMT
  simt::cpAsyncWait(PENDING);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Between blocks and kernels
//===----------------------------------------------------------------------===//

/// True for all threads of the block that arrives last of `count` blocks at `ticket`, which is zero
/// before the first and again after the last. What the others wrote before it is visible to it.
SINTER_DEVICE bool arrive_last(unsigned *ticket, unsigned count) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    // After the barrier this thread has seen what the whole block wrote: it orders that for all.
#ifdef SINTER_SIMT
    __threadfence();
    last = atomicAdd(ticket, 1u) == count - 1;
    __threadfence();
#else
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(ticket)
                 : "memory");
    last = before == count - 1;
#endif
    if (last)
      *ticket = 0;
  }
  __syncthreads();
  bool result = last;
  // Whoever arrives next writes the same memory.
  __syncthreads();
  return result;
}

/// The number of this block in the order in which `count` blocks begin, for all its threads: those
/// with lower numbers have begun, so that it may wait for what they do. `counter` is zero before
/// the first and again after the last.
SINTER_DEVICE unsigned take_number(unsigned *counter, unsigned count) {
  __shared__ unsigned number;
  if (threadIdx.x == 0) {
    number = atomicAdd(counter, 1u);
    if (number == count - 1)
      *counter = 0;
  }
  __syncthreads();
  return number;
}

/// Adds one to a counter: who waits for that sees what the block has written before.
SINTER_DEVICE void announce(unsigned *counter) {
  __syncthreads();
  if (threadIdx.x != 0)
    return;
#ifdef SINTER_SIMT
  __threadfence();
  atomicAdd(counter, 1u);
#else
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#endif
}

/// Waits until `count` blocks have announced themselves at a counter.
SINTER_DEVICE void wait_for(unsigned *counter, unsigned count) {
  if (threadIdx.x == 0) {
    unsigned seen;
    do {
#ifdef SINTER_SIMT
      seen = atomicAdd(counter, 0u);
      __threadfence();
#else
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
#endif
    } while (seen < count);
  }
  __syncthreads();
}

/// Waits until the kernel before this one is done and what it wrote is there, where this one was
/// launched to overlap with it (programmatic dependent launch, compute capability 9.0). Every
/// thread calls it. Before it, only memory that no kernel writes is read, and nothing is written.
/// What is read after it must not be behind a pointer to const with __restrict__: for the compiler
/// that is memory that does not change while the kernel runs, which may be read before.
SINTER_DEVICE void pdl_wait() {
#ifdef SINTER_SIMT
  simt::pdlWait();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the kernel after this one begin, where that was launched to overlap; it waits for the end
/// of this one all the same.
SINTER_DEVICE void pdl_launch_dependents() {
#ifdef SINTER_SIMT
  simt::pdlLaunchDependents();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Reads 16 aligned bytes of global memory that nobody reads again soon, behind a pdl_wait before.
template <class T> SINTER_DEVICE Vector<T, kVector<T>> load_once(const T *from) {
#ifdef SINTER_SIMT
  return load<T, kVector<T>>(from);
#else
  detail::Words<T, kVector<T>> result;
  uint4 &word = result.words[0];
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(from));
  return result.vector;
#endif
}

/// Has 128 bytes brought into the L2 cache; reads nothing, and so may stand before pdl_wait.
SINTER_DEVICE void prefetch_line(const void *line) {
#ifndef SINTER_SIMT
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
#endif
}

} // namespace sinter
