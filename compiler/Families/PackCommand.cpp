#include "compiler/Families/PackCommand.h"
#include "compiler/Analysis/CostModel.h"

using namespace mlir;
using namespace sinter;

static LogicalResult refuse(std::string &reason, const Twine &text) {
  reason = ("expected " + text).str();
  return failure();
}

namespace {
/// Follows a matrix from the pack back to the arguments.
class PackMatcher {
public:
  PackMatcher(PackCommand &pack, std::string &reason) : pack(pack), reason(reason) {}

  /// The box of `value` at `row` and `column`, of `rows` by `columns`; transposed boxes hold
  /// columns of the packed matrix in their rows.
  LogicalResult match(Value value, bool transposed, int64_t row, int64_t column, int64_t rows,
                      int64_t columns) {
    Operation *op = value.getDefiningOp();
    if (!op || isAlias(op))
      return matchArgument(value, transposed, row, column, rows, columns);
    if (typeOf(op->getOperand(0)).getRank() != 2)
      return refuse(reason, "matrices to be packed");
    if (isa<CastOp>(op)) {
      if (failed(checkCast(cast<CastOp>(op))))
        return failure();
      return match(op->getOperand(0), transposed, row, column, rows, columns);
    }
    if (isa<TransposeOp>(op))
      return match(op->getOperand(0), !transposed, column, row, columns, rows);
    if (auto slice = dyn_cast<SliceOp>(op))
      return match(slice.getOperand(), transposed, row + slice.getOffsets()[0],
                   column + slice.getOffsets()[1], rows, columns);
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || typeOf(concat).getShape() != ArrayRef<int64_t>{rows, columns})
      return refuse(reason, "slices, transposes, casts and concatenations before the pack, got " +
                                op->getName().getStringRef());
    if (concat.getDim() != (transposed ? 0 : 1))
      return refuse(reason, "columns of the packed matrix to be concatenated");
    for (Value operand : concat.getOperands())
      if (failed(match(operand, transposed, 0, 0, typeOf(operand).getDimSize(0),
                       typeOf(operand).getDimSize(1))))
        return failure();
    return success();
  }

private:
  /// A cast that is not the last one must not lose what the last one would keep.
  LogicalResult checkCast(CastOp op) {
    Type from = typeOf(op.getOperand()).getElementType(), to = typeOf(op).getElementType();
    if (!isa<FloatType>(from) || !isa<FloatType>(to))
      return refuse(reason, "casts between floating-point types");
    if (to != pack.dtype && to.getIntOrFloatBitWidth() <= from.getIntOrFloatBitWidth())
      return refuse(reason, "no narrowing cast before the last one");
    return success();
  }

  /// The box of a matrix that is an argument under another shape, perhaps of another type.
  LogicalResult matchArgument(Value value, bool transposed, int64_t row, int64_t column,
                              int64_t rows, int64_t columns) {
    Value source = value;
    while (Operation *op = source.getDefiningOp()) {
      if (isa<CastOp>(op) && failed(checkCast(cast<CastOp>(op))))
        return failure();
      if (!isa<CastOp, ReshapeOp>(op))
        break;
      source = op->getOperand(0);
    }
    auto argument = dyn_cast<BlockArgument>(source);
    if (!argument || typeOf(value).getRank() != 2 || typeOf(argument).getEncoding())
      return refuse(reason, "dense arguments to be packed");
    int64_t stride = typeOf(value).getDimSize(1);
    Type element = typeOf(argument).getElementType();
    if (element.isInteger(4)) // outside of panels each has a byte
      element = IntegerType::get(element.getContext(), 8);
    int64_t width = element.getIntOrFloatBitWidth() / 8;
    pack.sources.push_back(
        {argument, (row * stride + column) * width, ((rows - 1) * stride + columns) * width,
         plan::PackSourceAttr::get(value.getContext(), element, transposed ? rows : columns, stride,
                                   transposed)});
    return success();
  }

  PackCommand &pack;
  std::string &reason;
};
} // namespace

FailureOr<PackCommand> sinter::matchPack(Block &block, std::string &reason) {
  if (block.getTerminator()->getNumOperands() != 1)
    return refuse(reason, "one result");
  auto op = block.getTerminator()->getOperand(0).getDefiningOp<PackOp>();
  auto panels = op ? dyn_cast<PanelsAttr>(op.getType().getEncoding()) : nullptr;
  if (!panels)
    return refuse(reason, "a result in panels");
  PackCommand pack;
  pack.k = op.getType().getDimSize(0);
  pack.n = op.getType().getDimSize(1);
  pack.dtype = op.getType().getElementType();
  pack.panels = panels;
  if (failed(PackMatcher(pack, reason).match(op.getOperand(), false, 0, 0, pack.k, pack.n)))
    return failure();
  return pack;
}
