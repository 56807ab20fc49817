//===- pack_integers.cuh - Two integers of four bits a byte -----*- C++ -*-===//
//
// Rows of integers of four bits, a byte each, as the products read them (integers.cuh): 32 elements
// in 16 bytes, of which byte j has element j in its lower half and element j + 16 in its upper one,
// and zeros behind the last element of a row.
//
// Versions:
//
//   pieces  A thread writes 16 bytes. It runs once, when weights are preprocessed.
//
// Parameters:
//
//   rows, columns   (int)
//
// Arguments: integers [rows, columns], packed [rows, ceil(columns / 32) 16] bytes.
//
// Launch: pack_integers_grid<P>() blocks of 256 threads, no dynamic shared memory.
//
//   grid = ceil(rows ceil(columns / 32) / 256)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

template <class P> SINTER_CONSTEXPR int pack_integers_block() { return 256; }
template <class P> SINTER_CONSTEXPR long long pack_integers_grid() {
  return divide_up(P::rows * divide_up(P::columns, 32), 256);
}
template <class P> SINTER_CONSTEXPR int pack_integers_shared() { return 0; }

template <class P>
SINTER_DEVICE void pack_integers(const signed char *integers, signed char *packed) {
  constexpr int kPieces = static_cast<int>(divide_up(P::columns, 32));
  const long long piece = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (piece >= static_cast<long long>(P::rows) * kPieces)
    return;
  const int column = static_cast<int>(piece % kPieces) * 32;
  const signed char *row = integers + piece / kPieces * P::columns;
  auto get = [&](int at) { return at < P::columns ? row[at] & 15 : 0; };
  Vector<signed char, 16> result;
#pragma unroll
  for (int i = 0; i < 16; ++i)
    result[i] = static_cast<signed char>(get(column + i) | get(column + 16 + i) << 4);
  store(packed + piece * 16, result);
}

} // namespace sinter
