#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include <algorithm>

using namespace mlir;
using namespace sinter;

/// A result computed element by element from its multi-index.
template <typename Element>
static ReferenceTensor tabulate(RankedTensorType type, Element element) {
  ReferenceTensor result(type);
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    result[i] = element(delinearize(i, strides));
  return result;
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type,
                       double splat) {
  Attribute value =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(), splat))
          : builder.getIntegerAttr(type.getElementType(), static_cast<int64_t>(splat));
  build(builder, state, type, DenseElementsAttr::get(type, value));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

SmallVector<ReferenceTensor> ConstantOp::evaluate(ArrayRef<ReferenceTensor>) {
  return {ReferenceTensor(cast<DenseElementsAttr>(getValue()))};
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType operand = getOperand().getType();
  ArrayRef<int64_t> dims = getDims();
  bool increasing =
      std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) == dims.end();
  if (static_cast<int64_t>(dims.size()) != operand.getRank() || !increasing ||
      (!dims.empty() && (dims.front() < 0 || dims.back() >= getType().getRank()))) // broadcast_c1
    return emitOpError("expected one increasing result dimension an operand dimension in dims");
  for (auto [dim, extent] : llvm::zip_equal(dims, operand.getShape()))
    if (getType().getDimSize(dim) != extent) // broadcast_c2
      return emitOpError("expected result dimension ")
             << dim << " to be " << extent << ", got " << getType().getDimSize(dim);
  if (operand.getElementType() != getType().getElementType()) // broadcast_c3
    return emitOpError("expected operand and result of one element type");
  return success();
}

AffineMap BroadcastOp::getSourceMap() {
  SmallVector<unsigned> dims(getDims().begin(), getDims().end());
  return AffineMap::getMultiDimMapWithTargets(getType().getRank(), dims, getContext());
}

bool BroadcastOp::repeatsRow() { return getDims() == ArrayRef<int64_t>{getType().getRank() - 1}; }

SmallVector<ReferenceTensor> BroadcastOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source;
    for (int64_t dim : getDims())
      source.push_back(index[dim]);
    return operands[0].at(source);
  })};
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (operand.getNumElements() != getType().getNumElements() ||
      operand.getElementType() != getType().getElementType()) // reshape_c1
    return emitOpError("expected as many elements of the same type, got ")
           << operand << " -> " << getType();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return {};
}

bool ReshapeOp::keepsOrder() { return true; }

AffineMap ReshapeOp::getSourceMap() {
  AffineExpr place = getAffineConstantExpr(0, getContext());
  for (auto [i, extent] : llvm::enumerate(getType().getShape()))
    place = place * extent + getAffineDimExpr(i, getContext());
  ArrayRef<int64_t> shape = getOperand().getType().getShape();
  SmallVector<AffineExpr> source(shape.size());
  for (size_t i = shape.size(); i-- > 0; place = place.floorDiv(shape[i]))
    source[i] = i == 0 ? place : place % shape[i];
  return AffineMap::get(getType().getRank(), 0, source, getContext());
}

SmallVector<ReferenceTensor> ReshapeOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {operands[0].reshaped(getType())};
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (static_cast<int64_t>(getPermutation().size()) != operand.getRank() ||
      !isPermutationVector(getPermutation())) // transpose_c1
    return emitOpError("expected a permutation of the operand's dimensions");
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(operand.getDimSize(dim));
  if (getType() != RankedTensorType::get(shape, operand.getElementType())) // transpose_c2
    return emitOpError("expected the operand's shape permuted, got ") << getType();
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return isIdentityPermutation(getPermutation()) ? getOperand() : Value();
}

AffineMap TransposeOp::getSourceMap() {
  return AffineMap::getPermutationMap(invertPermutationVector(getPermutation()), getContext());
}

SmallVector<ReferenceTensor> TransposeOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index.size());
    for (auto [i, dim] : llvm::enumerate(getPermutation()))
      source[dim] = index[i];
    return operands[0].at(source);
  })};
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (static_cast<int64_t>(getOffsets().size()) != operand.getRank() ||
      getType().getRank() != operand.getRank() ||
      getType().getElementType() != operand.getElementType()) // slice_c1
    return emitOpError("expected one offset a dimension and a result of the operand's rank and "
                       "element type");
  for (auto [offset, extent, whole] :
       llvm::zip_equal(getOffsets(), getType().getShape(), operand.getShape()))
    if (offset < 0 || offset + extent > whole) // slice_c2
      return emitOpError("expected the box to lie inside ")
             << operand << ", got offset " << offset << " and extent " << extent;
  return success();
}

// The box alone is read.
int64_t SliceOp::getBytes() { return 2 * getStorageBytes(getType()); }

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

AffineMap SliceOp::getSourceMap() {
  SmallVector<AffineExpr> source;
  for (auto [i, offset] : llvm::enumerate(getOffsets()))
    source.push_back(getAffineDimExpr(i, getContext()) + offset);
  return AffineMap::get(getType().getRank(), 0, source, getContext());
}

