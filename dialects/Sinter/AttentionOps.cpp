#include "dialects/Sinter/Philox.h"
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
// AttentionOp, AttentionGradOp
//===----------------------------------------------------------------------===//

/// Pairs of a query and a key that see each other, all heads together, in the dimension of a head.
template <typename Op> static double countProducts(Op op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  int64_t keys = op.getKey().getType().getDimSize(1), rows = q[1];
  if (op.getWindow())
    keys = std::min<int64_t>(keys, *op.getWindow());
  // The work depends on the data's lengths; this is what a full cache costs. A causal chunk that
  // starts at zero needs half of its own square.
  double visible = keys;
  if (op.getCausal() && rows > 1 && keys >= rows)
    visible = keys - (rows - 1) / 2.0;
  return static_cast<double>(q[0] * rows * q[2] * q[3]) * visible;
}

// Two products of queries with keys, or five: scores, dP, dV, dQ and dK.
int64_t AttentionOp::getFlops() { return static_cast<int64_t>(4.0 * countProducts(*this)); }
int64_t AttentionGradOp::getFlops() { return static_cast<int64_t>(10.0 * countProducts(*this)); }

FusionRole AttentionOp::getFusionRole() { return FusionRole::Attention; }
FusionRole AttentionGradOp::getFusionRole() { return FusionRole::AttentionGrad; }

/// What both ops demand of the operands and attributes that they have in common.
template <typename Op> static LogicalResult verifyCommon(Op op) {
  RankedTensorType q = op.getQuery().getType(), k = op.getKey().getType();
  if (q.getDimSize(2) % k.getDimSize(2) != 0) // attention_c2, attention_grad_c2
    return op.emitOpError("expected ")
           << k.getDimSize(2) << " key-value heads to divide " << q.getDimSize(2) << " query heads";
  if (!hasShapeOrAbsent(op.getStart(), {q.getDimSize(0)})) // attention_c3, attention_grad_c3
    return op.emitOpError("expected start to be [b]");
  if (!hasShapeOrAbsent(op.getAlibiSlopes(), {q.getDimSize(2)})) // attention_c4, attention_grad_c4
    return op.emitOpError("expected alibi_slopes to be [h]");
  if ((op.getWindow() && static_cast<int64_t>(*op.getWindow()) <= 0) ||
      (op.getSoftcap() &&
       !(op.getSoftcap()->convertToDouble() > 0))) // attention_c5, attention_grad_c5
    return op.emitOpError("expected window and softcap to be positive");
  if (k.getElementType() !=
      op.getValue().getType().getElementType()) // attention_c6, attention_grad_c6
    return op.emitOpError("expected k and v of one element type");
  if (!hasShapeOrAbsent(op.getFirst(),
                        q.getShape().take_front(2))) // attention_c7, attention_grad_c7
    return op.emitOpError("expected first to be [b, t]");
  double dropout = op.getDropout().convertToDouble();
  if (!(dropout >= 0 && dropout < 1) || !hasShapeOrAbsent(op.getSeed(), {op.getWhole() ? 3 : 2}) ||
      (op.getWhole() && op.getWhole()->size() != 4) ||
      bool(op.getSeed()) != (dropout != 0)) // attention_c9, attention_grad_c9
    return op.emitOpError("expected a dropout of at least 0 and below 1, and if it is not 0 a seed "
                          "[2], or [3] with four extents of the whole");
  return success();
}

/// Whether q is [b, t, h, d] and k and v are [b, s, g, d].
static bool hasShapesOfHeads(RankedTensorType q, RankedTensorType k, RankedTensorType v) {
  return q.getRank() == 4 && k.getRank() == 4 && v.getShape() == k.getShape() &&
         k.getDimSize(0) == q.getDimSize(0) && k.getDimSize(3) == q.getDimSize(3);
}

LogicalResult AttentionOp::verify() {
  RankedTensorType q = getQuery().getType();
  if (!hasShapesOfHeads(q, getKey().getType(), getValue().getType()) ||
      getResult().getType().getShape() != q.getShape()) // attention_c1
    return appendTypes(emitOpError("expected q [b, t, h, d], k and v [b, s, g, d] and a result of "
                                   "q's shape"),
                       *this);
  if (failed(verifyCommon(*this)))
    return failure();
  if (!hasShapeOrAbsent(getLogsumexp(), q.getShape().take_front(3))) // attention_c8
    return emitOpError("expected logsumexp to be [b, t, h]");
  SmallVector<int64_t> scales(getKey().getType().getShape());
  scales.back() = 1;
  bool hasBytes = getKey().getType().getElementTypeBitWidth() == 8;
  if (bool(getKeyScales()) != hasBytes || bool(getValueScales()) != hasBytes ||
      !hasShapeOrAbsent(getKeyScales(), scales) ||
      !hasShapeOrAbsent(getValueScales(), scales)) // attention_c10
    return emitOpError("expected key_scales and value_scales [b, s, g, 1] exactly for k and v of 8 "
                       "bits");
  return success();
}

