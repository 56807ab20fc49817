#include "dialects/Sinter/AdjointBuilder.h"

using namespace mlir;
using namespace sinter;

// An element has the gradient of the value that it is, if it is one.
void TopKOp::buildAdjoint(Adjoint &adjoint) {
  Value gradient = adjoint.getGradient(getValues());
  if (!gradient || !adjoint.isNeeded(getOperand()))
    return;
  OpBuilder &builder = adjoint.getBuilder();
  RankedTensorType operand = getOperand().getType();
  SmallVector<int64_t> shape(getValues().getType().getShape());
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  shape.push_back(operand.getShape().back());
  RankedTensorType chosen = operand.clone(shape);
  Value marks = OneHotOp::create(builder, adjoint.getLoc(), chosen, getIndices());
  Value spread = BroadcastOp::create(builder, adjoint.getLoc(), chosen, gradient, dims);
  Value terms = MulOp::create(builder, adjoint.getLoc(), marks, spread);
  Type sumType = getSumType(operand.getElementType());
  Value sum = ColumnSumOp::create(builder, adjoint.getLoc(), operand.clone(sumType), terms);
  if (sumType != operand.getElementType())
    sum = CastOp::create(builder, adjoint.getLoc(), operand, sum);
  adjoint.add(getOperand(), sum);
}

// A token's rows are where its places are: their gradients are gathered, and summed in one order.
void DispatchOp::buildAdjoint(Adjoint &adjoint) {
  if (!adjoint.isNeeded(getOperand()))
    return;
  adjoint.add(getOperand(),
              CombineOp::create(adjoint.getBuilder(), adjoint.getLoc(), getOperand().getType(),
                                adjoint.getGradient(getResult()), getPlaces(), getTokens(),
                                /*order=*/getTokens(), /*weights=*/Value()));
}

// With `out[t] = sum over j of p[t, j] y[places[t, j]]`: of y, row m is that of assignment
// order[m], so that `dy[m] = p[order[m]] dout[tokens[m]]`; `dp[t, j] = dout[t] . y[places[t, j]]`.
void CombineOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  OpBuilder &builder = adjoint.getBuilder();
  Location loc = adjoint.getLoc();
  Value gradient = adjoint.getGradient(getResult());
  RankedTensorType type = getType(), rows = getOperand().getType();
  auto gather = [&](Value table, Value ids) -> Value {
    SmallVector<int64_t> shape(cast<RankedTensorType>(ids.getType()).getShape());
    shape.push_back(cast<RankedTensorType>(table.getType()).getDimSize(1));
    return EmbeddingOp::create(builder, loc, type.clone(shape), table, ids, /*start=*/Value(),
                               /*padding=*/nullptr, /*transpose_table=*/false);
  };
  if (adjoint.isNeeded(getOperand())) {
    Value ofRows = DispatchOp::create(builder, loc, rows, gradient, getTokens(), getPlaces());
    if (getWeights()) {
      Value weights = gather(build.reshape(getWeights(), {rows.getDimSize(0), 1}), getOrder());
      weights = build.reshape(weights, {rows.getDimSize(0)});
      ofRows = build.mul(ofRows, build.spread(weights, rows.getDimSize(1)));
    }
    adjoint.add(getOperand(), ofRows);
  }
  if (getWeights() && adjoint.isNeeded(getWeights())) {
    Value given = gather(getOperand(), getPlaces());
    Value spread = BroadcastOp::create(builder, loc, cast<RankedTensorType>(given.getType()),
                                       gradient, ArrayRef<int64_t>{0, 2});
    adjoint.add(getWeights(), build.sumColumns(build.mul(given, spread)));
  }
}

// As a matmul's, group by group.
void GroupedMatmulOp::buildAdjoint(Adjoint &adjoint) {
  OpBuilder &builder = adjoint.getBuilder();
  Value gradient = adjoint.getGradient(getResult());
  if (adjoint.isNeeded(getLhs()))
    adjoint.add(getLhs(), GroupedMatmulOp::create(builder, adjoint.getLoc(), getLhs().getType(),
                                                  gradient, getRhs(), getOffsets(), getScales(),
                                                  getMinima(), !getTransposeRhs()));
  if (!adjoint.isNeeded(getRhs()))
    return;
  Value rows = getLhs();
  if (getTransposeRhs())
    std::swap(rows, gradient);
  adjoint.add(getRhs(), GroupedOuterOp::create(builder, adjoint.getLoc(), getRhs().getType(), rows,
                                               gradient, getOffsets()));
}
