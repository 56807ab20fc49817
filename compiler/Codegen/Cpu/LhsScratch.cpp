#include "compiler/Codegen/Cpu/LhsScratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// ByteRows
//===----------------------------------------------------------------------===//

ByteRows::ByteRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k)
    : builder(builder),
      rowWords(llvm::alignTo(depth / builder.getBytesOfWord(), builder.getLanes())), k(k),
      words(builder.scratch(rows * rowWords, builder.getI32Type())) {}

void ByteRows::copy(Value lhs, const LhsPlace &place, int64_t rows, Value kBegin, Value kEnd) {
  begin = kBegin;
  int64_t step = builder.getLanes() * builder.getBytesOfWord();
  auto copyStep = [&](Value at, Value mask) {
    for (int64_t row = 0; row < rows; ++row)
      builder.store(builder.loadLhsWords(lhs, place(row, at), mask), words,
                    builder.add(builder.div(builder.sub(at, begin), builder.getBytesOfWord()),
                                row * rowWords));
  };
  // The end is a multiple of a step, or that of the rows.
  Value whole = builder.min(kEnd, builder.index(k / step * step));
  builder.loop(kBegin, whole, step, [&](Value at) { copyStep(at, /*mask=*/{}); });
  if (k % step != 0)
    builder.loop(whole, kEnd, step, [&](Value at) {
      copyStep(at, builder.maskBelow(builder.sub(builder.index(k), at), step));
    });
}

Value ByteRows::getSplat(int64_t row, Value k) const {
  Value at = builder.div(builder.sub(k, begin), builder.getBytesOfWord());
  return builder.splatStored(words, builder.add(at, row * rowWords));
}

//===----------------------------------------------------------------------===//
// LiftedRows
//===----------------------------------------------------------------------===//

LiftedRows::LiftedRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k)
    : builder(builder), rowElements(llvm::alignTo(depth, builder.getLanes())), k(k),
      lifted(builder.scratch(rows * rowElements, builder.getF32Type())),
      factors(builder.scratch(rows, builder.getF32Type())) {}

void LiftedRows::lift(Value lhs, const LhsPlace &place, int64_t rows, Value kBegin, Value kEnd) {
  begin = kBegin;
  // Exponents as they are in the bits of an f32: 100 more than its own is 227 less it.
  constexpr int64_t unit = 1 << 23;
  auto numberOf = [&](Value bits) -> Value {
    return arith::BitcastOp::create(builder, builder.vectorOf(builder.getF32Type()), bits);
  };
  int64_t lanes = builder.getLanes();
  Value whole = builder.min(kEnd, builder.index(k / lanes * lanes));
  for (int64_t row = 0; row < rows; ++row) {
    // Carries a vector over those of the row, the last of which may have lanes that are masked off.
    auto overRow = [&](Value carried, llvm::function_ref<Value(Value k, Value mask, Value)> body) {
      auto step = [&](Value mask) {
        return [&body, mask](Value at, ValueRange values) {
          return SmallVector<Value>{body(at, mask, values.front())};
        };
      };
      carried = builder.loop(kBegin, whole, lanes, carried, step({})).front();
      if (k % lanes == 0)
        return carried;
      Value mask = builder.maskBelow(builder.index(k % lanes));
      return builder.loop(whole, kEnd, lanes, carried, step(mask)).front();
    };
    auto load = [&](Value at, Value mask) { return builder.load(lhs, place(row, at), mask); };
    auto maxI = [&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, a, b); };
    // |x| as bits, which compare as the numbers do.
    Value largest = overRow(builder.integers(0), [&](Value at, Value mask, Value most) {
      Value bits =
          arith::BitcastOp::create(builder, builder.vectorOf(builder.getI32Type()), load(at, mask));
      bits = arith::AndIOp::create(builder, bits, builder.integers(0x7fffffff));
      return maxI(bits, most);
    });
    largest = builder.combineLanes(largest, maxI);
    Value exponent = arith::AndIOp::create(builder, largest, builder.integers(0x7f800000));
    exponent = maxI(exponent, builder.integers(100 * unit)); // what is smaller is lifted by 2^127
    Value lift = numberOf(arith::SubIOp::create(builder, builder.integers(354 * unit), exponent));
    overRow(lift, [&](Value k, Value mask, Value carried) {
      builder.store(builder.mulF(load(k, mask), carried), lifted, at(row, k));
      return carried;
    });
    Value factor = numberOf(arith::SubIOp::create(builder, exponent, builder.integers(4 * unit)));
    builder.storeScalar(vector::ExtractOp::create(builder, factor, 0), factors, builder.index(row));
  }
}

