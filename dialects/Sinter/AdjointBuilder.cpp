#include "dialects/Sinter/AdjointBuilder.h"

using namespace mlir;
using namespace sinter;

Value AdjointBuilder::reshape(Value x, Shape shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return ReshapeOp::create(builder, loc, typeOf(x).clone(shape), x);
}

Value AdjointBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  return TransposeOp::create(builder, loc, typeOf(x).clone(shape), x, permutation);
}

Value AdjointBuilder::slice(Value x, ArrayRef<int64_t> offsets, Shape shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  return SliceOp::create(builder, loc, typeOf(x).clone(shape), x, offsets);
}

Value AdjointBuilder::concat(ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> shape(typeOf(parts.front()).getShape());
  for (Value part : parts.drop_front())
    shape[dim] += typeOf(part).getDimSize(dim);
  return ConcatOp::create(builder, loc, typeOf(parts.front()).clone(shape), parts, dim);
}

Value AdjointBuilder::splat(Shape shape, Type elementType, double value) {
  return ConstantOp::create(builder, loc, RankedTensorType::get(shape, elementType), value);
}

Value AdjointBuilder::flatten(Value x) {
  int64_t width = typeOf(x).getShape().back();
  return reshape(x, {typeOf(x).getNumElements() / width, width});
}

Value AdjointBuilder::add(Value lhs, Value rhs) {
  return AddOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::sub(Value lhs, Value rhs) {
  return SubOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::mul(Value lhs, Value rhs) {
  return MulOp::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value AdjointBuilder::neg(Value x) { return NegOp::create(builder, loc, x.getType(), x); }

Value AdjointBuilder::scale(Value x, double factor) {
  return mul(x, splat(typeOf(x).getShape(), typeOf(x).getElementType(), factor));
}

Value AdjointBuilder::spread(Value perRow, int64_t width) {
  SmallVector<int64_t> shape(typeOf(perRow).getShape());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  shape.push_back(width);
  return BroadcastOp::create(builder, loc, typeOf(perRow).clone(shape), perRow, dims);
}

int64_t AdjointBuilder::countBlocks(int64_t rows) {
  constexpr int64_t kMostBlocks = 64; // where nothing says what is compiled for
  TargetAttr target = TargetAttr::lookup(builder.getInsertionBlock()->getParentOp());
  int64_t blocks = std::min(rows, target ? target.getMostRowBlocks() : kMostBlocks);
  while (rows % blocks != 0)
    --blocks;
  return blocks;
}

Value AdjointBuilder::sumRows(Value matrix) {
  int64_t rows = typeOf(matrix).getDimSize(0), width = typeOf(matrix).getDimSize(1);
  auto sum = [&](Value x) -> Value {
    SmallVector<int64_t> shape(typeOf(x).getShape());
    shape.erase(shape.end() - 2);
    return ColumnSumOp::create(builder, loc, typeOf(x).clone(shape), x);
  };
  int64_t blocks = countBlocks(rows);
  if (blocks > 1 && blocks < rows)
    matrix = sum(reshape(matrix, {blocks, rows / blocks, width}));
  return sum(matrix);
}

Value AdjointBuilder::sumColumns(Value x) {
  RankedTensorType type = typeOf(x);
  return ReduceOp::create(builder, loc, type.clone(type.getShape().drop_back()), x,
                          ReductionKind::Sum);
}
