#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Analysis/CostModel.h"
#include "dialects/Sinter/Stage.h"

using namespace mlir;
using namespace sinter;

/// The loop of an op that a dimension of one of its tensors is, operands before results.
static unsigned getLoop(const LoopNest &nest, unsigned tensor, int64_t dim) {
  return cast<AffineDimExpr>(nest.maps[tensor].getResult(dim)).getPosition();
}

std::optional<int64_t> sinter::findColumns(Value matrix, int64_t ranks) {
  std::optional<int64_t> found;
  for (OpOperand &use : matrix.getUses()) {
    Operation *user = use.getOwner();
    auto shardable = dyn_cast<ShardableOpInterface>(user);
    if (getStage(user->getLoc()) != Stage::Forward)
      continue;
    if (!shardable)
      return std::nullopt;
    // A table may have any of its rows.
    if (isa<LookupOpInterface>(user) && shardable.getLoopNest().exact)
      continue;
    LoopNest nest = shardable.getLoopNest();
    std::optional<int64_t> ofResult, dim;
    if (getRole(user) == FusionRole::Contraction)
      ofResult = typeOf(user->getResult(0)).getRank() - 1;
    else if (user->getNumOperands() == 1)
      ofResult = findColumns(user->getResult(0), ranks);
    for (int64_t i = 0; ofResult && i < typeOf(matrix).getRank(); ++i) {
      unsigned loop = getLoop(nest, use.getOperandNumber(), i);
      int64_t extent = typeOf(user->getResult(0)).getDimSize(*ofResult);
      if (loop == getLoop(nest, user->getNumOperands(), *ofResult) &&
          nest.loops[loop] == LoopKind::Parallel &&
          (extent == typeOf(matrix).getDimSize(i) || extent % ranks == 0))
        dim = i;
    }
    if (!dim || (found && found != dim))
      return std::nullopt;
    found = dim;
  }
  return found;
}

StringRef sinter::getColumnAxis(GridAttr grid) {
  return grid.getSize("tensor") > 1 ? "tensor" : "tensor.columns";
}

bool sinter::isMadeInParts(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  auto shardable = dyn_cast_or_null<ShardableOpInterface>(op);
  if (!shardable)
    return !op;
  LoopNest nest = shardable.getLoopNest();
  unsigned tensor = op->getNumOperands() + cast<OpResult>(value).getResultNumber();
  return nest.loops[getLoop(nest, tensor, dim)] == LoopKind::Parallel &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand.getType() != value.getType() || isMadeInParts(operand, dim);
         });
}
