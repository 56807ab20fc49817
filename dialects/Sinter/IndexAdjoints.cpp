#include "dialects/Sinter/AdjointBuilder.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter;

// What was repeated is summed.
void BroadcastOp::buildAdjoint(Adjoint &adjoint) {
  if (!adjoint.isNeeded(getOperand()))
    return;
  AdjointBuilder build(adjoint);
  Value gradient = adjoint.getGradient(getResult());
  ArrayRef<int64_t> shape = getType().getShape();
  SmallVector<int64_t> added;
  int64_t repeats = 1;
  for (int64_t dim = 0; dim < getType().getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim)) {
      added.push_back(dim);
      repeats *= shape[dim];
    }
  int64_t kept = getOperand().getType().getNumElements();
  bool addedFirst = added.empty() || added.back() + 1 == static_cast<int64_t>(added.size());
  if (addedFirst && kept > 1) {
    gradient = build.sumRows(build.reshape(gradient, {repeats, kept}));
  } else {
    if (!added.empty() && added.front() < static_cast<int64_t>(getDims().size())) {
      SmallVector<int64_t> permutation(getDims());
      permutation.append(added);
      gradient = build.transpose(gradient, permutation);
    }
    // Of a scalar, rows first: that is work for all cores.
    int64_t width = kept == 1 ? shape.back() : repeats;
    gradient = build.sumColumns(build.reshape(gradient, {kept * repeats / width, width}));
    if (kept == 1)
      gradient = build.sumColumns(build.reshape(gradient, {1, repeats / width}));
  }
  adjoint.add(getOperand(), build.reshape(gradient, getOperand().getType().getShape()));
}

void ReshapeOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  adjoint.add(getOperand(),
              build.reshape(adjoint.getGradient(getResult()), getOperand().getType().getShape()));
}

void TransposeOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  adjoint.add(getOperand(), build.transpose(adjoint.getGradient(getResult()),
                                            invertPermutationVector(getPermutation())));
}

void SliceOp::buildAdjoint(Adjoint &adjoint) {
  adjoint.addSlice(getOperand(), getOffsets(), adjoint.getGradient(getResult()));
}

void ConcatOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  Value gradient = adjoint.getGradient(getResult());
  SmallVector<int64_t> offsets(getType().getRank(), 0);
  for (Value operand : getOperands()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
    if (adjoint.isNeeded(operand))
      adjoint.add(operand, build.slice(gradient, offsets, shape));
    offsets[getDim()] += shape[getDim()];
  }
}

// The same elements are dropped, by the same numbers.
void DropoutOp::buildAdjoint(Adjoint &adjoint) {
  adjoint.add(getOperand(),
              DropoutOp::create(adjoint.getBuilder(), adjoint.getLoc(), getType(),
                                adjoint.getGradient(getResult()), getSeed(), getProbabilityAttr(),
                                getStreamAttr(), getWholeAttr()));
}

void EmbeddingOp::buildAdjoint(Adjoint &adjoint) {
  if (!adjoint.isNeeded(getTable()))
    return;
  Value gradient = EmbeddingGradOp::create(
      adjoint.getBuilder(), adjoint.getLoc(), getTable().getType().clone({getRows(), getWidth()}),
      getIds(), adjoint.getGradient(getResult()), /*into=*/Value(), getStart(),
      adjoint.getBuilder().getI64IntegerAttr(getRows()), getPaddingAttr());
  if (getTransposeTable())
    gradient = AdjointBuilder(adjoint).transpose(gradient, {1, 0});
  adjoint.add(getTable(), gradient);
}
