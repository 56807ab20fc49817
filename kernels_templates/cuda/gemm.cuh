//===- gemm.cuh - A product of matrices -------------------------*- C++ -*-===//
//
// out[m, n] = epilogue(lhs[m, k] . rhs[k, n]), where the library is not there or has no such
// epilogue. A block computes a tile of 128 by 128 or 64 by 64 elements; sums are in f32, in the
// order of k.
//
// Versions:
//
//   plain     any element types. Tiles of 16 steps of k as f32 in shared memory, twice; a thread
//             computes an 8 by 8 (4 by 4) part from registers and reads what the tile after needs
//             meanwhile.
//   matrices  bf16 and f16 whose rows are aligned to 16 bytes. A warp computes a 64 by 32 (32 by
//   32)
//             part with mma.sync; three tiles of 32 steps of k are in flight (cp.async), so that a
//             barrier a tile is all that is waited for. lhs and rhs are read as they are stored:
//             ldmatrix transposes.
//
// Blocks that run together compute neighbouring tiles, eight rows of tiles at a time: what they
// read is in the L2 cache.
//
// Parameters:
//
//   Element, Out       element types of lhs and rhs; of out
//   Epilogue           see epilogue.cuh
//   m, n, k            (int)
//   lhsStride, rhsStride, outStride   (long long) elements between rows as stored
//   lhsTransposed      (bool) lhs is stored [k, m]
//   rhsTransposed      (bool) rhs is stored [n, k]
//   plain              (bool) the plain version, whatever the types
//   tile               (int) rows and columns of a block's tile, 64 or 128; 0 as below
//
// Arguments: lhs, rhs, four operands of the epilogue (nullptr where there are fewer), out.
//
// Launch: gemm_grid<P>() blocks of gemm_block<P>() threads, gemm_shared<P>() bytes.
//
//   matrices = !plain && Element is bf16 or f16 && lhsStride % 8 == 0 && rhsStride % 8 == 0
//   tile   = m > 64 && ceil(m / 128) ceil(n / 128) >= 132 ? 128 : 64, unless it is given
//   grid   = ceil(m / tile) ceil(n / tile)
//   block  = matrices && tile == 64 ? 128 : 256
//   shared = matrices ? 6 (lhs + rhs) : 128 (2 tile + 8)
//            with lhs = lhsTransposed ? 32 (tile + 8) : 40 tile
//            and  rhs = rhsTransposed ? 40 tile : 32 (tile + 8)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "epilogue.cuh"
#include "tiles.cuh"

