//===- warpgroup.cuh - Matrices of a warpgroup ------------------*- C++ -*-===//
//
// Matrix instructions of four warps together, threads 128 g to 128 g + 127; sm_90a alone.
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions". A product is
// d [64, 64] += a [64, 16] . b [16, 64]; it reads b from shared memory, and a from there or from
// registers, while the threads go on:
//
//   wgmma_fence(d, a)              before products: these registers are as they are to be
//   wgmma_rows, wgmma_columns      begin products into d, any number, done in this order
//   wgmma_commit()                 makes a group of them
//   wgmma_wait<0>(d)               they are done; until then nobody touches d or a, or writes what
//                                  they read
//
// Warp w has rows 16 w to 16 w + 15 of a and d, as fragments of mma_m16n8k16: d[j] are columns 8 j
// to 8 j + 7.
//
// A tile in shared memory is of 64 columns: 128 bytes a row, from a multiple of 1024 bytes on. Eight
// rows would read one group of banks, so the eight chunks of 16 bytes of a row change places
// (`wgmma_offset`; the hardware takes them where the bits 4 to 6 of an address are XORed with the
// bits 7 to 9). A tile is read as [m, k] or [n, k], 16 columns a product, or as [k, n], 16 rows a
// product.
//
// Other proxies see shared memory in other ways: what threads or cp.async have written, they make
// visible to products by `fence_for_wgmma`, and a barrier after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

#if defined(SINTER_SIMT) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SINTER_HAS_WGMMA 1
#else
#define SINTER_HAS_WGMMA 0
#endif

constexpr int kWarpgroup = 128;

/// Bytes that may lie before the first multiple of 1024 in dynamic shared memory.
constexpr int kWgmmaAlignment = 1024 - 128;

/// The launch's dynamic shared memory from a multiple of 1024 bytes on.
template <class T> SINTER_DEVICE T *dynamic_shared_for_wgmma() {
  auto *all = dynamic_shared<unsigned char>();
  return reinterpret_cast<T *>(all + (0u - shared_address(all)) % 1024);
}

/// Where column `column` of row `row` stands in a tile, in elements.
/// @pre column is a multiple of 8.
SINTER_DEVICE int wgmma_offset(int row, int column) {
  return row * 64 + (column ^ row % 8 * 8);
}

#if SINTER_HAS_WGMMA

namespace detail {
#ifdef SINTER_SIMT
template <class T> SINTER_DEVICE void name_for_fence(T &registers) {
  simt::wgmmaFenceRegisters(&registers, sizeof(registers));
}
#else
// An assembly without instructions: what the compiler has to do with the register before, it does
// before, and what after, after.
SINTER_DEVICE void pin(float &value) { asm volatile("" : "+f"(value)::"memory"); }
SINTER_DEVICE void pin(unsigned &value) { asm volatile("" : "+r"(value)::"memory"); }
template <class T, int N> SINTER_DEVICE void pin(T (&registers)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    pin(registers[i]);
}
#endif
} // namespace detail

/// A matrix of a product: a tile from some place on, and what the instruction wants to know of it.
struct WgmmaMatrix {
  unsigned address; // in units of 16 bytes, and the leading offset, which is not used

  /// The swizzle of 128 bytes, and 1024 bytes between groups of eight rows.
  SINTER_DEVICE unsigned long long descriptor() const {
    constexpr unsigned kUpper = 1u << 30 | 1024 >> 4;
    return static_cast<unsigned long long>(kUpper) << 32 | address;
  }
  /// The matrix that begins so many elements on.
  /// @pre that is in a row of which the number is a multiple of 8, and a multiple of 16 columns on.
  SINTER_DEVICE WgmmaMatrix after(int elements) const { return {address + elements / 8}; }
};

/// The matrix that begins with a tile.
template <class T> SINTER_DEVICE WgmmaMatrix wgmma_matrix(const T *tile) {
  static_assert(kIsNarrow<T>, "the product is of bf16 or f16");
  return {shared_address(tile) >> 4 | 1u << 16};
}

