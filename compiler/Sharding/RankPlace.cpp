#include "compiler/Sharding/RankPlace.h"

using namespace mlir;
using namespace sinter;

int64_t RankPlace::getTurns(unsigned loop) const {
  return llvm::divideCeil(extents[loop], grid.getSize(axes[loop]));
}

Value RankPlace::take(Value numbers, ArrayAttr names, int64_t copies) {
  return AllSliceOp::create(builder, loc, typeOf(numbers).clone({copies}), numbers, names);
}

Value RankPlace::getNumber(ArrayRef<int64_t> strides) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> numbers{0};
  for (auto [loop, stride] : llvm::enumerate(strides)) {
    if (stride == 0 || axes[loop].empty())
      continue;
    names.append(axes[loop].begin(), axes[loop].end());
    SmallVector<int64_t> next;
    for (int64_t number : numbers)
      for (int64_t place = 0; place < grid.getSize(axes[loop]); ++place)
        next.push_back(number + place * getTurns(loop) * stride);
    numbers = std::move(next);
  }
  if (names.empty())
    return nullptr;
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size()), 1}, builder.getI32Type());
  // Numbers count modulo 2^32.
  auto words = llvm::map_to_vector(numbers, [](int64_t n) { return static_cast<int32_t>(n); });
  Value all = ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, ArrayRef(words)));
  return take(all, builder.getArrayAttr(names), 1);
}

Value RankPlace::shift(Value start, int64_t slots, unsigned loop) {
  if (axes[loop].empty())
    return start;
  int64_t ranks = grid.getSize(axes[loop]), turns = getTurns(loop);
  if (!start) {
    auto type = RankedTensorType::get({ranks, slots}, builder.getI32Type());
    SmallVector<int32_t> words;
    for (int64_t place = 0; place < ranks; ++place)
      words.append(slots, static_cast<int32_t>(place * turns));
    return take(
        ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, ArrayRef(words))),
        axes[loop], slots);
  }
  // Of the positions of all turns, the first of each rank's.
  RankedTensorType type = typeOf(start);
  Value all = PositionsOp::create(builder, loc, type.clone({slots, ranks * turns}), start);
  Value byRank = ReshapeOp::create(builder, loc, type.clone({slots, ranks, turns}), all);
  Value firsts = SliceOp::create(builder, loc, type.clone({slots, ranks, 1}), byRank,
                                 ArrayRef<int64_t>{0, 0, 0});
  Value columns = ReshapeOp::create(builder, loc, type.clone({slots, ranks}), firsts);
  Value rows = TransposeOp::create(builder, loc, type.clone({ranks, slots}), columns,
                                   ArrayRef<int64_t>{1, 0});
  return take(rows, axes[loop], slots);
}
