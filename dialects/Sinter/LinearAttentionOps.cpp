#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

// A head's state decays, is multiplied by the key unless it only adds, takes in a product and is
// multiplied by the query, for each token.
int64_t LinearAttentionOp::getFlops() {
  ArrayRef<int64_t> v = getValue().getType().getShape();
  return (getAdditive() ? 5 : 7) * v[0] * v[1] * v[2] * v[3] * getKey().getType().getDimSize(3);
}

FusionRole LinearAttentionOp::getFusionRole() { return FusionRole::Opaque; }

OpOperand *LinearAttentionOp::getInPlaceOperand(OpResult result) {
  return result.getResultNumber() == 1 ? &getStateMutable()[0] : nullptr;
}

/// What both ops ask of queries, keys and values (c1, with all that has the value's shape), of
/// heads (c2), of decay and beta (c3).
template <typename Op>
static LogicalResult verifyHeads(Op op, bool hasValueShapes, RankedTensorType like) {
  RankedTensorType q = op.getQuery().getType(), v = op.getValue().getType();
  if (q.getRank() != 4 || v.getRank() != 4 || op.getKey().getType().getShape() != q.getShape() ||
      v.getShape().take_front(2) != q.getShape().take_front(2) || !hasValueShapes)
    return op.emitOpError("expected query and key [b, t, g, dk], value and ")
           << (isa<LinearAttentionOp>(op) ? "a result" : "gradient") << " [b, t, h, dv], got " << q
           << ", " << op.getKey().getType() << ", " << v << " and " << like;
  if (v.getDimSize(2) % q.getDimSize(2) != 0)
    return op.emitOpError("expected ")
           << q.getDimSize(2) << " key heads to divide " << v.getDimSize(2) << " value heads";
  if (op.getDecay().getType().getShape() != v.getShape().drop_back() ||
      op.getBeta().getType().getShape() != v.getShape().drop_back())
    return op.emitOpError("expected decay and beta to be [b, t, h]");
  return success();
}

// linear_attention_c1, linear_attention_c2, linear_attention_c3
LogicalResult LinearAttentionOp::verify() {
  RankedTensorType q = getQuery().getType(), v = getValue().getType(),
                   result = getResult().getType();
  if (failed(verifyHeads(*this, result.getShape() == v.getShape(), result)))
    return failure();
  auto hasShape = [](Value value, ArrayRef<int64_t> shape) {
    return value && cast<RankedTensorType>(value.getType()).getShape() == shape;
  };
  int64_t slots = v.getDimSize(0);
  SmallVector<int64_t> state = {slots, v.getDimSize(2), q.getDimSize(3), v.getDimSize(3)};
  bool hasNone = !getState() && !getStart() && !getCount() && !getNext();
  if (!hasNone &&
      (!hasShape(getState(), state) || !getNext() || getNext().getType() != getState().getType() ||
       !hasShape(getStart(), {slots}) || !hasShape(getCount(), {slots}))) // linear_attention_c4
    return emitOpError("expected state and next of one type [b, h, dk, dv], start and count [b], "
                       "or none of them");
  return success();
}

SmallVector<ReferenceTensor> LinearAttentionOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2], &decay = operands[3],
                        &beta = operands[4];
  int64_t tokens = v.getShape()[1], heads = v.getShape()[2], width = v.getShape()[3],
          depth = q.getShape()[3], group = heads / q.getShape()[2];
  double scale = getScale().convertToDouble();
  ReferenceTensor result(getResult().getType());
  std::optional<ReferenceTensor> next;
  if (getNext())
    next.emplace(cast<RankedTensorType>(getNext().getType()));
  std::vector<double> state(depth * width);
  for (int64_t b = 0; b < v.getShape()[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      bool follows = getState() && operands[6][b] != 0;
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t j = 0; j < width; ++j)
          state[i * width + j] = follows ? operands[5].at({b, h, i, j}) : 0;
      int64_t count = getCount() ? std::min(tokens, static_cast<int64_t>(operands[7][b])) : tokens;
      for (int64_t t = 0; t < count; ++t) {
        double factor = std::exp(decay.at({b, t, h}));
        for (double &element : state)
          element *= factor;
        for (int64_t j = 0; j < width; ++j) {
          double said = 0, read = 0;
          for (int64_t i = 0; i < depth && !getAdditive(); ++i)
            said += state[i * width + j] * k.at({b, t, h / group, i});
          double step = beta.at({b, t, h}) * (v.at({b, t, h, j}) - said);
          for (int64_t i = 0; i < depth; ++i) {
            state[i * width + j] += k.at({b, t, h / group, i}) * step;
            read += state[i * width + j] * q.at({b, t, h / group, i});
          }
          result.at({b, t, h, j}) = scale * read;
        }
      }
      if (next)
        for (int64_t i = 0; i < depth; ++i)
          for (int64_t j = 0; j < width; ++j)
            next->at({b, h, i, j}) = state[i * width + j];
    }
  SmallVector<ReferenceTensor> results{std::move(result)};
  if (next)
    results.push_back(std::move(*next));
  for (ReferenceTensor &each : results)
    each.round();
  return results;
}

