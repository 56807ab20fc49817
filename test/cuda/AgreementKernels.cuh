//===- AgreementKernels.cuh - What emulator and device must agree on -------===//
//
// Each kernel does one kind of thing that a device does in hardware and the emulator in C++, with random
// words as input, and writes down every bit of what came out. AgreementTest.cpp runs them on both.
//
//===----------------------------------------------------------------------===//
#include "matrices.cuh"
#include "warpgroup.cuh"

using namespace sinter;

namespace agreement {

/// A small integer, which bf16 and f16 have exactly; sums of products of a few of them f32 has, so the
/// order in which a tensor core adds makes no difference.
template <class T> __device__ T digit(unsigned word) {
  return from_float<T>(static_cast<float>(static_cast<int>(word % 17) - 8));
}

/// Random bits as a float, but no NaN, whose bits need not be the same everywhere.
__device__ inline float number(unsigned word) {
  float value = __uint_as_float(word);
  return value != value ? 1.0f : value;
}

__device__ inline unsigned bits(float value) {
  return value != value ? 0x7fc00000u : __float_as_uint(value);
}

/// A tile through ldmatrix and ldmatrix.trans into mma, for one type.
template <class T> __device__ void matrices(const unsigned *in, unsigned *out) {
  __shared__ __align__(16) T a[16][24], b[16][24];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) {
    a[i / 16][i % 16] = digit<T>(in[i]);
    b[i / 16][i % 16] = digit<T>(in[256 + i]);
  }
  __syncwarp();
  unsigned left[4], right[4];
  float d[2][4];
  ldmatrix_x4(left, &a[lane % 16][lane / 16 * 8]);
  ldmatrix_x4_trans(right, &b[lane % 16][lane / 16 * 8]);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i)
      d[half][i] = static_cast<float>(in[512 + half * 4 + i] % 100);
    mma_m16n8k16<T>(d[half], left, right[2 * half], right[2 * half + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    out[lane * 16 + i] = left[i];
    out[lane * 16 + 4 + i] = right[i];
    out[lane * 16 + 8 + i] = bits(d[0][i]);
    out[lane * 16 + 12 + i] = bits(d[1][i]);
  }
}

/// A product of elements of 8 bits, whose fragments are taken as they are. Before compute capability 8.9
/// there are none of e4m3; nothing is written.
template <class T> __device__ void bytes(const unsigned *in, unsigned *out) {
#if defined(SINTER_SIMT) || __CUDA_ARCH__ >= 890
  constexpr bool kSupported = true;
#else
  constexpr bool kSupported = kIsSame<T, signed char>;
#endif
  if constexpr (kSupported) {
    int lane = threadIdx.x;
    Vector<T, 4> words[6];
    for (int i = 0; i < 24; ++i)
      words[i / 4][i % 4] = from_float<T>(to_float(digit<__half>(in[lane * 24 + i])));
    unsigned fragments[6];
    for (int i = 0; i < 6; ++i)
      fragments[i] = *reinterpret_cast<const unsigned *>(&words[i]);
    const unsigned left[4] = {fragments[0], fragments[1], fragments[2], fragments[3]};
    SumOf<T> d[4];
    for (int i = 0; i < 4; ++i)
      d[i] = static_cast<SumOf<T>>(in[768 + lane * 4 + i] % 100);
    mma_m16n8k32<T, T>(d, left, fragments[4], fragments[5]);
    for (int i = 0; i < 4; ++i)
      out[lane * 4 + i] = bits(static_cast<float>(d[i]));
  }
}

/// Products of a warpgroup: d = a b^T from tiles in shared memory, d += c b with c in registers. Only
/// sm_90a has them; elsewhere nothing is written.
template <class T> __device__ void group_matrices(const unsigned *in, unsigned *out) {
#if SINTER_HAS_WGMMA
  T *a = dynamic_shared_for_wgmma<T>(), *b = a + 64 * 64;
  int thread = threadIdx.x, lane = lane_index();
  for (int i = thread; i < 64 * 64; i += kWarpgroup) {
    int row = i / 64, column = i % 64, to = wgmma_offset(row, column / 8 * 8) + column % 8;
    a[to] = digit<T>(in[i % 512] >> i / 512);
    b[to] = digit<T>(in[512 + i % 512] >> i / 512);
  }
  fence_for_wgmma();
  __syncthreads();
  float d[8][4];
  unsigned c[4][4];
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) {
      unsigned word = in[thread * 4 + k] >> i;
      c[k][i] = pack<T>(to_float(digit<T>(word)), to_float(digit<T>(word >> 8)));
    }
  wgmma_fence(d, c);
  wgmma_rows<T, false>(d, wgmma_matrix(a), wgmma_matrix(b));
