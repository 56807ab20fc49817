//===- Tensor.cpp - Matrix products and matrix loads of a warp ------------===//
//
// PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type", "Matrix Fragments for
// mma.m16n8k32" and "ldmatrix". A register holds neighbours along k, the first in its lowest bits:
// two of 16 bits, four of 8. With group = lane / 4, first = lane % 4 times as many, and half the
// product's depth, (row, column) of a register's first element are:
//
//   a0, a1: (group, first), (group + 8, first)
//   a2, a3: (group, first + half), (group + 8, first + half)
//   b0, b1: (first, group), (first + half, group)
//   d0, d1: (group, 2 (lane % 4)) and the next column; d2, d3: 8 rows on
//
// How a tensor core rounds while it adds is not documented; here sums run over k in f32; those
// of integers are exact on both.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include "test/simt/DeviceHooks.h"
#include "test/simt/Machine.h"

#include <cstring>

using namespace sinter;
using namespace sinter::simt;

#define SINTER_CALLER __builtin_return_address(0)

namespace {

Machine &machine() { return Machine::instance(); }

template <class Sum> struct Fragments {
  Sum *d;
  const unsigned *a, *b;
};

/// An element type of fragments: its numbers, as sums of products take them.
struct Bf16 {
  using Bits = uint16_t;
  using Sum = float;
  static float widen(Bits bits) { return bf16ToFloat(bits); }
};
struct F16 {
  using Bits = uint16_t;
  using Sum = float;
  static float widen(Bits bits) { return f16ToFloat(bits); }
};
struct S8 {
  using Bits = uint8_t;
  using Sum = int;
  static int widen(Bits bits) { return static_cast<int8_t>(bits); }
};
struct E4M3 {
  using Bits = uint8_t;
  using Sum = float;
  static float widen(Bits bits) { return e4m3ToFloat(bits); }
};

struct E5M2 {
  using Bits = uint8_t;
  using Sum = float;
  static float widen(Bits bits) { return e5m2ToFloat(bits); }
};

/// Of elements of A and B, which have as many bits.
template <class A, class B = A> void runMma(const WarpArguments &arguments) {
  using Sum = typename A::Sum;
  constexpr unsigned bits = 8 * sizeof(typename A::Bits), together = 32 / bits;
  constexpr unsigned depth = 8 * together;
  Sum a[16][depth] = {}, b[depth][8] = {}, d[16][8] = {};
  auto get = [](unsigned word, unsigned element) {
    return static_cast<typename A::Bits>(word >> element * bits);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!arguments.has(lane))
      continue;
    auto &own = arguments.operand<Fragments<Sum>>(lane);
    unsigned group = lane / 4, first = lane % 4 * together;
    for (unsigned i = 0; i < 4; ++i) {
      for (unsigned j = 0; j < together; ++j)
        a[group + i % 2 * 8][first + j + i / 2 * depth / 2] = A::widen(get(own.a[i], j));
      d[group + i / 2 * 8][2 * (lane % 4) + i % 2] = own.d[i];
    }
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned j = 0; j < together; ++j)
        b[first + j + i * depth / 2][group] = B::widen(get(own.b[i], j));
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned column = 0; column < 8; ++column)
        d[row][column] += a[row][k] * b[k][column];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4 && arguments.has(lane); ++i)
      arguments.operand<Fragments<Sum>>(lane).d[i] =
          d[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2];
}

constexpr WarpOperation mmaBf16{"mma.m16n8k16.bf16", runMma<Bf16>};
constexpr WarpOperation mmaF16{"mma.m16n8k16.f16", runMma<F16>};
constexpr WarpOperation mmaS8{"mma.m16n8k32.s8", runMma<S8>};
constexpr WarpOperation mmaFp8[2][2] = {
    {{"mma.m16n8k32.e4m3", runMma<E4M3>}, {"mma.m16n8k32.e4m3.e5m2", runMma<E4M3, E5M2>}},
    {{"mma.m16n8k32.e5m2.e4m3", runMma<E5M2, E4M3>}, {"mma.m16n8k32.e5m2", runMma<E5M2>}}};