//===----------------------------------------------------------------------===//
// LinearAttentionGradOp
//===----------------------------------------------------------------------===//

// The state of a head is advanced twice, with a sum over its rows each time, and two over its
// columns the second time; its gradient takes in a product, decays, and has one of each. A state
// that only adds is advanced once, with a sum over rows and one over columns, its gradient takes in
// one product.
int64_t LinearAttentionGradOp::getFlops() {
  ArrayRef<int64_t> v = getValue().getType().getShape();
  return (getAdditive() ? 14 : 25) * v[0] * v[1] * v[2] * v[3] * getKey().getType().getDimSize(3);
}

FusionRole LinearAttentionGradOp::getFusionRole() { return FusionRole::Opaque; }

// linear_attention_grad_c1, linear_attention_grad_c2, linear_attention_grad_c3
LogicalResult LinearAttentionGradOp::verify() {
  RankedTensorType gradient = getGradient().getType();
  if (failed(verifyHeads(*this, gradient.getShape() == getValue().getType().getShape(), gradient)))
    return failure();
  for (auto [operand, result] : llvm::zip(getOperandTypes(), getResultTypes()))
    if (cast<RankedTensorType>(operand).getShape() != cast<RankedTensorType>(result).getShape())
      return emitOpError("expected the gradient of ")
             << operand << " to have its shape, got " << result; // linear_attention_grad_c1
  return success();
}

SmallVector<ReferenceTensor> LinearAttentionGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  const ReferenceTensor &q = operands[0], &k = operands[1], &v = operands[2], &decay = operands[3],
                        &beta = operands[4], &gradient = operands[5];
  int64_t tokens = v.getShape()[1], heads = v.getShape()[2], width = v.getShape()[3],
          depth = q.getShape()[3], group = heads / q.getShape()[2], size = depth * width;
  double scale = getScale().convertToDouble();
  SmallVector<ReferenceTensor> results;
  for (Type type : getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  for (int64_t b = 0; b < v.getShape()[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t g = h / group;
      // The state before each token and behind the last one; u and v - a p of each token.
      std::vector<double> states((tokens + 1) * size), steps(tokens * width), misses(steps.size());
      for (int64_t t = 0; t < tokens; ++t) {
        double *before = &states[t * size], *behind = before + size;
        double factor = std::exp(decay.at({b, t, h}));
        for (int64_t j = 0; j < width; ++j) {
          double said = 0;
          for (int64_t i = 0; i < depth && !getAdditive(); ++i)
            said += before[i * width + j] * k.at({b, t, g, i});
          misses[t * width + j] = v.at({b, t, h, j}) - factor * said;
          steps[t * width + j] = beta.at({b, t, h}) * misses[t * width + j];
          for (int64_t i = 0; i < depth; ++i)
            behind[i * width + j] =
                factor * before[i * width + j] + k.at({b, t, g, i}) * steps[t * width + j];
        }
      }
      std::vector<double> ofState(size);
      double later = 0;
      for (int64_t t = tokens; t-- > 0;) {
        const double *before = &states[t * size], *behind = before + size;
        double factor = std::exp(decay.at({b, t, h}));
        for (int64_t j = 0; j < width; ++j) {
          double ofResult = gradient.at({b, t, h, j}), ofStep = 0, result = 0;
          for (int64_t i = 0; i < depth; ++i) {
            ofState[i * width + j] += scale * q.at({b, t, g, i}) * ofResult;
            ofStep += ofState[i * width + j] * k.at({b, t, g, i});
            result += scale * behind[i * width + j] * q.at({b, t, g, i});
          }
          double ofValue = beta.at({b, t, h}) * ofStep;
          results[2].at({b, t, h, j}) = ofValue;
          results[4].at({b, t, h}) += misses[t * width + j] * ofStep;
          later += result * ofResult - v.at({b, t, h, j}) * ofValue;
          // Of what the state said of the key.
          double ofSaid = getAdditive() ? 0 : ofValue;
          for (int64_t i = 0; i < depth; ++i) {
            double &each = ofState[i * width + j];
            results[0].at({b, t, g, i}) += scale * behind[i * width + j] * ofResult;
            results[1].at({b, t, g, i}) +=
                each * steps[t * width + j] - factor * before[i * width + j] * ofSaid;
            each = factor * (each - k.at({b, t, g, i}) * ofSaid);
          }
        }
        results[3].at({b, t, h}) = later;
      }
    }
  for (ReferenceTensor &each : results)
    each.round();
  return results;
}