LogicalResult AttentionGradOp::verify() {
  RankedTensorType q = getQuery().getType(), k = getKey().getType();
  if (!hasShapesOfHeads(q, k, getValue().getType()) ||
      getGradient().getType().getShape() != q.getShape() ||
      getQueryGradient().getType().getShape() != q.getShape() ||
      getKeyGradient().getType().getShape() != k.getShape() ||
      getValueGradient().getType().getShape() != k.getShape()) // attention_grad_c1
    return appendTypes(emitOpError("expected query and gradient [b, t, h, d], key and value "
                                   "[b, s, g, d] and results of the shapes of query, key and "
                                   "value"),
                       *this);
  if (failed(verifyCommon(*this)))
    return failure();
  ArrayRef<int64_t> rows = q.getShape().take_front(3);
  if (getLogsumexp().getType().getShape() != rows ||
      getDelta().getType().getShape() != rows) // attention_grad_c8
    return emitOpError("expected logsumexp and delta to be [b, t, h]");
  return success();
}

namespace {
/// The softmax of one query of one head, straight from its definition.
template <typename Op> class SoftmaxRow {
public:
  /// @param k the keys, with their scales
  /// @param next the operand after the ones that are always there.
  SoftmaxRow(Op op, const ReferenceTensor &q, const ReferenceTensor &k, const ReferenceTensor *next)
      : op(op), q(q), k(k) {
    auto take = [&](Value value) { return value ? next++ : nullptr; };
    start = take(op.getStart());
    first = take(op.getFirst());
    slopes = take(op.getAlibiSlopes());
    seed = take(op.getSeed());
    weights.resize(k.getShape()[1]);
    factors.resize(k.getShape()[1]);
    kept.resize(k.getShape()[1], 1.0);
  }

  void compute(int64_t b, int64_t t, int64_t h) {
    int64_t keys = k.getShape()[1], group = q.getShape()[2] / k.getShape()[2];
    int64_t position = t + (start ? static_cast<int64_t>((*start)[b]) : 0);
    end = op.getCausal() ? std::min(keys, position + 1) : keys;
    begin = op.getWindow()
                ? std::max<int64_t>(0, position - static_cast<int64_t>(*op.getWindow()) + 1)
                : 0;
    if (first)
      begin = std::max(begin, static_cast<int64_t>(first->at({b, t})));
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = begin; j < end; ++j) {
      double score = 0;
      for (int64_t d = 0; d < q.getShape()[3]; ++d)
        score += q.at({b, t, h, d}) * k.at({b, j, h / group, d});
      score *= op.getScale().convertToDouble();
      factors[j] = 1;
      if (op.getSoftcap()) {
        double cap = op.getSoftcap()->convertToDouble(), ratio = std::tanh(score / cap);
        score = cap * ratio;
        factors[j] = 1 - ratio * ratio;
      }
      if (slopes)
        score -= (*slopes)[h] * (position - j);
      weights[j] = score;
      largest = std::max(largest, score);
    }
    for (int64_t j = begin; j < end; ++j)
      sum += weights[j] = std::exp(weights[j] - largest);
    for (int64_t j = begin; j < end; ++j)
      weights[j] /= sum;
    logsumexp = largest + std::log(sum);
    if (seed)
      drop(op.getWhole() ? getNumber(*op.getWhole(), {b, h, t, 0}) + word(2)
                         : getNumber({0, q.getShape()[2], q.getShape()[1], keys}, {b, h, t, 0}));
  }

  /// Visible keys [begin, end) (none if they are the wrong way round), their weights, and the
  /// derivative of each score by `scale * q.k`; what dropout multiplies a weight with.
  int64_t begin = 0, end = 0;
  std::vector<double> weights, factors, kept;
  double logsumexp = 0;

private:
  uint32_t word(int64_t i) const { return static_cast<uint32_t>(static_cast<int64_t>((*seed)[i])); }

  /// The number of an element in row-major order.
  static int64_t getNumber(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
    int64_t number = 0;
    for (auto [extent, place] : llvm::zip_equal(shape, index))
      number = number * extent + place;
    return number;
  }