/// Products that begin after this take registers as they are now.
template <class... Registers> SINTER_DEVICE void wgmma_fence(Registers &...registers) {
#ifdef SINTER_SIMT
  simt::wgmmaFence();
  (detail::name_for_fence(registers), ...);
#else
  (detail::pin(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Ends the group of products that the warpgroup has begun since the last one.
template <int = 0> SINTER_DEVICE void wgmma_commit() {
#ifdef SINTER_SIMT
  simt::wgmmaCommit();
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until all groups but the last PENDING are done, which write `registers`.
template <int PENDING, class... Registers>
SINTER_DEVICE void wgmma_wait(Registers &...registers) {
#ifdef SINTER_SIMT
  simt::wgmmaWait(PENDING);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
  (detail::pin(registers), ...);
#endif
}

/// What this thread has written to shared memory, also by copies that it has waited for, products
/// see that come after a barrier.
template <int = 0> SINTER_DEVICE void fence_for_wgmma() {
#ifdef SINTER_SIMT
  simt::fenceProxyAsync();
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#ifndef SINTER_SIMT
#define SINTER_WGMMA_D                                                                             \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "    \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define SINTER_WGMMA_COLUMNS(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define SINTER_WGMMA_OUTPUTS                                                                       \
  SINTER_WGMMA_COLUMNS(0), SINTER_WGMMA_COLUMNS(1), SINTER_WGMMA_COLUMNS(2),                       \
      SINTER_WGMMA_COLUMNS(3), SINTER_WGMMA_COLUMNS(4), SINTER_WGMMA_COLUMNS(5),                   \
      SINTER_WGMMA_COLUMNS(6), SINTER_WGMMA_COLUMNS(7)
// The predicate says whether d is added to; both signs are kept; how a and b are stored.
#define SINTER_WGMMA_ROWS(type)                                                                    \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." \
               type "." type " " SINTER_WGMMA_D "%32, %33, p, 1, 1, 0, 0;}"                        \
               : SINTER_WGMMA_OUTPUTS                                                              \
               : "l"(a.descriptor()), "l"(b.descriptor()), "n"(ADD))
#define SINTER_WGMMA_REGISTERS(type)                                                               \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " " SINTER_WGMMA_D      \
               "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"                                            \
               : SINTER_WGMMA_OUTPUTS                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor()))
#endif

/// Begins d = a . b^T, or d += a . b^T with ADD, for 16 columns of tiles of T, bf16 or f16: a is
/// stored [m, k] and b [n, k].
template <class T, bool ADD>
SINTER_DEVICE void wgmma_rows(float (&d)[8][4], WgmmaMatrix a, WgmmaMatrix b) {
#ifdef SINTER_SIMT
  simt::wgmmaM64N64K16(&d[0][0], a.descriptor(), b.descriptor(), ADD, kIsSame<T, __half>);
#else
  if constexpr (kIsSame<T, __half>)
    SINTER_WGMMA_ROWS("f16");
  else
    SINTER_WGMMA_ROWS("bf16");
#endif
}

/// Begins d += a . b for 16 rows of a tile of T: b is stored [k, n].
template <class T>
SINTER_DEVICE void wgmma_columns(float (&d)[8][4], const unsigned (&a)[4], WgmmaMatrix b) {
#ifdef SINTER_SIMT
  simt::wgmmaM64N64K16(&d[0][0], a, b.descriptor(), kIsSame<T, __half>);
#else
  if constexpr (kIsSame<T, __half>)
    SINTER_WGMMA_REGISTERS("f16");
  else
    SINTER_WGMMA_REGISTERS("bf16");
#endif
}

#ifndef SINTER_SIMT
#undef SINTER_WGMMA_D
#undef SINTER_WGMMA_COLUMNS
#undef SINTER_WGMMA_OUTPUTS
#undef SINTER_WGMMA_ROWS
#undef SINTER_WGMMA_REGISTERS
#endif

#endif // SINTER_HAS_WGMMA

/// copy_rows_async of a tile as products of warpgroups read it: tiles of 64 columns one after
/// another.
template <int ROWS, int COLUMNS, int THREADS, class T>
SINTER_DEVICE void copy_rows_for_wgmma(T *shared, const T *global, long long stride, int rows) {
  constexpr int kChunks = COLUMNS / kVector<T>, kStep = THREADS / kChunks;
  static_assert(COLUMNS % 64 == 0 && THREADS % kChunks == 0 && kStep % 8 == 0 && ROWS % kStep == 0,
                "a thread's chunks stand below each other, in the same place of their rows");
  const int row = threadIdx.x / kChunks, column = threadIdx.x % kChunks * kVector<T>;
  T *to = shared + column / 64 * (ROWS * 64) + wgmma_offset(row, column % 64);
  const T *from = global + row * stride + column;
#pragma unroll
  for (int i = 0; i < ROWS; i += kStep)
    cp_async_16_if(row + i < rows, to + i * 64, from + i * stride);
}

} // namespace sinter