#pragma unroll
  for (int k = 1; k < 4; ++k)
    wgmma_rows<T, true>(d, wgmma_matrix(a).after(16 * k), wgmma_matrix(b).after(16 * k));
  wgmma_commit();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    wgmma_columns<T>(d, c[k], wgmma_matrix(b).after(16 * 64 * k));
  wgmma_commit();
  wgmma_wait<0>(d);
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = warp_index() * 16 + lane / 4 + i / 2 * 8;
      out[row * 64 + j * 8 + lane % 4 * 2 + i % 2] = bits(d[j][i]);
    }
#endif
}

} // namespace agreement

extern "C" __global__ void __launch_bounds__(32) agree_bf16(const unsigned *__restrict__ in, unsigned *out) {
  agreement::matrices<__nv_bfloat16>(in, out);
}
extern "C" __global__ void __launch_bounds__(32) agree_f16(const unsigned *__restrict__ in, unsigned *out) {
  agreement::matrices<__half>(in, out);
}

extern "C" __global__ void __launch_bounds__(32) agree_s8(const unsigned *__restrict__ in, unsigned *out) {
  agreement::bytes<signed char>(in, out);
}
extern "C" __global__ void __launch_bounds__(32) agree_e4m3(const unsigned *__restrict__ in, unsigned *out) {
  agreement::bytes<E4M3>(in, out);
}

extern "C" __global__ void __launch_bounds__(128) agree_groups_bf16(const unsigned *__restrict__ in, unsigned *out) {
  agreement::group_matrices<__nv_bfloat16>(in, out);
}
extern "C" __global__ void __launch_bounds__(128) agree_groups_f16(const unsigned *__restrict__ in, unsigned *out) {
  agreement::group_matrices<__half>(in, out);
}

// Copies of 16 bytes of which 0 to 16 come from memory, two groups in flight, into dynamic memory.
extern "C" __global__ void __launch_bounds__(64) agree_copies(const unsigned *__restrict__ in, unsigned *out) {
  unsigned *stages = dynamic_shared<unsigned>();
  int thread = threadIdx.x;
  for (int stage = 0; stage < 2; ++stage) {
    cp_async_16(stages + stage * 256 + thread * 4, in + stage * 256 + thread * 4, thread % 5 * 4);
    cp_async_commit();
  }
  cp_async_wait<1>();
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    out[thread * 4 + i] = stages[(thread * 4 + i + 37) % 256];
  cp_async_wait<0>();
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    out[256 + thread * 4 + i] = stages[256 + (thread * 4 + i + 53) % 256];
}

extern "C" __global__ void __launch_bounds__(64) agree_lanes(const unsigned *__restrict__ in, unsigned *out) {
  constexpr unsigned all = 0xffffffffu;
  unsigned value = in[threadIdx.x], *o = out + threadIdx.x * 16;
  o[0] = __shfl_sync(all, value, in[128] % 32);
  o[1] = __shfl_sync(all, value, threadIdx.x * 7 + 3);
  o[2] = __shfl_sync(all, value, 5, 8);
  o[3] = __shfl_up_sync(all, value, 3);
  o[4] = __shfl_up_sync(all, value, 5, 16);
  o[5] = __shfl_down_sync(all, value, 3);
  o[6] = __shfl_down_sync(all, value, 5, 16);
  o[7] = __shfl_xor_sync(all, value, 9);
  o[8] = __shfl_xor_sync(all, value, 3, 4);
  o[9] = __ballot_sync(all, value & 1);
  o[10] = __any_sync(all, value == in[7]);
  o[11] = __all_sync(all, value != in[7]);
  o[12] = __syncthreads_count(value & 2);
  o[13] = __syncthreads_or(value == in[40]);
  o[14] = threadIdx.x % 32 < 20 ? __shfl_xor_sync(0x000fffffu, value, 2) : 0;
  o[15] = threadIdx.x % 2 ? __ballot_sync(0xaaaaaaaau, value & 4) : 1;
}

