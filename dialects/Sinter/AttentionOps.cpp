#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

/// "got a, b, c" for messages about shapes.
static InFlightDiagnostic &&appendTypes(InFlightDiagnostic &&diagnostic, Operation *op) {
  diagnostic << ", got ";
  llvm::interleaveComma(op->getOperandTypes(), diagnostic);
  diagnostic << " -> ";
  llvm::interleaveComma(op->getResultTypes(), diagnostic);
  return std::move(diagnostic);
}

/// Whether an optional operand is absent or has this shape.
static bool hasShapeOrAbsent(Value value, ArrayRef<int64_t> shape) {
  return !value || cast<RankedTensorType>(value.getType()).getShape() == shape;
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

int64_t AttentionOp::getFlops() {
  ArrayRef<int64_t> q = getQuery().getType().getShape();
  int64_t keys = getKey().getType().getDimSize(1), rows = q[1];
  if (getWindow())
    keys = std::min<int64_t>(keys, *getWindow());
  // The work depends on the data's lengths; this is what a full cache costs. A causal chunk that
  // starts at zero needs half of its own square.
  double visible = keys;
  if (getCausal() && rows > 1 && keys >= rows)
    visible = keys - (rows - 1) / 2.0;
  return static_cast<int64_t>(4.0 * q[0] * rows * q[2] * q[3] * visible);
}
FusionRole AttentionOp::getFusionRole() { return FusionRole::Attention; }

LogicalResult AttentionOp::verify() {
  RankedTensorType q = getQuery().getType(), k = getKey().getType(), v = getValue().getType();
  if (q.getRank() != 4 || k.getRank() != 4 || v.getShape() != k.getShape() ||
      k.getDimSize(0) != q.getDimSize(0) || k.getDimSize(3) != q.getDimSize(3) ||
      getType().getShape() != q.getShape()) // attention_c1
    return appendTypes(emitOpError("expected q [b, t, h, d], k and v [b, s, g, d] and a result of "
                                   "q's shape"),
                       *this);
  if (q.getDimSize(2) % k.getDimSize(2) != 0) // attention_c2
    return emitOpError("expected ")
           << k.getDimSize(2) << " key-value heads to divide " << q.getDimSize(2) << " query heads";
  if (!hasShapeOrAbsent(getStart(), {q.getDimSize(0)})) // attention_c3
    return emitOpError("expected start to be [b]");
  if (!hasShapeOrAbsent(getAlibiSlopes(), {q.getDimSize(2)})) // attention_c4
    return emitOpError("expected alibi_slopes to be [h]");
  if ((getWindow() && static_cast<int64_t>(*getWindow()) <= 0) ||
      (getSoftcap() && !(getSoftcap()->convertToDouble() > 0))) // attention_c5
    return emitOpError("expected window and softcap to be positive");
  if (k.getElementType() != v.getElementType()) // attention_c6
    return emitOpError("expected k and v of one element type");
  return success();
}

SmallVector<ReferenceTensor> AttentionOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2];
  const ReferenceTensor *start = getStart() ? &operands[3] : nullptr;
  const ReferenceTensor *slopes = getAlibiSlopes() ? &operands.back() : nullptr;
  int64_t heads = q.getShape()[2], width = q.getShape()[3], keys = k.getShape()[1];
  int64_t group = heads / k.getShape()[2];
  double scale = getScale().convertToDouble();
  ReferenceTensor result(getType());
  std::vector<double> weights(keys);
  for (int64_t b = 0; b < q.getShape()[0]; ++b)
    for (int64_t t = 0; t < q.getShape()[1]; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        int64_t position = t + (start ? static_cast<int64_t>((*start)[b]) : 0);
        int64_t end = getCausal() ? std::min(keys, position + 1) : keys;
        int64_t begin =
            getWindow() ? std::max<int64_t>(0, position - static_cast<int64_t>(*getWindow()) + 1)
                        : 0;
        double largest = -HUGE_VAL, sum = 0;
        for (int64_t j = begin; j < end; ++j) {
          double score = 0;
          for (int64_t d = 0; d < width; ++d)
            score += q.at({b, t, h, d}) * k.at({b, j, h / group, d});
          score *= scale;
          if (getSoftcap())
            score = getSoftcap()->convertToDouble() *
                    std::tanh(score / getSoftcap()->convertToDouble());
          if (slopes)
            score -= (*slopes)[h] * (position - j);
          weights[j] = score;
          largest = std::max(largest, score);
        }
        for (int64_t j = begin; j < end; ++j)
          sum += weights[j] = std::exp(weights[j] - largest);
        for (int64_t d = 0; d < width; ++d) {
          double value = 0;
          for (int64_t j = begin; j < end; ++j)
            value += weights[j] * v.at({b, j, h / group, d});
          result.at({b, t, h, d}) = begin < end ? value / sum : 0.0;
        }
      }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// RotaryOp
