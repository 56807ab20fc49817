//===- Tensor.cpp - Matrix products and matrix loads of a warp ------------===//
//
// PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type" and "ldmatrix". With
// group = lane / 4 and pair = lane % 4, registers hold (row, column):
//
//   a0, a1: (group, 2 pair), (group + 8, 2 pair)     each register has that element in its lower
//   half a2, a3: the same rows, 8 columns on              and the next column in its upper half b0,
//   b1: (2 pair, group), (2 pair + 8, group)     lower half; the next row in the upper half d0, d1:
//   (group, 2 pair), (group, 2 pair + 1)     d2, d3: 8 rows on
//
// How a tensor core rounds while it adds is not documented; here sums run over k in f32.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/HalfFloat.h"
#include "test/simt/DeviceHooks.h"
#include "test/simt/Machine.h"

#include <cstring>

using namespace sinter;
using namespace sinter::simt;

#define SINTER_CALLER __builtin_return_address(0)

namespace {

Machine &machine() { return Machine::instance(); }

struct Fragments {
  float *d;
  const unsigned *a, *b;
};

using Widen = float (*)(uint16_t);

template <Widen widen> void runMma(const WarpArguments &arguments) {
  float a[16][16] = {}, b[16][8] = {}, d[16][8] = {};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!arguments.has(lane))
      continue;
    auto &own = arguments.operand<Fragments>(lane);
    unsigned group = lane / 4, pair = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = group + i % 2 * 8, column = 2 * pair + i / 2 * 8;
      a[row][column] = widen(uint16_t(own.a[i]));
      a[row][column + 1] = widen(uint16_t(own.a[i] >> 16));
      d[group + i / 2 * 8][2 * pair + i % 2] = own.d[i];
    }
    for (unsigned i = 0; i < 2; ++i) {
      b[2 * pair + i * 8][group] = widen(uint16_t(own.b[i]));
      b[2 * pair + i * 8 + 1][group] = widen(uint16_t(own.b[i] >> 16));
    }
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < 16; ++k)
      for (unsigned column = 0; column < 8; ++column)
        d[row][column] += a[row][k] * b[k][column];
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4 && arguments.has(lane); ++i)
      arguments.operand<Fragments>(lane).d[i] = d[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2];
}

constexpr WarpOperation mmaBf16{"mma.m16n8k16.bf16", runMma<bf16ToFloat>};
constexpr WarpOperation mmaF16{"mma.m16n8k16.f16", runMma<f16ToFloat>};

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
  Fragments fragments{d, a, b};
  meetAll(mmaBf16, &fragments, nullptr, SINTER_CALLER);
}
void simt::mmaM16N8K16F16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  Fragments fragments{d, a, b};
  meetAll(mmaF16, &fragments, nullptr, SINTER_CALLER);
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
