#include "dialects/Sinter/RowFormulas.h"
#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

int64_t MatmulOp::getM() {
  int64_t rows = 1;
  for (int64_t extent : getType().getShape().drop_back())
    rows *= extent;
  return rows;
}
int64_t MatmulOp::getN() { return getType().getShape().back(); }
int64_t MatmulOp::getK() {
  ArrayRef<int64_t> shape = getLhs().getType().getShape();
  return getTransposeLhs() ? shape.front() : shape.back();
}
bool MatmulOp::hasTensorScales() {
  auto isOne = [](Value scales) {
    return scales && cast<RankedTensorType>(scales.getType()).getNumElements() == 1;
  };
  return isOne(getScales()) && isOne(getRowScales());
}
int64_t MatmulOp::getGroup() {
  auto scales = cast<RankedTensorType>(getScales().getType());
  return getK() / scales.getDimSize(getTransposeRhs() ? 1 : 0);
}

int64_t MatmulOp::getFlops() { return 2 * getM() * getN() * getK(); }
FusionRole MatmulOp::getFusionRole() { return FusionRole::Contraction; }

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (rhs.getRank() != 2 || lhs.getRank() < 1) // matmul_c1
    return emitOpError("expected rhs of rank 2 and lhs of rank 1 at least, got ")
           << lhs << " and " << rhs;
  if (getTransposeLhs() && (lhs.getRank() != 2 || (getScales() && !hasTensorScales()))) // matmul_c5
    return emitOpError("expected a transposed lhs of rank 2 and no scales but of all of it, got ")
           << lhs;
  int64_t k = rhs.getDimSize(getTransposeRhs() ? 1 : 0),
          n = rhs.getDimSize(getTransposeRhs() ? 0 : 1);
  if (getK() != k) // matmul_c2
    return emitOpError("expected lhs and rhs to agree on k, got ") << getK() << " and " << k;
  SmallVector<int64_t> shape(getTransposeLhs() ? lhs.getShape().drop_front()
                                               : lhs.getShape().drop_back());
  shape.push_back(n);
  if (getType().getShape() != ArrayRef(shape)) // matmul_c3
    return emitOpError("expected a result of lhs' shape with k replaced by n = ")
           << n << ", got " << getType();
  auto isQuantized = [](Type type) { return type.getIntOrFloatBitWidth() <= 8; };
  if (isQuantized(lhs.getElementType()) != bool(getRowScales())) // matmul_c9
    return emitOpError("expected 8 bits with scales of rows or numbers without, got ") << lhs;
  if (!getScales() && lhs.getElementType() != rhs.getElementType() &&
      !isQuantized(rhs.getElementType())) // matmul_c4
    return emitOpError("expected lhs and rhs of one element type, got ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  if (isQuantized(rhs.getElementType()) != bool(getScales())) // matmul_c6
    return emitOpError("expected 8 bits or less with scales or numbers without, got ") << rhs;
  return getScales() ? verifyScales() : success();
}

LogicalResult MatmulOp::verifyScales() {
  RankedTensorType rhs = getRhs().getType();
  auto scales = cast<RankedTensorType>(getScales().getType());
  if (scales.getRank() != 2 ||
      !llvm::all_of(llvm::zip_equal(rhs.getShape(), scales.getShape()), [](auto extents) {
        auto [ofRhs, ofScales] = extents;
        return ofScales > 0 && ofRhs % ofScales == 0;
      })) // matmul_c7
    return emitOpError("expected scales of rank 2 whose extents divide those of rhs, got ")
           << scales << " for " << rhs;
  if (getMinima() &&
      cast<RankedTensorType>(getMinima().getType()).getShape() != scales.getShape()) // matmul_c8
    return emitOpError("expected minima of scales' shape, got ")
           << getMinima().getType() << " and " << scales;
  if (!getRowScales())
    return success();
  SmallVector<int64_t> shape(getLhs().getType().getShape());
  shape.back() = 1;
  bool overflows = rhs.getElementType().isInteger(8) && getGroup() > kMostSummedBytes;
  bool isOfFloats = isa<FloatType>(getLhs().getType().getElementType());
  bool isOfRows = cast<RankedTensorType>(getRowScales().getType()).getShape() == ArrayRef(shape) &&
                  scales.getDimSize(getTransposeRhs() ? 0 : 1) == getN() &&
                  (!isOfFloats || getGroup() == getK());
  if ((!isOfRows && !hasTensorScales()) || isOfFloats != isa<FloatType>(rhs.getElementType()) ||
      (getMinima() && (isOfFloats || !isOfRows)) || overflows) // matmul_c10
    return emitOpError("expected scales of rows of lhs' shape with k replaced by 1, and rhs of "
                       "lhs' kind with scales of each column (of f8 one), or a scale for all of "
                       "either side, minima with scales of integers' columns alone and groups of "
                       "at most ")
           << kMostSummedBytes << " integers, got " << getRowScales().getType() << " and " << rhs
           << " with " << scales;
  return success();
}