//===----------------------------------------------------------------------===//

int64_t RotaryOp::getFlops() { return 3 * getType().getNumElements(); }
FusionRole RotaryOp::getFusionRole() { return FusionRole::Gather; }

int64_t RotaryOp::getBytes() {
  // Of the tables, one row a token.
  RankedTensorType table = getCos().getType();
  int64_t tokens = getType().getDimSize(0) * getType().getDimSize(1);
  int64_t row = getStorageBytes(table) / std::max<int64_t>(1, table.getDimSize(0));
  return 2 * getStorageBytes(getType()) + 2 * tokens * row;
}

LogicalResult RotaryOp::verify() {
  RankedTensorType cos = getCos().getType();
  if (getType().getRank() != 4) // rotary_c1
    return emitOpError("expected an operand [b, t, h, d], got ") << getType();
  if (cos != getSin().getType() || cos.getRank() != 2 ||
      2 * cos.getDimSize(1) > getType().getDimSize(3)) // rotary_c2
    return emitOpError("expected cos and sin of one type [positions, r/2] with r <= d, got ")
           << cos << " and " << getSin().getType();
  if (!hasShapeOrAbsent(getStart(), {getType().getDimSize(0)})) // rotary_c3
    return emitOpError("expected start to be [b]");
  return success();
}

SmallVector<ReferenceTensor> RotaryOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  const ReferenceTensor &x = operands[0], &cos = operands[1], &sin = operands[2];
  int64_t half = cos.getShape()[1], last = cos.getShape()[0] - 1;
  ReferenceTensor result = x;
  for (int64_t b = 0; b < x.getShape()[0]; ++b)
    for (int64_t t = 0; t < x.getShape()[1]; ++t)
      for (int64_t h = 0; h < x.getShape()[2]; ++h)
        for (int64_t i = 0; i < half; ++i) {
          int64_t row = std::min(last, t + (getStart() ? static_cast<int64_t>(operands[3][b]) : 0));
          int64_t first = getInterleaved() ? 2 * i : i,
                  second = getInterleaved() ? 2 * i + 1 : i + half;
          double p = x.at({b, t, h, first}), q = x.at({b, t, h, second});
          double c = cos.at({row, i}), s = sin.at({row, i});
          result.at({b, t, h, first}) = p * c - q * s;
          result.at({b, t, h, second}) = q * c + p * s;
        }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// CacheAppendOp
//===----------------------------------------------------------------------===//

int64_t CacheAppendOp::getFlops() { return 0; }
FusionRole CacheAppendOp::getFusionRole() { return FusionRole::Update; }

int64_t CacheAppendOp::getBytes() {
  // Only the rows move; the rest of the cache stays where it is.
  return 2 * getStorageBytes(getRows().getType());
}

LogicalResult CacheAppendOp::verify() {
  ArrayRef<int64_t> cache = getCache().getType().getShape(), rows = getRows().getType().getShape();
  if (cache.size() != 4 || rows.size() != 4 || cache[0] != rows[0] || cache[2] != rows[2] ||
      cache[3] != rows[3]) // cache_append_c1
    return appendTypes(emitOpError("expected cache [b, c, h, d] and rows [b, t, h, d]"), *this);
  if (!hasShapeOrAbsent(getStart(), {cache[0]}) ||
      !hasShapeOrAbsent(getCount(), {cache[0]})) // cache_append_c2
    return appendTypes(emitOpError("expected start and count to be [b]"), *this);
  return success();
}

OpOperand *CacheAppendOp::getInPlaceOperand(OpResult) { return &getCacheMutable(); }

SmallVector<ReferenceTensor> CacheAppendOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result = operands[0];
  const ReferenceTensor &rows = operands[1];
  for (int64_t b = 0; b < rows.getShape()[0]; ++b)
    for (int64_t t = 0; t < std::min<int64_t>(rows.getShape()[1], operands[3][b]); ++t) {
      int64_t position = static_cast<int64_t>(operands[2][b]) + t;
      if (position >= result.getShape()[1])
        continue;
      for (int64_t h = 0; h < rows.getShape()[2]; ++h)
        for (int64_t d = 0; d < rows.getShape()[3]; ++d)
          result.at({b, position, h, d}) = rows.at({b, t, h, d});
    }
  result.round();
  return {std::move(result)};
}
