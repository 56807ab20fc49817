#include "compiler/Families/PackCommand.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

static LogicalResult refuse(std::string &reason, const Twine &text) {
  reason = ("expected " + text).str();
  return failure();
}

/// What a type is packed as: e4m3 moves as bytes do.
static Type asBytes(Type element) {
  return isa<Float8E4M3FNType>(element) ? IntegerType::get(element.getContext(), 8) : element;
}

namespace {
/// Follows a matrix from the pack back to where it comes from outside.
class PackMatcher {
public:
  PackMatcher(PackCommand &pack, const OpSet &ops, std::string &reason)
      : pack(pack), ops(ops), reason(reason) {}

  LogicalResult match(PackOp op) {
    used.insert(op);
    if (failed(match(op.getOperand(), false, 0, 0, pack.k, pack.n)))
      return failure();
    for (Operation *other : ops)
      if (!used.contains(other) || (other != op && escapes(other, ops)))
        return refuse(reason, "only what is packed");
    return success();
  }

private:
  /// The box of `value` at `row` and `column`, of `rows` by `columns`; transposed boxes hold
  /// columns of the packed matrix in their rows.
  LogicalResult match(Value value, bool transposed, int64_t row, int64_t column, int64_t rows,
                      int64_t columns) {
    Operation *op = value.getDefiningOp();
    if (!isInside(value, ops) || isAlias(op))
      return matchSource(value, transposed, row, column, rows, columns);
    used.insert(op);
    if (op->getNumOperands() == 0 || typeOf(op->getOperand(0)).getRank() != 2)
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
    bool roundsAll = rounds;
    for (Value operand : concat.getOperands()) {
      rounds = roundsAll;
      if (failed(match(operand, transposed, 0, 0, typeOf(operand).getDimSize(0),
                       typeOf(operand).getDimSize(1))))
        return failure();
    }
    return success();
  }

  /// Packing rounds once, from the source's type to that of the panels.
  LogicalResult checkCast(CastOp op) {
    for (Type type : {op.getOperand().getType(), op.getType()})
      if (!isFloat(type) || getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 16)
        return refuse(reason, "casts between floating-point types of 16 bits and more");
    if (std::exchange(rounds, true))
      return refuse(reason, "one cast of a matrix to be packed");
    return success();
  }

  /// The box of a matrix that is a value from outside under another shape, perhaps of another type.
  LogicalResult matchSource(Value value, bool transposed, int64_t row, int64_t column, int64_t rows,
                            int64_t columns) {
    Value source = value;
    while (isInside(source, ops)) {
      Operation *op = source.getDefiningOp();
      if (isa<CastOp>(op) && failed(checkCast(cast<CastOp>(op))))
        return failure();
      if (!isa<CastOp, ReshapeOp>(op))
        break;
      used.insert(op);
      source = op->getOperand(0);
    }
    if (isInside(source, ops) || typeOf(value).getRank() != 2 || typeOf(source).getEncoding())
      return refuse(reason, "dense arguments to be packed");
    if (typeOf(value).getShape() != ArrayRef<int64_t>{rows, columns} && !isa<BlockArgument>(source))
      return refuse(reason, "a part to be packed to be an argument's");
    int64_t stride = typeOf(value).getDimSize(1);
    Type element = asBytes(typeOf(source).getElementType());
    if (element.isInteger(4)) // outside of panels each has a byte
      element = IntegerType::get(element.getContext(), 8);
    int64_t width = element.getIntOrFloatBitWidth() / 8;
    pack.sources.push_back({source, (row * stride + column) * width,
                            ((rows - 1) * stride + columns) * width, element,
                            transposed ? rows : columns, stride, transposed});
    return success();
  }

  PackCommand &pack;
  const OpSet &ops;
  llvm::SmallPtrSet<Operation *, 8> used;
  bool rounds = false; ///< whether a cast was met on the way
  std::string &reason;
};
} // namespace

FailureOr<PackCommand> sinter::matchPack(const OpSet &ops, std::string &reason) {
  const auto *last = llvm::find_if(ops, [](Operation *op) { return isa<PackOp>(op); });
  auto op = last == ops.end() ? nullptr : cast<PackOp>(*last);
  auto panels = op ? dyn_cast<PanelsAttr>(op.getType().getEncoding()) : nullptr;
  if (!panels)
    return refuse(reason, "a result in panels");
  PackCommand pack;
  pack.k = op.getOperand().getType().getDimSize(0);
  pack.n = op.getOperand().getType().getDimSize(1);
  pack.dtype = panels.getValues() ? IntegerType::get(op.getContext(), 4)
                                  : asBytes(op.getType().getElementType());
  pack.panels = panels;
  if (failed(PackMatcher(pack, ops, reason).match(op)))
    return failure();
  return pack;
}