SmallVector<ReferenceTensor> SliceOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source;
    for (auto [i, offset] : llvm::zip_equal(index, getOffsets()))
      source.push_back(i + offset);
    return operands[0].at(source);
  })};
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  int64_t dim = getDim(), total = 0;
  if (getOperands().empty() || dim < 0 || dim >= getType().getRank()) // concat_c1
    return emitOpError("expected an operand at least and dim to be a dimension of it");
  for (Value operand : getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() == getType().getRank()) {
      total += shape[dim];
      shape[dim] = getType().getDimSize(dim);
    }
    if (ArrayRef(shape) != getType().getShape() ||
        type.getElementType() != getType().getElementType()) // concat_c2
      return emitOpError("expected operands that agree with the result but for dim, got ") << type;
  }
  if (total != getType().getDimSize(dim)) // concat_c2
    return emitOpError("expected extents along dim to add up to ")
           << getType().getDimSize(dim) << ", got " << total;
  return success();
}

SmallVector<ReferenceTensor> ConcatOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  int64_t dim = getDim();
  return {tabulate(getType(), [&](SmallVector<int64_t> index) {
    for (const ReferenceTensor &operand : operands) {
      if (index[dim] < operand.getShape()[dim])
        return operand.at(index);
      index[dim] -= operand.getShape()[dim];
    }
    llvm_unreachable("extents add up to the result's");
  })};
}

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

int64_t sinter::CopyOp::getFlops() { return 0; }
FusionRole sinter::CopyOp::getFusionRole() { return FusionRole::Opaque; }
SmallVector<ReferenceTensor> sinter::CopyOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {operands[0]};
}

//===----------------------------------------------------------------------===//
// PackOp
//===----------------------------------------------------------------------===//

int64_t PackOp::getFlops() { return 0; }
FusionRole PackOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult PackOp::verify() {
  RankedTensorType operand = getOperand().getType();
  ArrayRef<int64_t> shape = getType().getShape();
  bool isSideBySide =
      shape.size() == 3 && operand.getShape() == ArrayRef<int64_t>{shape[1], shape[0] * shape[2]};
  if ((operand.getShape() != shape && !isSideBySide) ||
      operand.getElementType() != getType().getElementType()) // pack_c1
    return emitOpError("expected operand and result of one shape, or matrices side by side, and of "
                       "one element type");
  if (operand.getEncoding() ||
      !isa_and_nonnull<LayoutAttrInterface>(getType().getEncoding())) // pack_c2
    return emitOpError("expected a dense operand and a result with a layout");
  return success();
}

AffineMap PackOp::getSourceMap() {
  if (getOperand().getType().getRank() == getType().getRank())
    return AffineMap::getMultiDimIdentityMap(getType().getRank(), getContext());
  AffineExpr g = getAffineDimExpr(0, getContext()), row = getAffineDimExpr(1, getContext()),
             column = getAffineDimExpr(2, getContext());
  return AffineMap::get(3, 0, {row, g * getType().getDimSize(2) + column}, getContext());
}

SmallVector<ReferenceTensor> PackOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ArrayRef<int64_t> shape = getType().getShape();
  if (getOperand().getType().getRank() == getType().getRank())
    return {operands[0].reshaped(getType())};
  ReferenceTensor result(getType());
  for (int64_t g = 0, i = 0; g < shape[0]; ++g)
    for (int64_t row = 0; row < shape[1]; ++row)
      for (int64_t column = 0; column < shape[2]; ++column)
        result[i++] = operands[0][(row * shape[0] + g) * shape[2] + column];
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// PositionsOp
//===----------------------------------------------------------------------===//

int64_t PositionsOp::getFlops() { return 0; }
FusionRole PositionsOp::getFusionRole() { return FusionRole::Index; }

LogicalResult PositionsOp::verify() {
  RankedTensorType start = getStart().getType();
  if (start.getRank() != 1 || getType().getRank() != 2 ||
      getType().getDimSize(0) != start.getDimSize(0)) // positions_c1
    return emitOpError("expected start [b] and a result [b, t], got ")
           << start << " -> " << getType();
  return success();
}

SmallVector<ReferenceTensor> PositionsOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {tabulate(getType(),
                   [&](ArrayRef<int64_t> index) { return operands[0][index[0]] + index[1]; })};
}

//===----------------------------------------------------------------------===//
// OneHotOp, PickOp
//===----------------------------------------------------------------------===//

LogicalResult OneHotOp::verify() {
  if (getType().getRank() < 1 ||
      getType().getShape().drop_back() != getIds().getType().getShape() ||
      !isa<FloatType>(getType().getElementType())) // one_hot_c1
    return emitOpError("expected a floating-point result of ids' shape with the classes appended, "
                       "got ")
           << getIds().getType() << " -> " << getType();
  return success();
}

