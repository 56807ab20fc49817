#include "compiler/Codegen/Cpu/LhsScratch.h"

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
