//===- tiles.cuh - Tiles of matrices in shared memory -----------*- C++ -*-===//
//
// A tile of 16-bit elements is row-major with `pitch_of(columns)` elements between its rows: 16
// bytes more than a row, so that the eight rows of an 8 by 8 matrix that ldmatrix reads begin in
// eight different groups of banks (columns are a multiple of 16: a pitch is an odd number of 16
// bytes). A tile of f32 has 16 bytes more for the same reason.
//
// Fragments are as in matrices.cuh. A product's right side is read from a tile of `[n, k]`
// (`load_rows_as_b`) or of `[k, n]` (`load_columns_as_b`), 16 by 16 elements: two fragments.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matrices.cuh"

namespace sinter {

SINTER_CONSTEXPR int pitch_of(int columns) { return columns + 8; }
SINTER_CONSTEXPR int float_pitch_of(int columns) { return columns + 4; }

/// Begins to copy a tile of 16-bit elements, all THREADS threads together; rows beyond `rows`
/// become zero.
/// @pre the rows of `global` are aligned to 16 bytes.
template <int ROWS, int COLUMNS, int THREADS, class T>
SINTER_DEVICE void copy_rows_async(T *shared, const T *global, long long stride, int rows,
                                   int thread = threadIdx.x) {
  constexpr int kChunks = COLUMNS / kVector<T>, kPitch = pitch_of(COLUMNS);
  static_assert(COLUMNS % 16 == 0, "a tile has a multiple of 16 columns");
  // A thread's chunks stand below each other where they can: one address and constants.
  constexpr bool kIsEven = THREADS % kChunks == 0;
  const int row = thread / kChunks, column = thread % kChunks * kVector<T>;
  T *to = shared + row * kPitch + column;
  const T *from = global + row * stride + column;
#pragma unroll
  for (int i = 0; i < static_cast<int>(divide_up(ROWS * kChunks, THREADS)); ++i) {
    const int chunk = thread + i * THREADS;
    if (ROWS * kChunks % THREADS != 0 && chunk >= ROWS * kChunks)
      break;
    if constexpr (kIsEven) {
      constexpr int kStep = THREADS / kChunks;
      cp_async_16_if(row + i * kStep < rows, to + i * kStep * kPitch, from + i * kStep * stride);
    } else {
      const int r = chunk / kChunks, c = chunk % kChunks * kVector<T>;
      cp_async_16_if(r < rows, shared + r * kPitch + c, global + r * stride + c);
    }
  }
}

/// The same of a tile that may end within its columns: what is beyond `columns` becomes zero, too.
/// @pre the first element of `global` is there.
template <int ROWS, int COLUMNS, int THREADS, class T>
SINTER_DEVICE void copy_tile_async(T *shared, const T *global, long long stride, int rows,
                                   int columns) {
  constexpr int kChunks = COLUMNS / kVector<T>;
  static_assert(COLUMNS % 16 == 0, "a tile has a multiple of 16 columns");
#pragma unroll
  for (int i = 0; i < static_cast<int>(divide_up(ROWS * kChunks, THREADS)); ++i) {
    int chunk = threadIdx.x + i * THREADS;
    if (ROWS * kChunks % THREADS != 0 && chunk >= ROWS * kChunks)
      break;
    int row = chunk / kChunks, column = chunk % kChunks * kVector<T>;
    int count = row < rows ? min_of(max_of(columns - column, 0), kVector<T>) : 0;
    cp_async_16(shared + row * pitch_of(COLUMNS) + column,
                count > 0 ? global + row * stride + column : global,
                count * static_cast<int>(sizeof(T)));
  }
}

/// Begins to copy a tile of bytes as it is, a row behind the other, all THREADS threads together.
/// @pre the rows of `global` are aligned to 16 bytes, and COLUMNS is a multiple of 16.
template <int ROWS, int COLUMNS, int THREADS, class T>
SINTER_DEVICE void copy_bytes_async(T *shared, const T *global, long long stride, int rows,
                                    int thread = threadIdx.x) {
  static_assert(sizeof(T) == 1 && COLUMNS % 16 == 0, "a row is of whole chunks of bytes");
  constexpr int kChunks = COLUMNS / 16;
#pragma unroll
  for (int i = 0; i < static_cast<int>(divide_up(ROWS * kChunks, THREADS)); ++i) {
    const int chunk = thread + i * THREADS, row = chunk / kChunks, column = chunk % kChunks * 16;
    if (ROWS * kChunks % THREADS != 0 && chunk >= ROWS * kChunks)
      break;
    cp_async_16_if(row < rows, shared + chunk * 16,
                   row < rows ? global + row * stride + column : global);
  }
}

/// Widens such a tile to elements of 16 bits, as copy_rows_async puts them. What others copied is
/// there; the threads wait for each other before they read what is written.
template <int ROWS, int COLUMNS, int THREADS, class To, class T>
SINTER_DEVICE void widen_bytes(To *to, const T *bytes, int thread = threadIdx.x) {
  constexpr int kChunks = COLUMNS / 16;
// More at a time would take the registers of what the tile is multiplied with.
#pragma unroll 2
  for (int i = 0; i < static_cast<int>(divide_up(ROWS * kChunks, THREADS)); ++i) {
    const int chunk = thread + i * THREADS;
    if (ROWS * kChunks % THREADS != 0 && chunk >= ROWS * kChunks)
      break;
    const auto numbers = to_floats(load<T, 16>(bytes + chunk * 16));
    union {
      Vector<To, 16> vector;
      unsigned words[8];
    } elements;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      elements.words[j] = pack<To>(numbers[2 * j], numbers[2 * j + 1]);
    store(to + chunk / kChunks * pitch_of(COLUMNS) + chunk % kChunks * 16, elements.vector);
  }
}

/// Copies a tile as f32, all THREADS threads together; what is beyond `rows` or `columns` becomes
/// zero. ALIGNED: the rows of `global` are aligned to 16 bytes and `columns` fills vectors.
template <int ROWS, int COLUMNS, int THREADS, bool ALIGNED, class T>
SINTER_DEVICE void copy_tile_as_float(float *shared, const T *global, long long stride, int rows,
                                      int columns) {
  constexpr int kWidth = ALIGNED ? kVector<T> : 1;
  constexpr int kChunks = COLUMNS / kWidth;
  for (int chunk = threadIdx.x; chunk < ROWS * kChunks; chunk += THREADS) {
    int row = chunk / kChunks, column = chunk % kChunks * kWidth;
    Vector<float, kWidth> values = {};
    if (row < rows && column < columns)
      values = convert_vector<float>(load<T, kWidth>(global + row * stride + column));
    store(shared + row * float_pitch_of(COLUMNS) + column, values);
  }
}

/// The fragment of a product's left side: 16 by 16 elements from `tile` on, stored `[m, k]`.
template <int PITCH, class T>
SINTER_DEVICE void load_rows_as_a(unsigned (&a)[4], const T *tile, int lane) {
  ldmatrix_x4(a, tile + lane % 16 * PITCH + lane / 16 * 8);
}

/// The same, stored `[k, m]`.
template <int PITCH, class T>
SINTER_DEVICE void load_columns_as_a(unsigned (&a)[4], const T *tile, int lane) {
  ldmatrix_x4_trans(a, tile + (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8);
}

/// Two fragments of a product's right side, b[0] and b[1] of columns [0, 8), b[2] and b[3] of
/// columns [8, 16): 16 by 16 elements from `tile` on, stored `[n, k]`.
template <int PITCH, class T>
SINTER_DEVICE void load_rows_as_b(unsigned (&b)[4], const T *tile, int lane) {
  ldmatrix_x4(b, tile + (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8);
}

/// The same, stored `[k, n]`.
template <int PITCH, class T>
SINTER_DEVICE void load_columns_as_b(unsigned (&b)[4], const T *tile, int lane) {
  ldmatrix_x4_trans(b, tile + lane % 16 * PITCH + lane / 16 * 8);
}

/// Calls `use(m, j, i)` for element i of product j of tile m: TILES times 16 rows, COUNT times 8
/// columns.
template <int TILES, int COUNT, class Use> SINTER_DEVICE void for_each_element(Use use) {
#pragma unroll
  for (int m = 0; m < TILES; ++m)
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        use(m, j, i);
}

/// The left side of a product from two neighbouring 16 by 8 products `low` and `high`.
template <class T>
SINTER_DEVICE void pack_as_a(unsigned (&a)[4], const float (&low)[4], const float (&high)[4]) {
  a[0] = pack<T>(low[0], low[1]);
  a[1] = pack<T>(low[2], low[3]);
  a[2] = pack<T>(high[0], high[1]);
  a[3] = pack<T>(high[2], high[3]);
}

} // namespace sinter
