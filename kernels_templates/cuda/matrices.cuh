//===- matrices.cuh - Matrix instructions of a warp -------------*- C++ -*-===//
//
// Fragments are those of "Matrix fragments for mma.m16n8k16" of the PTX ISA. With r = lane / 4 and
// c = lane % 4 * 2, and two elements side by side in a register:
//
//   A [16, 16]   a[0] = (r, c..)      a[1] = (r + 8, c..)
//                a[2] = (r, c + 8..)  a[3] = (r + 8, c + 8..)
//   B [16, 8]    b0 = (c.., r)        b1 = (c + 8.., r)
//   D [16, 8]    d[0], d[1] = (r, c), (r, c + 1)
//                d[2], d[3] = (r + 8, c), (r + 8, c + 1)
//
// D's rows are those of A, so that a product becomes the left side of the next one in registers.
//
// All 32 lanes of a warp call these together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

/// Loads four 8 by 8 matrices of 16-bit elements: lane i gives row i % 8 of matrix i / 8, and gets
/// elements (lane / 4, lane % 4 * 2) and its neighbour of each.
/// @pre `row` is shared memory, aligned to 16 bytes.
SINTER_DEVICE void ldmatrix_x4(unsigned (&matrices)[4], const void *row) {
#ifdef SINTER_SIMT
  simt::ldmatrixX4(matrices, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(shared_address(row))
               : "memory");
#endif
}

/// The same; gets elements (lane % 4 * 2, lane / 4) and the one below it.
SINTER_DEVICE void ldmatrix_x4_trans(unsigned (&matrices)[4], const void *row) {
#ifdef SINTER_SIMT
  simt::ldmatrixX4Trans(matrices, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(shared_address(row))
               : "memory");
#endif
}

/// d += a . b for a [16, 16] and b [16, 8] of T, bf16 or f16, accumulated in f32.
template <class T>
SINTER_DEVICE void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  static_assert(kIsNarrow<T>, "the product is of bf16 or f16");
#ifdef SINTER_SIMT
  const unsigned b[2] = {b0, b1};
  if constexpr (kIsSame<T, __half>)
    simt::mmaM16N8K16F16(d, a, b);
  else
    simt::mmaM16N8K16Bf16(d, a, b);
#else
  if constexpr (kIsSame<T, __half>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/// d += a . b for a [16, 32] of A and b [32, 8] of B, both of 8 bits: fragments as those of
/// mma_m16n8k16, with a Pair for an element. Sums of integers fit 32 bits; fp8 is of compute
/// capability 8.9 and later.
template <class A, class B>
SINTER_DEVICE void mma_m16n8k32(SumOf<A> (&d)[4], const unsigned (&a)[4], unsigned b0,
                                unsigned b1) {
  static_assert(kIsByte<A> && kIsFp8<A> == kIsFp8<B>, "the product is of elements of 8 bits");
#ifdef SINTER_SIMT
  const unsigned b[2] = {b0, b1};
  if constexpr (kIsSame<A, signed char>)
    simt::mmaM16N8K32S8(d, a, b);
  else
    simt::mmaM16N8K32Fp8(d, a, b, kIsSame<A, E5M2>, kIsSame<B, E5M2>);
#else
#define SINTER_MMA_FP8(TYPES)                                                                      \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." TYPES ".f32 {%0, %1, %2, %3}, "            \
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                     \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
  if constexpr (kIsSame<A, signed char>)
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else if constexpr (kIsSame<A, E4M3> && kIsSame<B, E4M3>)
    SINTER_MMA_FP8("e4m3.e4m3");
  else if constexpr (kIsSame<A, E4M3>)
    SINTER_MMA_FP8("e4m3.e5m2");
  else if constexpr (kIsSame<B, E4M3>)
    SINTER_MMA_FP8("e5m2.e4m3");
  else
    SINTER_MMA_FP8("e5m2.e5m2");
#undef SINTER_MMA_FP8
#endif
}

} // namespace sinter