namespace sinter {

namespace products {
template <class P> SINTER_CONSTEXPR bool gemm_uses_matrices() {
  return !P::plain && (kIsNarrow<typename P::Element> || kIsPair<typename P::Element>) &&
         P::lhsStride % 8 == 0 && P::rhsStride % 8 == 0;
}
/// Steps of k in a tile.
template <class P> constexpr int kGemmDepth = gemm_uses_matrices<P>() ? 32 : 16;
constexpr int kGemmStages = 3;

/// Elements of a tile of lhs or rhs of which `transposed` says that k runs along its columns.
SINTER_CONSTEXPR int gemm_tile_elements(int tile, int depth, bool rowsOfK) {
  return rowsOfK ? depth * pitch_of(tile) : tile * pitch_of(depth);
}
} // namespace products

template <class P> SINTER_CONSTEXPR int gemm_tile() {
  if (P::tile)
    return P::tile;
  return P::m > 64 && divide_up(P::m, 128) * divide_up(P::n, 128) >= 132 ? 128 : 64;
}
template <class P> SINTER_CONSTEXPR int gemm_block() {
  return products::gemm_uses_matrices<P>() && gemm_tile<P>() == 64 ? 128 : 256;
}
template <class P> SINTER_CONSTEXPR long long gemm_grid() {
  return divide_up(P::m, gemm_tile<P>()) * divide_up(P::n, gemm_tile<P>());
}
template <class P> SINTER_CONSTEXPR int gemm_shared() {
  constexpr int kTile = gemm_tile<P>(), kDepth = products::kGemmDepth<P>;
  if (products::gemm_uses_matrices<P>())
    return 2 * products::kGemmStages *
           (products::gemm_tile_elements(kTile, kDepth, P::lhsTransposed) +
            products::gemm_tile_elements(kTile, kDepth, !P::rhsTransposed));
  return 2 * 2 * 4 * kDepth * float_pitch_of(kTile);
}

namespace products {

/// What a block computes: the tile whose first element is (row, column), of a product of `m` rows
/// and `k` steps.
template <class P> struct OutputTile {
  int row, column, m = P::m, k = P::k;

  SINTER_DEVICE OutputTile(int row, int column, int m, int k)
      : row(row), column(column), m(m), k(k) {}
  /// That of the block's number.
  SINTER_DEVICE OutputTile() {
    constexpr int kTile = gemm_tile<P>(), kTogether = 8;
    constexpr int kRows = static_cast<int>(divide_up(P::m, kTile));
    constexpr int kColumns = static_cast<int>(divide_up(P::n, kTile));
    const int band = blockIdx.x / (kTogether * kColumns) * kTogether;
    const int height = min_of(kTogether, kRows - band);
    const int place = blockIdx.x % (kTogether * kColumns);
    row = (band + place % height) * kTile;
    column = place / height * kTile;
  }
};

/// Visits the sums of a thread, all written out: four neighbours, `own` times, of rows and columns.
template <int own, class Visit> SINTER_DEVICE void for_each_sum(Visit visit) {
#pragma unroll
  for (int i = 0; i < own; ++i)
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int j = 0; j < own; ++j)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          visit(i, r, j, c);
}

/// A left-hand side whose tiles are brought as it is stored, all threads together.
template <class P> struct DenseLhs {
  const typename P::Element *lhs;
  int m = P::m, k = P::k; ///< what there is of it

  SINTER_DEVICE void begin(typename P::Element *tile, int at, int row) const {
    constexpr int kTile = gemm_tile<P>(), kThreads = gemm_block<P>(), kDepth = kGemmDepth<P>;
    if constexpr (P::lhsTransposed)
      copy_tile_async<kDepth, kTile, kThreads>(tile, lhs + at * P::lhsStride + row, P::lhsStride,
                                               k - at, m - row);
    else
      copy_tile_async<kTile, kDepth, kThreads>(tile, lhs + row * P::lhsStride + at, P::lhsStride,
                                               m - row, k - at);
  }
};

/// A right-hand side whose elements are read as they are multiplied. A product asks for single
/// elements, or has tiles brought, all threads together: `begin` asks memory for one, `finish` puts
/// what was asked for last where it belongs. Both are done before the barrier in front of its use.
template <class P> struct DenseRhs {
  const typename P::Element *rhs;
  int k = P::k; ///< what there is of it

  SINTER_DEVICE float get(long long at, long long column) const {
    return to_float(
        rhs[P::rhsTransposed ? column * P::rhsStride + at : at * P::rhsStride + column]);
  }

  SINTER_DEVICE void begin(typename P::Element *tile, int at, int column) {
    constexpr int kTile = gemm_tile<P>(), kThreads = gemm_block<P>(), kDepth = kGemmDepth<P>;
    if constexpr (P::rhsTransposed)
      copy_tile_async<kTile, kDepth, kThreads>(tile, rhs + column * P::rhsStride + at, P::rhsStride,
                                               P::n - column, k - at);
    else
      copy_tile_async<kDepth, kTile, kThreads>(tile, rhs + at * P::rhsStride + column, P::rhsStride,
                                               k - at, P::n - column);
  }
  SINTER_DEVICE void finish(typename P::Element *) const {}
};

template <class P, class Rhs>
SINTER_DEVICE void gemm_plain(const OutputTile<P> &tile, const typename P::Element *lhs,
                              const Rhs &rhs, typename P::Epilogue epilogue, typename P::Out *out) {
  constexpr int kTile = gemm_tile<P>(), kDepth = kGemmDepth<P>, kThreads = 256;
  constexpr int kPitch = float_pitch_of(kTile), kOwn = kTile / 64;
  constexpr int kMoves = kTile * kDepth / kThreads;
  float *memory = dynamic_shared<float>();
  // A thread's rows are 4 y + 64 i and the three after them, its columns the same of x.
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;

  // Neighbouring threads read neighbouring elements, however a matrix is stored.
  auto place = [&](int move, bool rowsOfK, int &depth, int &across) {
    int at = threadIdx.x + move * kThreads;
    depth = rowsOfK ? at / kTile : at % kDepth;
    across = rowsOfK ? at % kTile : at / kDepth;
  };
  float left[kMoves], right[kMoves];
  auto read = [&](int k) {
#pragma unroll
    for (int move = 0; move < kMoves; ++move) {
      int depth, across;
      place(move, P::lhsTransposed, depth, across);
      const long long row = tile.row + across, l = k + depth;
      left[move] =
          row < tile.m && l < tile.k
              ? to_float(lhs[P::lhsTransposed ? l * P::lhsStride + row : row * P::lhsStride + l])
              : 0.0f;
      place(move, !P::rhsTransposed, depth, across);
      const long long column = tile.column + across, r = k + depth;
      right[move] = column < P::n && r < tile.k ? rhs.get(r, column) : 0.0f;
    }
  };
  auto write = [&](float *stage) {
#pragma unroll
    for (int move = 0; move < kMoves; ++move) {
      int depth, across;
      place(move, P::lhsTransposed, depth, across);
      stage[depth * kPitch + across] = left[move];
      place(move, !P::rhsTransposed, depth, across);
      stage[(kDepth + depth) * kPitch + across] = right[move];
    }
  };

  Vector<float, 4> sums[kOwn][4][kOwn] = {};
  read(0);
  for (int k = 0, stage = 0; k < tile.k; k += kDepth, stage ^= 1) {
    float *now = memory + stage * 2 * kDepth * kPitch;
    write(now);
    // What the next step writes, everybody has left before this barrier.
    __syncthreads();
    if (k + kDepth < tile.k)
      read(k + kDepth);
#pragma unroll(kOwn == 1 ? kDepth : 4)
    for (int depth = 0; depth < kDepth; ++depth) {
      Vector<float, 4> a[kOwn], b[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        a[i] = load<float, 4>(now + depth * kPitch + 4 * y + 64 * i);
        b[i] = load<float, 4>(now + (kDepth + depth) * kPitch + 4 * x + 64 * i);
      }
      for_each_sum<kOwn>([&](int i, int r, int j, int c) {
        sums[i][r][j][c] = fma(a[i][r], b[j][c], sums[i][r][j][c]);
      });
    }
  }
  for_each_sum<kOwn>([&](int i, int r, int j, int c) {
    const int row = tile.row + 4 * y + 64 * i + r, column = tile.column + 4 * x + 64 * j + c;
    if (row < tile.m && column < P::n)
      out[row * P::outStride + column] =
          from_float<typename P::Out>(epilogue(sums[i][r][j][c], row, column));
  });
}

/// d += a . b for fragments of 16 bits, or of pairs of 8, of which rhs may have a type of its own.
template <class P>
SINTER_DEVICE void multiply_fragments(SumOf<typename P::Element> (&d)[4], const unsigned (&a)[4],
                                      unsigned b0, unsigned b1) {
  using T = typename P::Element;
  if constexpr (kIsPair<T>)
    mma_m16n8k32<typename T::Element, typename P::RhsElement>(d, a, b0, b1);
  else
    mma_m16n8k16<T>(d, a, b0, b1);
}

template <class P, class Lhs, class Rhs>
SINTER_DEVICE void gemm_matrices(const OutputTile<P> &tile, Lhs lhs, Rhs rhs,
                                 typename P::Epilogue epilogue, typename P::Out *out) {
  using T = typename P::Element;
  using Out = typename P::Out;
  constexpr int kTile = gemm_tile<P>(), kThreads = gemm_block<P>(), kDepth = kGemmDepth<P>;
  constexpr int kLeft = gemm_tile_elements(kTile, kDepth, P::lhsTransposed);
  constexpr int kStage = kLeft + gemm_tile_elements(kTile, kDepth, !P::rhsTransposed);
  // Warps stand in two rows; each computes kParts times 16 rows and 32 columns.
  constexpr int kParts = kTile / 32, kAcross = kTile / 32;
  T *memory = dynamic_shared<T>();
  const int lane = lane_index();
  const int row = warp_index() / kAcross * (kTile / 2), column = warp_index() % kAcross * 32;

  auto place = [&](int step) { return memory + step % kGemmStages * kStage; };
  auto begin = [&](int step) {
    const int k = step * kDepth;
    T *left = place(step);
    lhs.begin(left, k, tile.row);
    rhs.begin(left + kLeft, k, tile.column);
  };

  const int steps = static_cast<int>(divide_up(tile.k, kDepth));
#pragma unroll
  for (int step = 0; step < kGemmStages - 1; ++step) {
    if (step < steps) {
      begin(step);
      rhs.finish(place(step) + kLeft);
    }
    cp_async_commit();
  }
  SumOf<T> sums[kParts][4][4] = {};
  for (int step = 0; step < steps; ++step) {
    // This tile is there, and everybody is done with the one before, whose place is next.
    cp_async_wait<kGemmStages - 2>();
    __syncthreads();
    const int ahead = step + kGemmStages - 1;
    if (ahead < steps)
      begin(ahead);
    cp_async_commit();
    const T *left = place(step), *right = left + kLeft;
#pragma unroll
    for (int depth = 0; depth < kDepth; depth += 16) {
      unsigned a[kParts][4], b[2][4];
#pragma unroll
      for (int i = 0; i < kParts; ++i)
        if constexpr (P::lhsTransposed)
          load_columns_as_a<pitch_of(kTile)>(a[i], left + depth * pitch_of(kTile) + row + i * 16,
                                             lane);
        else
          load_rows_as_a<pitch_of(kDepth)>(a[i], left + (row + i * 16) * pitch_of(kDepth) + depth,
                                           lane);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if constexpr (P::rhsTransposed)
          load_rows_as_b<pitch_of(kDepth)>(
              b[j], right + (column + j * 16) * pitch_of(kDepth) + depth, lane);
        else
          load_columns_as_b<pitch_of(kTile)>(
              b[j], right + depth * pitch_of(kTile) + column + j * 16, lane);
#pragma unroll
      for (int i = 0; i < kParts; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          multiply_fragments<P>(sums[i][2 * j], a[i], b[j][0], b[j][1]);
          multiply_fragments<P>(sums[i][2 * j + 1], a[i], b[j][2], b[j][3]);
        }
    }
    if (ahead < steps)
      rhs.finish(place(ahead) + kLeft);
  }
#pragma unroll
  for (int i = 0; i < kParts; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int r = tile.row + row + i * 16 + half * 8 + lane / 4;
        const int c = tile.column + column + j * 8 + lane % 4 * 2;
        if (r >= tile.m || c >= P::n)
          continue;
        Out *to = out + r * P::outStride + c;
        Vector<Out, 2> values;
        values[0] = from_float<Out>(epilogue(sums[i][j][half * 2], r, c));
        if (c + 1 < P::n)
          values[1] = from_float<Out>(epilogue(sums[i][j][half * 2 + 1], r, c + 1));
        if (P::outStride % 2 == 0 && c + 1 < P::n) {
          store(to, values);
        } else {
          to[0] = values[0];
          if (c + 1 < P::n)
            to[1] = values[1];
        }
      }
}

} // namespace products

template <class P>
SINTER_DEVICE void gemm(const typename P::Element *lhs, const typename P::Element *rhs,
                        const void *operand0, const void *operand1, const void *operand2,
                        const void *operand3, typename P::Out *out) {
  typename P::Epilogue epilogue{{operand0, operand1, operand2, operand3}};
  const products::DenseRhs<P> dense{rhs};
  if constexpr (products::gemm_uses_matrices<P>())
    products::gemm_matrices<P>({}, products::DenseLhs<P>{lhs}, dense, epilogue, out);
  else
    products::gemm_plain<P>({}, lhs, dense, epilogue, out);
}

} // namespace sinter
