#include "dialects/Sinter/SinterDialect.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace sinter;

/// The shape of a matrix.
static std::array<int64_t, 2> matrixOf(int64_t rows, int64_t columns) { return {rows, columns}; }

static bool hasShape(Value value, ArrayRef<int64_t> shape) {
  return cast<RankedTensorType>(value.getType()).getShape() == shape;
}

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

int64_t TopKOp::getFlops() {
  return getOperand().getType().getNumElements() * getValues().getType().getShape().back();
}
FusionRole TopKOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult TopKOp::verify() {
  RankedTensorType operand = getOperand().getType(), values = getValues().getType();
  if (operand.getRank() < 1 || values.getRank() != operand.getRank() ||
      values.getShape().drop_back() != operand.getShape().drop_back() ||
      values.getShape().back() < 1 || values.getShape().back() > operand.getShape().back() ||
      values.getElementType() != operand.getElementType()) // top_k_c1
    return emitOpError("expected values of the operand's shape with k, from 1 to the length of a "
                       "row, for its last dimension, of the same element type, got ")
           << operand << " -> " << values;
  if (getIndices().getType().getShape() != values.getShape()) // top_k_c2
    return emitOpError("expected indices of values' shape, got ")
           << getIndices().getType() << " and " << values;
  return success();
}

SmallVector<ReferenceTensor> TopKOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t width = operands[0].getShape().back(), k = values.getShape().back();
  std::vector<int64_t> order(width);
  for (int64_t row = 0; row < values.getNumElements() / k; ++row) {
    ArrayRef<double> x = operands[0].data().slice(row * width, width);
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return x[a] > x[b] || (std::isnan(x[b]) && !std::isnan(x[a]));
    });
    for (int64_t j = 0; j < k; ++j) {
      indices[row * k + j] = static_cast<double>(order[j]);
      values[row * k + j] = x[order[j]];
    }
  }
  return {std::move(values), std::move(indices)};
}

//===----------------------------------------------------------------------===//
// RouteOp
//===----------------------------------------------------------------------===//

int64_t RouteOp::getFlops() { return 0; }
FusionRole RouteOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult RouteOp::verify() {
  RankedTensorType ids = getIds().getType();
  if (ids.getRank() != 2 || !hasShape(getPlaces(), ids.getShape())) // route_c1
    return emitOpError("expected ids [t, k] and places of their shape, got ")
           << ids << " and " << getPlaces().getType();
  if (!hasShape(getOrder(), ids.getNumElements()) ||
      !hasShape(getTokens(), ids.getNumElements())) // route_c2
    return emitOpError("expected order and tokens [t * k], got ")
           << getOrder().getType() << " and " << getTokens().getType();
  RankedTensorType offsets = getOffsets().getType();
  if (offsets.getRank() != 1 || offsets.getDimSize(0) < 2) // route_c3
    return emitOpError("expected offsets [e + 1] of one expert at least, got ") << offsets;
  return success();
}

SmallVector<ReferenceTensor> RouteOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor order(getOrder().getType()), tokens(getTokens().getType()),
      places(getPlaces().getType()), offsets(getOffsets().getType());
  int64_t k = operands[0].getShape()[1], experts = offsets.getNumElements() - 1, row = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t i = 0; i < operands[0].getNumElements(); ++i) {
      if (std::clamp<int64_t>(static_cast<int64_t>(operands[0][i]), 0, experts - 1) != expert)
        continue;
      order[row] = static_cast<double>(i);
      tokens[row] = static_cast<double>(i / k);
      places[i] = static_cast<double>(row++);
    }
    offsets[expert + 1] = static_cast<double>(row);
  }
  return {std::move(order), std::move(tokens), std::move(places), std::move(offsets)};
}

//===----------------------------------------------------------------------===//
// DispatchOp, CombineOp
//===----------------------------------------------------------------------===//

/// The row of a matrix that an index names, or the nearest one.
static int64_t clampRow(double index, const ReferenceTensor &matrix) {
  return std::clamp<int64_t>(static_cast<int64_t>(index), 0, matrix.getShape()[0] - 1);
}

int64_t DispatchOp::getFlops() { return 0; }
FusionRole DispatchOp::getFusionRole() { return FusionRole::Gather; }

LogicalResult DispatchOp::verify() {
  RankedTensorType operand = getOperand().getType(), places = getPlaces().getType();
  bool isMatrix = operand.getRank() == 2 && places.getRank() == 2 &&
                  operand.getDimSize(0) == places.getDimSize(0);
  if (!isMatrix || !hasShape(getTokens(), places.getNumElements()) ||
      !hasShape(getResult(), matrixOf(places.getNumElements(), operand.getDimSize(1))) ||
      getElement(getResult()) != operand.getElementType()) // dispatch_c1
    return emitOpError("expected operand [t, d], tokens [t * k], places [t, k] and a result "
                       "[t * k, d] of operand's element type, got ")
           << operand << ", " << getTokens().getType() << ", " << places << " -> " << getType();
  return success();
}

