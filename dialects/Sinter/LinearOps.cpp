#include "dialects/Sinter/SinterDialect.h"

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
  if (getTransposeLhs() && (lhs.getRank() != 2 || getScales())) // matmul_c5
    return emitOpError("expected a transposed lhs of rank 2 and no scales, got ") << lhs;
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
  if (!getScales() && lhs.getElementType() != rhs.getElementType() &&
      isa<FloatType>(rhs.getElementType())) // matmul_c4
    return emitOpError("expected lhs and rhs of one element type, got ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  bool integers = isa<IntegerType>(rhs.getElementType());
  if (integers != bool(getScales())) // matmul_c6
    return emitOpError("expected integers with scales or numbers without, got ") << rhs;
  if (!getScales())
    return success();
  auto scales = cast<RankedTensorType>(getScales().getType());
  if (scales.getRank() != 2 ||
      !llvm::all_of(llvm::zip_equal(rhs.getShape(), scales.getShape()), [](auto extents) {
        auto [ofRhs, ofScales] = extents;
        return ofScales > 0 && ofRhs % ofScales == 0;
      })) // matmul_c7
    return emitOpError("expected scales of rank 2 whose extents divide those of rhs, got ")
           << scales << " for " << rhs;
  return success();
}

SmallVector<ReferenceTensor> MatmulOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t m = getM(), n = getN(), k = getK();
  int64_t lhsM = getTransposeLhs() ? 1 : k, lhsK = getTransposeLhs() ? m : 1;
  int64_t rhsK = getTransposeRhs() ? 1 : n, rhsN = getTransposeRhs() ? k : 1;
  // rhs with its scales multiplied in.
  ReferenceTensor rhs = operands[1];
  if (getScales()) {
    int64_t columns = rhs.getShape()[1], scaleColumns = operands[2].getShape()[1];
    int64_t a = rhs.getShape()[0] / operands[2].getShape()[0], b = columns / scaleColumns;
    for (int64_t i = 0; i < rhs.getNumElements(); ++i)
      rhs[i] *= operands[2][i / columns / a * scaleColumns + i % columns / b];
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += operands[0][i * lhsM + p * lhsK] * rhs[p * rhsK + j * rhsN];
      result[i * n + j] = sum;
    }
  result.round();
  return {std::move(result)};
}
