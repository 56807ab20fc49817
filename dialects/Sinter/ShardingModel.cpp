#include "dialects/Sinter/ShardingModel.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterface.h"
#include "mlir/Dialect/Shard/Interfaces/ShardingInterfaceImpl.h"

using namespace mlir;
using namespace sinter;
using mlir::utils::IteratorType;

namespace {
LoopNest getNest(Operation *op) { return cast<ShardableOpInterface>(op).getLoopNest(); }

shard::ReductionKind toReductionKind(LoopReduction reduction) {
  switch (reduction) {
  case LoopReduction::Sum:
    return shard::ReductionKind::Sum;
  case LoopReduction::Max:
    return shard::ReductionKind::Max;
  case LoopReduction::Average:
    return shard::ReductionKind::Average;
  }
  llvm_unreachable("unknown reduction");
}

template <typename Op>
struct ShardingModel : shard::ShardingInterface::ExternalModel<ShardingModel<Op>, Op> {
  SmallVector<IteratorType> getLoopIteratorTypes(Operation *op) const {
    return llvm::map_to_vector(getNest(op).loops, [](LoopKind kind) {
      return kind == LoopKind::Reduction ? IteratorType::reduction : IteratorType::parallel;
    });
  }

  SmallVector<shard::ReductionKind> getReductionLoopIteratorKinds(Operation *op) const {
    LoopNest nest = getNest(op);
    return SmallVector<shard::ReductionKind>(llvm::count(nest.loops, LoopKind::Reduction),
                                             toReductionKind(nest.reduction));
  }

  SmallVector<AffineMap> getIndexingMaps(Operation *op) const { return getNest(op).maps; }

  /// What others want of the op, but for the loops that it has to run whole.
  FailureOr<shard::ShardingOption> getShardingOption(Operation *op,
                                                     ArrayRef<shard::Sharding> operands,
                                                     ArrayRef<shard::Sharding> results) const {
    auto option = shard::detail::defaultGetShardingOption(op, operands, results);
    if (succeeded(option) && !option->empty)
      for (auto [kind, axes] : llvm::zip(getNest(op).loops, option->shardingArray))
        if (kind == LoopKind::Whole)
          axes.clear();
    return option;
  }

  LogicalResult partition(Operation *op, ArrayRef<Value> operands,
                          ArrayRef<shard::Sharding> operandShardings,
                          ArrayRef<shard::Sharding> resultShardings, IRMapping &partitionMap,
                          SymbolTableCollection &symbols, OpBuilder &builder) const {
    shard::partitionTriviallyShardableOperation(*op, operands, operandShardings, resultShardings,
                                                partitionMap, symbols, builder);
    LoopNest nest = getNest(op);
    SmallVector<IteratorType> loops = getLoopIteratorTypes(op);
    shard::ShardingArray axes = shard::getGridAxisAssignmentForLoopIterators(
        operandShardings, resultShardings, loops, nest.maps);
    if (!shard::isAtLeastOneReductionIteratorSharded(loops, axes))
      return success();
    StringRef grid = llvm::find_if(operandShardings, [](const shard::Sharding &sharding) {
                       return static_cast<bool>(sharding);
                     })->getGrid();
    for (Value result : op->getResults()) {
      Value part = partitionMap.lookup(result);
      partitionMap.map(result, shard::AllReduceOp::create(builder, op->getLoc(), part, grid,
                                                          shard::getReductionGridAxes(loops, axes),
                                                          toReductionKind(nest.reduction)));
    }
    return success();
  }
};

template <typename... Ops> void attachModels(MLIRContext *context) {
  (
      [&] {
        if constexpr (Ops::template hasTrait<ShardableOpInterface::Trait>())
          Ops::template attachInterface<ShardingModel<Ops>>(*context);
      }(),
      ...);
}
} // namespace

void sinter::registerShardingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SinterDialect *) {
    attachModels<
#define GET_OP_LIST
#include "dialects/Sinter/SinterOps.cpp.inc"
        >(context);
  });
}