SmallVector<Value> DispatchOp::decompose(OpBuilder &builder) {
  return {EmbeddingOp::create(builder, getLoc(), getType(), getOperand(), getTokens(),
                              /*start=*/Value(), /*padding=*/nullptr, /*transpose_table=*/false)};
}

SmallVector<ReferenceTensor> DispatchOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = result.getShape()[1];
  for (int64_t row = 0; row < result.getShape()[0]; ++row)
    for (int64_t j = 0; j < width; ++j)
      result[row * width + j] = operands[0][clampRow(operands[1][row], operands[0]) * width + j];
  return {std::move(result)};
}

int64_t CombineOp::getFlops() { return 2 * getOperand().getType().getNumElements(); }
FusionRole CombineOp::getFusionRole() { return FusionRole::Gather; }

LogicalResult CombineOp::verify() {
  RankedTensorType operand = getOperand().getType(), places = getPlaces().getType();
  bool isMatrix = operand.getRank() == 2 && places.getRank() == 2 &&
                  operand.getDimSize(0) == places.getNumElements();
  if (!isMatrix || !hasShape(getTokens(), operand.getDimSize(0)) ||
      !hasShape(getOrder(), operand.getDimSize(0)) ||
      !hasShape(getResult(), matrixOf(places.getDimSize(0), operand.getDimSize(1))) ||
      getElement(getResult()) != operand.getElementType()) // combine_c1
    return emitOpError("expected operand [t * k, d], places [t, k], tokens and order [t * k] and a "
                       "result [t, d] of operand's element type, got ")
           << operand << ", " << places << ", " << getTokens().getType() << ", "
           << getOrder().getType() << " -> " << getType();
  if (getWeights() && (!hasShape(getWeights(), places.getShape()) ||
                       getElement(getWeights()) != operand.getElementType())) // combine_c2
    return emitOpError("expected weights [t, k] of operand's element type, got ")
           << getWeights().getType();
  return success();
}

SmallVector<Value> CombineOp::decompose(OpBuilder &builder) {
  int64_t count = getPlaces().getType().getDimSize(1), tokens = getType().getDimSize(0);
  // Column j of a matrix [t, k].
  auto getColumn = [&](Value matrix, int64_t j) -> Value {
    auto type = cast<RankedTensorType>(matrix.getType());
    Value column = SliceOp::create(builder, getLoc(), type.clone(matrixOf(tokens, 1)), matrix,
                                   ArrayRef<int64_t>{0, j});
    return ReshapeOp::create(builder, getLoc(), type.clone(ArrayRef<int64_t>(tokens)), column);
  };
  Value sum;
  for (int64_t j = 0; j < count; ++j) {
    Value term =
        EmbeddingOp::create(builder, getLoc(), getType(), getOperand(), getColumn(getPlaces(), j),
                            /*start=*/Value(), /*padding=*/nullptr, /*transpose_table=*/false);
    if (getWeights())
      term = MulOp::create(builder, getLoc(), term,
                           BroadcastOp::create(builder, getLoc(), getType(),
                                               getColumn(getWeights(), j), ArrayRef<int64_t>{0}));
    sum = sum ? Value(AddOp::create(builder, getLoc(), sum, term)) : term;
  }
  return {sum};
}

SmallVector<ReferenceTensor> CombineOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t count = operands[1].getShape()[1], width = result.getShape()[1];
  for (int64_t i = 0; i < operands[1].getNumElements(); ++i)
    for (int64_t j = 0; j < width; ++j)
      result[i / count * width + j] +=
          operands[0][clampRow(operands[1][i], operands[0]) * width + j] *
          (getWeights() ? operands[4][i] : 1.0);
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// GroupedMatmulOp, GroupedOuterOp
//===----------------------------------------------------------------------===//

/// Calls `body(group, row)` for the rows of each group.
template <typename Body>
static void forRows(const ReferenceTensor &offsets, int64_t rows, Body body) {
  auto bound = [&](int64_t i) {
    return std::clamp<int64_t>(static_cast<int64_t>(offsets[i]), 0, rows);
  };
  for (int64_t group = 0; group + 1 < offsets.getNumElements(); ++group)
    for (int64_t row = bound(group); row < bound(group + 1); ++row)
      body(group, row);
}

int64_t GroupedMatmulOp::getGroup() {
  return getK() / getScales().getType().getDimSize(getTransposeRhs() ? 2 : 1);
}

int64_t GroupedMatmulOp::getFlops() { return 2 * getM() * getN() * getK(); }
FusionRole GroupedMatmulOp::getFusionRole() { return FusionRole::GroupedContraction; }

// The matrices of groups with rows alone are read: no more than there are rows.
int64_t GroupedMatmulOp::getBytes() {
  int64_t matrix = getStorageBytes(getRhs().getType()) / getGroups();
  for (Value ofGroups : {getScales(), getMinima()})
    if (ofGroups)
      matrix += getStorageBytes(ofGroups.getType()) / getGroups();
  return getStorageBytes(getLhs().getType()) + getStorageBytes(getType()) +
         getStorageBytes(getOffsets().getType()) + matrix * std::min(getGroups(), getM());
}

