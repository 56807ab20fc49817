//===- gemm_bytes.cuh - A product of elements of 8 bits ---------*- C++ -*-===//
//
// out[m, n] = epilogue((lhs[m, k] . rhs[n, k]) * scales[n] * rowScales[m]) for many rows
// (bytes.cuh). It is gemm.cuh's product of matrices: a pair of bytes stands where an element of 16
// bits does, in tiles and in fragments, and an instruction multiplies twice as many.
//
// Both sides are rows along k: a transposed load of fragments turns elements of 16 bits, not bytes.
//
// Rows that are aligned to 16 bytes are copied asynchronously, others byte by byte.
//
// Parameters: those of gemm.cuh without rhsStride, rhsTransposed, lhsTransposed and plain, and
// those of bytes.cuh.
//
// Arguments: lhs, rhs, rowScales, scales, four operands of the epilogue (nullptr where there are
// fewer), out.
//
// Launch: that of gemm.cuh's matrices for a transposed rhs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "bytes.cuh"
#include "gemm.cuh"

namespace sinter {

namespace products {

/// The product as one of pairs, of aligned rows, which is how tiles are written.
template <class P> struct PairProduct : P {
  using Element = Pair<typename P::Element>;
  using Epilogue = ScaledEpilogue<P>;
  static constexpr bool lhsTransposed = false, rhsTransposed = true, plain = false;
  static constexpr int k = static_cast<int>(divide_up(P::k, 2));
  static constexpr long long lhsStride = round_up(k, 8), rhsStride = lhsStride;
};

/// Rows of bytes of either side, `stride` bytes one behind the other, of which tiles of pairs are
/// brought. A tile is of the product's pairs, whatever its bytes are.
template <class P, class T, int ROWS, long long STRIDE> struct ByteRows {
  using Element = Pair<typename P::Element>;
  const T *bytes;

  /// @param k in pairs
  SINTER_DEVICE void begin(Element *tile, int k, int row) const {
    using Product = PairProduct<P>;
    constexpr int kTile = gemm_tile<Product>(), kThreads = gemm_block<Product>();
    constexpr int kDepth = kGemmDepth<Product>;
    if constexpr (P::k % 16 == 0 && STRIDE % 16 == 0) {
      copy_tile_async<kTile, kDepth, kThreads>(
          tile, reinterpret_cast<const Element *>(bytes + row * STRIDE) + k, STRIDE / 2, ROWS - row,
          Product::k - k);
    } else {
#pragma unroll 4
      for (int place = threadIdx.x; place < kTile * kDepth; place += kThreads) {
        const int down = place / kDepth, across = place % kDepth;
        Element pair = {};
#pragma unroll
        for (int i = 0; i < 2; ++i)
          if (const int at = 2 * (k + across) + i; row + down < ROWS && at < P::k)
            pair.elements[i] =
                __builtin_bit_cast(typename P::Element, bytes[(row + down) * STRIDE + at]);
        tile[down * pitch_of(kDepth) + across] = pair;
      }
    }
  }
  SINTER_DEVICE void finish(Element *) const {}
};

} // namespace products

template <class P> SINTER_CONSTEXPR long long gemm_bytes_grid() {
  return gemm_grid<products::PairProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int gemm_bytes_block() {
  return gemm_block<products::PairProduct<P>>();
}
template <class P> SINTER_CONSTEXPR int gemm_bytes_shared() {
  return gemm_shared<products::PairProduct<P>>();
}

template <class P>
SINTER_DEVICE void gemm_bytes(const typename P::Element *lhs, const typename P::RhsElement *rhs,
                              const float *rowScales, const float *scales, const void *operand0,
                              const void *operand1, const void *operand2, const void *operand3,
                              typename P::Out *out) {
  using namespace products;
  ScaledEpilogue<P> epilogue{rowScales, scales, {{operand0, operand1, operand2, operand3}}};
  gemm_matrices<PairProduct<P>>({}, ByteRows<P, typename P::Element, P::m, P::lhsStride>{lhs},
                                ByteRows<P, typename P::RhsElement, P::n, P::k>{rhs}, epilogue,
                                out);
}

} // namespace sinter
