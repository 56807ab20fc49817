#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

// A head's state decays, is multiplied by the key, takes in a product and is multiplied by the
// query, for each token.
int64_t LinearAttentionOp::getFlops() {
  ArrayRef<int64_t> v = getValue().getType().getShape();
  return 7 * v[0] * v[1] * v[2] * v[3] * getKey().getType().getDimSize(3);
}

FusionRole LinearAttentionOp::getFusionRole() { return FusionRole::Opaque; }

OpOperand *LinearAttentionOp::getInPlaceOperand(OpResult result) {
  return result.getResultNumber() == 1 ? &getStateMutable()[0] : nullptr;
}

LogicalResult LinearAttentionOp::verify() {
  RankedTensorType q = getQuery().getType(), v = getValue().getType();
  if (q.getRank() != 4 || v.getRank() != 4 || getKey().getType().getShape() != q.getShape() ||
      v.getShape().take_front(2) != q.getShape().take_front(2) ||
      getResult().getType().getShape() != v.getShape()) // linear_attention_c1
    return emitOpError("expected query and key [b, t, g, dk], value and a result [b, t, h, dv], "
                       "got ")
           << q << ", " << getKey().getType() << ", " << v << " -> " << getResult().getType();
  if (v.getDimSize(2) % q.getDimSize(2) != 0) // linear_attention_c2
    return emitOpError("expected ")
           << q.getDimSize(2) << " key heads to divide " << v.getDimSize(2) << " value heads";
  if (getDecay().getType().getShape() != v.getShape().drop_back() ||
      getBeta().getType().getShape() != v.getShape().drop_back()) // linear_attention_c3
    return emitOpError("expected decay and beta to be [b, t, h]");
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
          for (int64_t i = 0; i < depth; ++i)
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
