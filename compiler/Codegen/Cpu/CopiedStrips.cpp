#include "compiler/Codegen/Cpu/CopiedStrips.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

CopiedStrips::CopiedStrips(VectorBuilder &builder, const GemmPlan &plan, Value rhs,
                           ArrayRef<int64_t> sets)
    : builder(builder), plan(plan), rhs(rhs), sets(sets), lanes(builder.getLanes()),
      strips(builder.scratch(static_cast<int64_t>(sets.size()) * plan.kBlock * kItemColumns,
                             builder.getF32Type())) {}

void CopiedStrips::copy(Value columnBlock, Value kBegin, Value kEnd) {
  begin = kBegin;
  Value firstColumn = builder.mul(columnBlock, kItemColumns);
  if (plan.rhs == GemmPlan::Rhs::DenseTransposed)
    copyTransposed(firstColumn, kBegin, kEnd);
  else
    copyDense(firstColumn, kBegin, kEnd);
}

void CopiedStrips::copyDense(Value firstColumn, Value kBegin, Value kEnd) {
  builder.loop(kBegin, kEnd, 1, [&](Value k) {
    for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
      Value column = builder.add(firstColumn, v * lanes);
      Value mask;
      if (plan.n % kItemColumns != 0)
        mask = builder.maskBelow(builder.sub(builder.index(plan.n), column));
      Value from = builder.add(builder.mul(k, plan.n), column);
      builder.store(builder.load(rhs, from, mask), strips, at(k, v));
    }
  });
}

/// Columns are rows of rhs: squares of them are turned.
void CopiedStrips::copyTransposed(Value firstColumn, Value kBegin, Value kEnd) {
  builder.loop(kBegin, kEnd, lanes, [&](Value k) {
    // A last square may be narrower; what it holds beyond the last k is not read.
    Value mask;
    if (plan.k % lanes != 0)
      mask = builder.maskBelow(builder.sub(builder.index(plan.k), k));
    for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
      Value first = builder.add(firstColumn, v * lanes);
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i) {
        // Columns of the product beyond the last repeat it.
        Value row = builder.min(builder.add(first, i), builder.index(plan.n - 1));
        rows.push_back(builder.load(rhs, builder.add(builder.mul(row, plan.k), k), mask));
      }
      for (auto [i, column] : llvm::enumerate(builder.transpose(rows)))
        builder.store(column, strips, at(builder.add(k, i), v));
    }
  });
}

void CopiedStrips::dequantize(const IntegerPanels &integers, Value kBegin, Value kEnd) {
  begin = kBegin;
  // Rows with the same scales: a block holds whole groups, or parts of them.
  int64_t rows = plan.group < plan.k ? std::gcd(plan.group, plan.kBlock) : plan.kBlock;
  int64_t count = rows % plan.together == 0 ? plan.together : 1;
  for (auto [set, offset] : llvm::enumerate(sets))
    for (int64_t c = 0; c < kItemColumns / lanes; c += plan.tileVectors)
      builder.loop(kBegin, kEnd, rows, [&](Value group) {
        int64_t column = offset + c * lanes;
        IntegerPanels::ColumnScales scales = integers.loadScales(column, group);
        Value last = builder.min(builder.add(group, rows), kEnd);
        builder.loop(group, last, count, [&](Value k) {
          for (Value place : integers.placesOfWords(column, k))
            builder.prefetch(rhs, place, plan.kBlock * integers.getRowBytes());
          SmallVector<Value> vectors = integers.loadDequantized(column, k, count, scales);
          for (auto [i, vector] : llvm::enumerate(vectors))
            builder.store(vector, strips,
                          at(builder.add(k, i / plan.tileVectors),
                             set * kItemColumns / lanes + c + i % plan.tileVectors));
        });
      });
}

void CopiedStrips::prefetchNext(Value columnBlock, Value kEnd, Value tile) {
  bool isDense = plan.rhs == GemmPlan::Rhs::Dense;
  bool isLast = getConstantIntValue(kEnd) == plan.k;
  Value k = isLast ? builder.index(0) : kEnd;
  Value column = builder.mul(isLast ? builder.add(columnBlock, 1) : columnBlock, kItemColumns);
  int64_t pieces = llvm::divideCeil(isDense ? plan.kBlock : kItemColumns, plan.getTiles());
  Value first = builder.add(isDense ? k : column, builder.mul(tile, pieces));
  builder.loop(first, builder.add(first, pieces), 1, [&](Value piece) {
    Value from = isDense ? builder.add(builder.mul(piece, plan.n), column)
                         : builder.add(builder.mul(piece, plan.k), k);
    for (int64_t i = 0; i < (isDense ? kItemColumns : plan.kBlock); i += kLineBytes / 4)
      builder.prefetch(rhs, from, i, /*toL2=*/true);
  });
}

SmallVector<Value> CopiedStrips::load(Value strip, Value k) {
  SmallVector<Value> vectors;
  for (int64_t v = 0; v < plan.tileVectors; ++v)
    vectors.push_back(builder.load(strips, at(k, v, strip)));
  return vectors;
}

Value CopiedStrips::at(Value k, int64_t v, Value strip) {
  strip = builder.add(strip ? strip : builder.index(0), v / plan.tileVectors);
  int64_t columns = plan.tileVectors * lanes;
  Value place = builder.add(builder.mul(builder.sub(k, begin), columns),
                            builder.mul(strip, plan.kBlock * columns));
  return builder.add(place, v % plan.tileVectors * lanes);
}
