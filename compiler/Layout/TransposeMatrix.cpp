#include "compiler/Layout/TransposeMatrix.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

Value sinter::transposeMatrix(OpBuilder &builder, Location loc, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  auto transposed =
      RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  auto concat = matrix.getDefiningOp<ConcatOp>();
  if (!concat)
    return TransposeOp::create(builder, loc, transposed, matrix, ArrayRef<int64_t>{1, 0});
  SmallVector<Value> parts;
  for (Value part : concat.getOperands())
    parts.push_back(transposeMatrix(builder, part.getLoc(), part));
  auto result = ConcatOp::create(builder, concat.getLoc(), transposed, parts, 1 - concat.getDim());
  if (Attribute again = concat->getAttr(SinterDialect::kRecompute))
    result->setAttr(SinterDialect::kRecompute, again);
  return result;
}
