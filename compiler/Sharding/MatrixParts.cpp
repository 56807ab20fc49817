#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Sharding/AssignLoops.h"
#include "dialects/Sinter/Stage.h"

using namespace mlir;
using namespace sinter;

ColumnFinder::ColumnFinder(func::FuncOp entry, int64_t ranks)
    : ranks(ranks), weights(findWeightValues(entry)) {}

std::optional<int64_t> ColumnFinder::find(Value weight) {
  auto [entry, isNew] = known.try_emplace(weight);
  if (!isNew)
    return entry->second;
  std::optional<int64_t> found = findInUses(weight);
  return known[weight] = found;
}

std::optional<int64_t> ColumnFinder::findInUses(Value weight) {
  std::optional<int64_t> found;
  for (OpOperand &use : weight.getUses()) {
    Operation *user = use.getOwner();
    auto shardable = dyn_cast<ShardableOpInterface>(user);
    if (getStage(user->getLoc()) != Stage::Forward)
      continue;
    if (!shardable)
      return std::nullopt;
    LoopNest nest = shardable.getLoopNest();
    // A table may have any of its rows.
    if (isa<LookupOpInterface>(user) && nest.exact)
      continue;
    std::optional<int64_t> ofResult, dim;
    if (isProduct(user))
      ofResult = typeOf(user->getResult(0)).getRank() - 1;
    else if (user->getNumResults() == 1 && weights.contains(user->getResult(0)))
      ofResult = find(user->getResult(0));
    for (int64_t i = 0; ofResult && i < typeOf(weight).getRank(); ++i) {
      unsigned loop = getLoop(nest, use.getOperandNumber(), i);
      if (loop == getLoop(nest, user->getNumOperands(), *ofResult) &&
          nest.loops[loop] == LoopKind::Parallel && dividesLoop(user, nest, loop, ranks))
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