SmallVector<ReferenceTensor> OneHotOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    return static_cast<double>(index.back()) == operands[0].at(index.drop_back()) ? 1.0 : 0.0;
  })};
}

int64_t PickOp::getFlops() { return 0; }
FusionRole PickOp::getFusionRole() { return FusionRole::Gather; }

// The chosen elements alone are read.
int64_t PickOp::getBytes() {
  return 2 * getStorageBytes(getType()) + getStorageBytes(getIds().getType());
}

LogicalResult PickOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (operand.getRank() < 1 || getType().getShape() != operand.getShape().drop_back() ||
      getIds().getType().getShape() != getType().getShape() ||
      getType().getElementType() != operand.getElementType()) // pick_c1
    return emitOpError("expected ids and a result of the operand's shape without its last "
                       "dimension, got ")
           << operand << ", " << getIds().getType() << " -> " << getType();
  return success();
}

SmallVector<ReferenceTensor> PickOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  int64_t width = operands[0].getShape().back();
  return {tabulate(getType(), [&](SmallVector<int64_t> index) {
    auto id = static_cast<int64_t>(operands[1].at(index));
    index.push_back(id);
    return id >= 0 && id < width ? operands[0].at(index) : 0.0;
  })};
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

int64_t EmbeddingOp::getFlops() { return 0; }
FusionRole EmbeddingOp::getFusionRole() { return FusionRole::Gather; }

int64_t EmbeddingOp::getRows() { return getTable().getType().getDimSize(getTransposeTable()); }

// The chosen rows alone are read. In panels, a cache line for each word of a row.
int64_t EmbeddingOp::getBytes() {
  constexpr int64_t lineBytes = 64;
  int64_t read = getStorageBytes(getType());
  if (auto panels = dyn_cast_or_null<PanelsAttr>(getTable().getType().getEncoding());
      panels && getTransposeTable())
    read = getIds().getType().getNumElements() *
           static_cast<int64_t>(llvm::divideCeil(getWidth(), panels.getInterleave())) * lineBytes;
  return read + getStorageBytes(getType()) + getStorageBytes(getIds().getType());
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = getTable().getType();
  SmallVector<int64_t> shape(getIds().getType().getShape());
  if (table.getRank() == 2)
    shape.push_back(table.getDimSize(getTransposeTable() ? 0 : 1));
  if (table.getRank() != 2 ||
      getType() != RankedTensorType::get(shape, table.getElementType())) // embedding_c1
    return emitOpError("expected a table ")
           << (getTransposeTable() ? "[width, rows]" : "[rows, width]")
           << " and ids' shape with width appended, got " << table << " -> " << getType();
  if (getStart() && getStart().getType().getShape() != ArrayRef<int64_t>{1}) // embedding_c2
    return emitOpError("expected a start [1], got ") << getStart().getType();
  return success();
}

Value EmbeddingOp::buildTransposed(OpBuilder &builder, Value table) {
  return EmbeddingOp::create(builder, getLoc(), getType().clone(typeOf(table).getElementType()),
                             table, getIds(), getStart(), getPaddingAttr(), !getTransposeTable());
}

SmallVector<ReferenceTensor> EmbeddingOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  int64_t start = getStart() ? static_cast<int64_t>(operands[2][0]) : 0;
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    int64_t id = static_cast<int64_t>(operands[1].at(index.drop_back())) - start;
    if (getStart() && (id < 0 || id >= getRows()))
      return -0.0;
    int64_t row = std::clamp<int64_t>(id, 0, getRows() - 1), column = index.back();
    return operands[0].at(getTransposeTable() ? ArrayRef<int64_t>{column, row}
                                              : ArrayRef<int64_t>{row, column});
  })};
}

//===----------------------------------------------------------------------===//
// LastRowOp
//===----------------------------------------------------------------------===//

int64_t LastRowOp::getFlops() { return 0; }
FusionRole LastRowOp::getFusionRole() { return FusionRole::Gather; }

// The chosen rows alone are read.
int64_t LastRowOp::getBytes() {
  return 2 * getStorageBytes(getType()) + getStorageBytes(getCount().getType());
}

LogicalResult LastRowOp::verify() {
  RankedTensorType operand = getOperand().getType(), count = getCount().getType();
  if (operand.getRank() != 3 || count.getShape() != operand.getShape().take_front(1) ||
      getType() != RankedTensorType::get({operand.getDimSize(0), operand.getDimSize(2)},
                                         operand.getElementType())) // last_row_c1
    return emitOpError("expected operand [b, t, d], count [b] and a result [b, d], got ")
           << operand << ", " << count << " -> " << getType();
  return success();
}

SmallVector<ReferenceTensor> LastRowOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  int64_t rows = operands[0].getShape()[1];
  return {tabulate(getType(), [&](ArrayRef<int64_t> index) {
    auto count = static_cast<int64_t>(operands[1][index[0]]);
    return operands[0].at({index[0], std::clamp<int64_t>(count, 1, rows) - 1, index[1]});
  })};
}