Value LiftedRows::at(int64_t row, Value k) const {
  return builder.add(builder.sub(k, begin), row * rowElements);
}

Value LiftedRows::getSplat(int64_t row, Value k) const {
  return builder.loadSplat(lifted, at(row, k));
}

Value LiftedRows::getFactor(int64_t row) const {
  return builder.loadSplat(factors, builder.index(row));
}

//===----------------------------------------------------------------------===//
// GroupSums
//===----------------------------------------------------------------------===//

GroupSums::GroupSums(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t group)
    : builder(builder), rowGroups(depth / group), group(group),
      sums(builder.scratch(rows * rowGroups, builder.getF32Type())) {}

void GroupSums::sum(Value lhs, const LhsPlace &place, int64_t rows, Value kBegin, Value kEnd) {
  begin = kBegin;
  int64_t lanes = builder.getLanes();
  builder.loop(kBegin, kEnd, group, [&](Value k) {
    for (int64_t row = 0; row < rows; ++row) {
      Value sum = builder.splat(0.0);
      for (int64_t i = 0; i < group; i += lanes) {
        Value mask;
        if (group - i < lanes)
          mask = builder.maskBelow(builder.index(group - i));
        sum = builder.addF(sum, builder.load(lhs, place(row, builder.add(k, i)), mask));
      }
      builder.storeScalar(builder.horizontalSum(sum), sums, at(row, k));
    }
  });
}

Value GroupSums::at(int64_t row, Value k) const {
  return builder.add(builder.div(builder.sub(k, begin), group), row * rowGroups);
}

Value GroupSums::getSplat(int64_t row, Value k) const {
  return builder.loadSplat(sums, at(row, k));
}

//===----------------------------------------------------------------------===//
// TransposedRows
//===----------------------------------------------------------------------===//

// Behind a tile's last k the last vector ends.
TransposedRows::TransposedRows(VectorBuilder &builder, int64_t tileRows, int64_t blockRows,
                               int64_t depth)
    : builder(builder), tileRows(tileRows), blockRows(blockRows),
      tileElements(depth * tileRows + builder.getLanes()),
      rows(builder.scratch(blockRows / tileRows * tileElements, builder.getF32Type())) {}

void TransposedRows::copy(Value lhs, llvm::function_ref<Value(Value k)> place, Value rowsLeft,
                          Value kBegin, Value kEnd) {
  begin = kBegin;
  int64_t lanes = builder.getLanes();
  builder.loop(kBegin, kEnd, 1, [&](Value k) {
    Value from = place(k), to = builder.mul(builder.sub(k, begin), tileRows);
    for (int64_t tile = 0; tile < blockRows / tileRows; ++tile)
      for (int64_t r = 0; r < tileRows; r += lanes) {
        int64_t row = tile * tileRows + r;
        Value mask; // nothing is read behind the last row
        if (rowsLeft)
          mask = builder.maskBelow(builder.sub(rowsLeft, builder.index(row)));
        else if (row + lanes > blockRows)
          mask = builder.maskBelow(builder.index(blockRows - row));
        // What is stored behind the tile's rows, its next k overwrites.
        builder.store(builder.load(lhs, builder.add(from, row), mask), rows,
                      builder.add(to, tile * tileElements + r));
      }
  });
}

Value TransposedRows::getSplat(Value tile, int64_t row, Value k) const {
  Value at =
      builder.add(builder.mul(tile, tileElements), builder.mul(builder.sub(k, begin), tileRows));
  return builder.loadSplat(rows, builder.add(at, row));
}