// Roundings to narrow types and back, of any number; and of what lies near ties.
extern "C" __global__ void __launch_bounds__(256) agree_roundings(const unsigned *__restrict__ in, unsigned *out) {
  int i = threadIdx.x;
  float random = agreement::number(in[i]);
  float near = __uint_as_float(0x3f800000u | (in[i] & 0x7fe000u) | (in[i + 256] % 3 + 0xfff));
  float small = agreement::number(in[i] & 0x8fffffffu) * 1e-20f;
  float values[] = {random, near, small, agreement::number(0x38000000u + in[i] % 0x10000000u)};
  for (int j = 0; j < 4; ++j) {
    unsigned *o = out + (i * 4 + j) * 4;
    o[0] = agreement::bits(to_float(from_float<__nv_bfloat16>(values[j])));
    o[1] = agreement::bits(to_float(from_float<__half>(values[j])));
    o[2] = pack<__nv_bfloat16>(values[j], random);
    o[3] = pack<__half>(random, values[j]);
  }
}

extern "C" __global__ void __launch_bounds__(64) agree_extremes(const unsigned *__restrict__ in, unsigned *out) {
  float nan = __uint_as_float(0x7fc00000u);
  float specials[8] = {0.0f, -0.0f, kInfinity, -kInfinity, nan, 1.0f, -1.0f, agreement::number(in[0])};
  float a = specials[threadIdx.x / 8], b = specials[threadIdx.x % 8];
  unsigned *o = out + threadIdx.x * 2;
  o[0] = agreement::bits(maximum(a, b));
  o[1] = agreement::bits(minimum(a, b));
}

extern "C" __global__ void __launch_bounds__(64) agree_words(const unsigned *__restrict__ in, unsigned *out) {
  const unsigned *i = in + threadIdx.x * 6;
  uint4 words = philox(make_uint4(i[0], i[1], i[2], i[3]), make_uint2(i[4], i[5]));
  unsigned *o = out + threadIdx.x * 4;
  o[0] = words.x;
  o[1] = words.y;
  o[2] = words.z;
  o[3] = words.w;
}

// Reductions add in an order that lanes and widths alone decide: the sums have the same bits.
extern "C" __global__ void __launch_bounds__(256) agree_sums(const unsigned *__restrict__ in, unsigned *out) {
  float value = static_cast<float>(in[threadIdx.x]) * 1e-9f;
  unsigned *o = out + threadIdx.x * 4;
  o[0] = agreement::bits(warp_reduce_sum(value));
  o[1] = agreement::bits(warp_reduce_sum<8>(value));
  o[2] = agreement::bits(block_reduce_sum<256>(value));
  o[3] = agreement::bits(block_reduce_max<256>(value));
}

// Every block writes a part, the last to arrive adds them; `out` begins with the ticket.
extern "C" __global__ void __launch_bounds__(64) agree_blocks(const unsigned *__restrict__ in, unsigned *out) {
  unsigned *parts = out + 128;
  parts[blockIdx.x * 64 + threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  if (arrive_last(out, gridDim.x)) {
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      sum += parts[i * 64 + threadIdx.x];
    out[64 + threadIdx.x] = sum;
  }
}

// Functions that the device approximates.
extern "C" __global__ void __launch_bounds__(256) agree_functions(const unsigned *__restrict__ in, unsigned *out) {
  float x = static_cast<float>(static_cast<int>(in[threadIdx.x])) * 4e-9f; // -8.6 to 8.6
  float positive = sinter::abs(x) + 1e-3f;
  unsigned *o = out + threadIdx.x * 8;
  o[0] = agreement::bits(exp2_fast(x));
  o[1] = agreement::bits(divide_fast(x, positive));
  o[2] = agreement::bits(tanh_fast(x));
  o[3] = agreement::bits(sinter::exp(x));
  o[4] = agreement::bits(sinter::log(positive));
  o[5] = agreement::bits(sinter::tanh(x));
  o[6] = agreement::bits(sinter::erf(x));
  o[7] = agreement::bits(sinter::rsqrt(positive));
}