/// Operations of .aligned instructions: a warp with a lane missing cannot do them.
void meetAll(const WarpOperation &operation, const void *in, void *out, const void *code) {
  if (machine().liveLanes() != allLanes)
    machine().diverge(std::string("calls ") + operation.name + ", which takes all 32 lanes", code);
  machine().meet(operation, allLanes, in, out, code);
}

template <unsigned Count, bool Transposed> void runLdmatrix(const WarpArguments &arguments) {
  for (unsigned i = 0; i < Count; ++i) {
    uint16_t matrix[8][8] = {};
    for (unsigned row = 0; row < 8; ++row)
      if (arguments.has(8 * i + row))
        memcpy(matrix[row], arguments.in[8 * i + row], sizeof(matrix[row]));
    for (unsigned lane = 0; lane < 32; ++lane)
      if (arguments.has(lane)) {
        unsigned group = lane / 4, pair = 2 * (lane % 4);
        uint16_t low = Transposed ? matrix[pair][group] : matrix[group][pair];
        uint16_t high = Transposed ? matrix[pair + 1][group] : matrix[group][pair + 1];
        (&arguments.result<unsigned>(lane))[i] = unsigned(high) << 16 | low;
      }
  }
}

template <unsigned Count, bool Transposed>
constexpr WarpOperation ldmatrixOperation{Transposed ? "ldmatrix.trans" : "ldmatrix",
                                          runLdmatrix<Count, Transposed>};

template <bool Transposed, unsigned Count>
void ldmatrix(unsigned (&matrices)[Count], const void *row, const void *code) {
  if (machine().current() % 32 < 8 * Count) {
    machine().requireAligned(row, 16, code);
    machine().access(row, 16, MemoryChecker::Access::Read, code);
  }
  meetAll(ldmatrixOperation<Count, Transposed>, row, matrices, code);
}

} // namespace

void simt::mmaM16N8K16Bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Fragments<float> fragments{d, a, b};
  meetAll(mmaBf16, &fragments, nullptr, SINTER_CALLER);
}
void simt::mmaM16N8K16F16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Fragments<float> fragments{d, a, b};
  meetAll(mmaF16, &fragments, nullptr, SINTER_CALLER);
}

void simt::mmaM16N8K32S8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Fragments<int> fragments{d, a, b};
  meetAll(mmaS8, &fragments, nullptr, SINTER_CALLER);
}
void simt::mmaM16N8K32Fp8(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                          bool aIsE5M2, bool bIsE5M2) {
  Fragments<float> fragments{d, a, b};
  meetAll(mmaFp8[aIsE5M2][bIsE5M2], &fragments, nullptr, SINTER_CALLER);
}

void simt::ldmatrixX1(unsigned (&matrices)[1], const void *row) {
  ldmatrix<false>(matrices, row, SINTER_CALLER);
}
void simt::ldmatrixX2(unsigned (&matrices)[2], const void *row) {
  ldmatrix<false>(matrices, row, SINTER_CALLER);
}
void simt::ldmatrixX4(unsigned (&matrices)[4], const void *row) {
  ldmatrix<false>(matrices, row, SINTER_CALLER);
}
void simt::ldmatrixX1Trans(unsigned (&matrices)[1], const void *row) {
  ldmatrix<true>(matrices, row, SINTER_CALLER);
}
void simt::ldmatrixX2Trans(unsigned (&matrices)[2], const void *row) {
  ldmatrix<true>(matrices, row, SINTER_CALLER);
}
void simt::ldmatrixX4Trans(unsigned (&matrices)[4], const void *row) {
  ldmatrix<true>(matrices, row, SINTER_CALLER);
}