LogicalResult GroupedMatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  bool haveRanks = lhs.getRank() == 2 && rhs.getRank() == 3 && rhs.getDimSize(0) >= 1;
  int64_t k = haveRanks ? rhs.getDimSize(getTransposeRhs() ? 2 : 1) : 0;
  int64_t n = haveRanks ? rhs.getDimSize(getTransposeRhs() ? 1 : 2) : 0;
  if (!haveRanks || lhs.getDimSize(1) != k ||
      !hasShape(getResult(), matrixOf(lhs.getDimSize(0), n))) // grouped_matmul_c1
    return emitOpError("expected lhs [m, k], rhs ")
           << (getTransposeRhs() ? "[g, n, k]" : "[g, k, n]") << " and a result [m, n], got " << lhs
           << ", " << rhs << " -> " << getType();
  if (!hasShape(getOffsets(), rhs.getDimSize(0) + 1)) // grouped_matmul_c2
    return emitOpError("expected offsets [g + 1], got ") << getOffsets().getType();
  bool isScaled = isa<IntegerType, Float8E4M3FNType>(rhs.getElementType());
  if (!isScaled && lhs.getElementType() != rhs.getElementType()) // grouped_matmul_c3
    return emitOpError("expected lhs and rhs of one element type, got ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  if (isScaled != bool(getScales())) // grouped_matmul_c4
    return emitOpError("expected integers or f8E4M3FN with scales, or numbers without, got ")
           << rhs;
  if (!isScaled)
    return success();
  auto scales = cast<RankedTensorType>(getScales().getType());
  int64_t alongK = getTransposeRhs() ? 2 : 1;
  SmallVector<int64_t> shape(rhs.getShape());
  if (scales.getRank() == 3 && scales.getDimSize(alongK) > 0 && k % scales.getDimSize(alongK) == 0)
    shape[alongK] = scales.getDimSize(alongK);
  if (scales.getShape() != ArrayRef(shape) || shape[alongK] == 0) // grouped_matmul_c5
    return emitOpError("expected scales of rhs' shape but for k, which their extent divides, got ")
           << scales << " for " << rhs;
  if (getMinima() && !hasShape(getMinima(), shape)) // grouped_matmul_c6
    return emitOpError("expected minima of scales' shape, got ")
           << getMinima().getType() << " and " << scales;
  return success();
}

SmallVector<ReferenceTensor> GroupedMatmulOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType()), rhs = operands[1];
  int64_t n = getN(), k = getK();
  int64_t stepK = getTransposeRhs() ? 1 : n, stepN = getTransposeRhs() ? k : 1;
  if (getScales())
    for (int64_t i = 0; i < rhs.getNumElements(); ++i) {
      int64_t p = i / stepK % k, outer = i / (stepK * k), inner = i % stepK;
      int64_t block = (outer * (k / getGroup()) + p / getGroup()) * stepK + inner;
      rhs[i] = rhs[i] * operands[3][block] + (getMinima() ? operands[4][block] : 0.0);
    }
  forRows(operands[2], getM(), [&](int64_t group, int64_t row) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += operands[0][row * k + p] * rhs[group * n * k + p * stepK + j * stepN];
      result[row * n + j] = sum;
    }
  });
  result.round();
  return {std::move(result)};
}

int64_t GroupedOuterOp::getFlops() {
  return 2 * getLhs().getType().getNumElements() * getRhs().getType().getDimSize(1);
}
FusionRole GroupedOuterOp::getFusionRole() { return FusionRole::GroupedContraction; }

LogicalResult GroupedOuterOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  bool haveRanks = lhs.getRank() == 2 && rhs.getRank() == 2 && getType().getRank() == 3;
  if (!haveRanks || lhs.getDimSize(0) != rhs.getDimSize(0) ||
      getType().getShape().drop_front() !=
          ArrayRef<int64_t>(matrixOf(lhs.getDimSize(1), rhs.getDimSize(1)))) // grouped_outer_c1
    return emitOpError("expected lhs [m, a], rhs [m, b] and a result [g, a, b], got ")
           << lhs << ", " << rhs << " -> " << getType();
  if (!hasShape(getOffsets(), getType().getDimSize(0) + 1)) // grouped_outer_c2
    return emitOpError("expected offsets [g + 1], got ") << getOffsets().getType();
  if (lhs.getElementType() != rhs.getElementType()) // grouped_outer_c3
    return emitOpError("expected lhs and rhs of one element type, got ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  return success();
}

SmallVector<ReferenceTensor> GroupedOuterOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t a = result.getShape()[1], b = result.getShape()[2];
  forRows(operands[2], operands[0].getShape()[0], [&](int64_t group, int64_t row) {
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        result[(group * a + i) * b + j] += operands[0][row * a + i] * operands[1][row * b + j];
  });
  result.round();
  return {std::move(result)};
}