  /// @param row the number of the row's first weight.
  void drop(int64_t row) {
    double probability = op.getDropout().convertToDouble();
    for (int64_t j = begin; j < end; ++j)
      kept[j] =
          philox::isKept(static_cast<uint32_t>(row + j), static_cast<uint32_t>(op.getStream()),
                         {word(0), word(1)}, probability)
              ? 1 / (1 - probability)
              : 0.0;
  }

  Op op;
  const ReferenceTensor &q, &k;
  const ReferenceTensor *start, *first, *slopes, *seed;
};
} // namespace

/// Rows times their scales.
static ReferenceTensor multiplyRows(ReferenceTensor rows, const ReferenceTensor &scales) {
  for (int64_t i = 0; i < rows.getNumElements(); ++i)
    rows[i] *= scales[i / rows.getShape().back()];
  return rows;
}

SmallVector<ReferenceTensor> AttentionOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  const ReferenceTensor &q = operands[0];
  ReferenceTensor k = operands[1], v = operands[2];
  if (getKeyScales()) { // the last two operands
    k = multiplyRows(std::move(k), operands[operands.size() - 2]);
    v = multiplyRows(std::move(v), operands.back());
  }
  int64_t heads = q.getShape()[2], group = heads / k.getShape()[2];
  SoftmaxRow row(*this, q, k, &operands[2] + 1);
  SmallVector<ReferenceTensor> results;
  for (Type type : getOperation()->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  for (int64_t b = 0; b < q.getShape()[0]; ++b)
    for (int64_t t = 0; t < q.getShape()[1]; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        row.compute(b, t, h);
        for (int64_t d = 0; d < q.getShape()[3]; ++d)
          for (int64_t j = row.begin; j < row.end; ++j)
            results[0].at({b, t, h, d}) +=
                row.weights[j] * row.kept[j] * v.at({b, j, h / group, d});
        if (getLogsumexp())
          results[1].at({b, t, h}) = row.begin < row.end ? row.logsumexp : -HUGE_VAL;
      }
  for (ReferenceTensor &result : results)
    result.round();
  return results;
}

SmallVector<ReferenceTensor> AttentionGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  // The logsumexp is not looked at: the softmax is computed again.
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2], &dO = operands[3],
                        &delta = operands[5];
  int64_t heads = q.getShape()[2], group = heads / k.getShape()[2], width = q.getShape()[3];
  double scale = getScale().convertToDouble();
  SoftmaxRow row(*this, q, k, &operands[5] + 1);
  ReferenceTensor dQ(getQueryGradient().getType()), dK(getKeyGradient().getType()),
      dV(getValueGradient().getType());
  std::vector<double> dP(k.getShape()[1]);
  for (int64_t b = 0; b < q.getShape()[0]; ++b)
    for (int64_t t = 0; t < q.getShape()[1]; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        row.compute(b, t, h);
        for (int64_t j = row.begin; j < row.end; ++j) {
          dP[j] = 0;
          for (int64_t d = 0; d < width; ++d)
            dP[j] += row.kept[j] * dO.at({b, t, h, d}) * v.at({b, j, h / group, d});
        }
        for (int64_t j = row.begin; j < row.end; ++j) {
          double dS = scale * row.weights[j] * (dP[j] - delta.at({b, t, h})) * row.factors[j];
          for (int64_t d = 0; d < width; ++d) {
            dQ.at({b, t, h, d}) += dS * k.at({b, j, h / group, d});
            dK.at({b, j, h / group, d}) += dS * q.at({b, t, h, d});
            dV.at({b, j, h / group, d}) += row.weights[j] * row.kept[j] * dO.at({b, t, h, d});
          }
        }
      }
  SmallVector<ReferenceTensor> results{std::move(dQ), std::move(dK), std::move(dV)};
  for (ReferenceTensor &result : results)
    result.round();
  return results;
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
  Type element = getCache().getType().getElementType(),
       ofRows = getRows().getType().getElementType();
  auto isByte = [](Type type) { return type.getIntOrFloatBitWidth() == 8; };
  if (element != ofRows && (isByte(element) || isByte(ofRows))) // cache_append_c3
    return appendTypes(emitOpError("expected a cache of 8 bits to get rows of its element type"),
                       *this);
  return success();
}

OpOperand *CacheAppendOp::getInPlaceOperand(OpResult) { return &getCacheMutable(); }
bool CacheAppendOp::roundsIntoMemory() { return true; }

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