SmallVector<ReferenceTensor> MatmulOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t m = getM(), n = getN(), k = getK();
  int64_t lhsM = getTransposeLhs() ? 1 : k, lhsK = getTransposeLhs() ? m : 1;
  int64_t rhsK = getTransposeRhs() ? 1 : n, rhsN = getTransposeRhs() ? k : 1;
  // rhs with its scales multiplied in and its minima added.
  ReferenceTensor rhs = operands[1];
  if (getScales()) {
    int64_t columns = rhs.getShape()[1], scaleColumns = operands[2].getShape()[1];
    int64_t a = rhs.getShape()[0] / operands[2].getShape()[0], b = columns / scaleColumns;
    for (int64_t i = 0; i < rhs.getNumElements(); ++i) {
      int64_t block = i / columns / a * scaleColumns + i % columns / b;
      rhs[i] = rhs[i] * operands[2][block] + (getMinima() ? operands[3][block] : 0.0);
    }
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += operands[0][i * lhsM + p * lhsK] * rhs[p * rhsK + j * rhsN];
      result[i * n + j] = getRowScales() ? sum * operands.back()[hasTensorScales() ? 0 : i] : sum;
    }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

/// What a row's largest magnitude is taken to be at least, so that nothing is divided by zero.
static constexpr double kLeastMagnitude = 1e-30;

/// The largest number of a type of 8 bits.
static double getLargest(Type rounded) {
  auto number = dyn_cast<FloatType>(rounded);
  return number ? APFloat::getLargest(number.getFloatSemantics()).convertToDouble() : 127;
}

int64_t QuantizeOp::getFlops() { return 4 * getOperand().getType().getNumElements(); }
FusionRole QuantizeOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult QuantizeOp::verify() {
  ArrayRef<int64_t> shape = getOperand().getType().getShape();
  if (shape.empty() || getRounded().getType().getShape() != shape) // quantize_c1
    return emitOpError("expected numbers of the operand's shape, of rank 1 at least, got ")
           << getOperand().getType() << " and " << getRounded().getType();
  SmallVector<int64_t> rows(shape);
  rows.back() = 1;
  if (getScales().getType().getShape() != ArrayRef(rows)) // quantize_c2
    return emitOpError("expected scales of the operand's shape with 1 for the last dimension, got ")
           << getOperand().getType() << " and " << getScales().getType();
  return success();
}

SmallVector<Value> QuantizeOp::decompose(OpBuilder &builder) {
  RankedTensorType f32 = getOperand().getType().clone(builder.getF32Type());
  RowBuilder rows{builder, getLoc(), f32};
  Value x = rows.cast(getOperand(), f32.getElementType());
  Value magnitudes = MaximumOp::create(builder, getLoc(), x, NegOp::create(builder, getLoc(), x));
  Value least = ConstantOp::create(builder, getLoc(), rows.rowType, kLeastMagnitude);
  Value largest =
      MaximumOp::create(builder, getLoc(), rows.reduce(magnitudes, ReductionKind::Max), least);
  Type element = getRounded().getType().getElementType();
  Value step = ConstantOp::create(builder, getLoc(), rows.rowType, 1.0 / getLargest(element));
  Value scales = rows.mul(largest, step);
  Value quotients = DivOp::create(builder, getLoc(), x, rows.spread(scales));
  // A cast to integers is towards zero.
  if (isa<IntegerType>(element))
    quotients = RoundOp::create(builder, getLoc(), quotients);
  return {CastOp::create(builder, getLoc(), getRounded().getType(), quotients),
          ReshapeOp::create(builder, getLoc(), getScales().getType(), scales)};
}

SmallVector<ReferenceTensor> QuantizeOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor rounded(getRounded().getType()), scales(getScales().getType());
  Type element = rounded.getType().getElementType();
  int64_t width = rounded.getShape().back();
  for (int64_t i = 0; i < scales.getNumElements(); ++i) {
    double largest = kLeastMagnitude;
    for (double x : operands[0].data().slice(i * width, width))
      largest = std::max(largest, std::abs(x));
    scales[i] = largest / getLargest(element);
    for (int64_t j = i * width; j < (i + 1) * width; ++j) {
      rounded[j] = operands[0][j] / scales[i];
      if (isa<IntegerType>(element))
        rounded[j] = std::nearbyint(rounded[j]);
    }
  }
  rounded.round();
  return {std::move(rounded), std::move(scales)};
}
