#include "compiler/Analysis/CostModel.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_SINKROWSELECTIONPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct SinkRowSelectionPass : sinter::impl::SinkRowSelectionPassBase<SinkRowSelectionPass> {
  using SinkRowSelectionPassBase::SinkRowSelectionPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(SinterDialect::kEntry))
        continue;
      unsigned moved = 0;
      replaceTrivial(function);
      // Users come before their operands' producers, so one sweep is enough.
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
        moved += moveAbove(&op);
      if (moved > 0)
        remark::passed(function.getLoc(), remark::RemarkOpts::name("RowsSelected")
                                              .category("sinter-sharding")
                                              .function(function.getName()))
            << llvm::formatv("{0} ops run on the last row of each slot only", moved).str();
    }
  }

private:
  /// Of one row the last is that one: decode steps select nothing, and all layers stay alike.
  void replaceTrivial(func::FuncOp function) {
    for (auto selection : llvm::make_early_inc_range(function.getOps<LastRowOp>())) {
      if (selection.getOperand().getType().getDimSize(1) != 1)
        continue;
      OpBuilder builder(selection);
      selection.replaceAllUsesWith(ReshapeOp::create(builder, selection.getLoc(),
                                                     selection.getType(), selection.getOperand())
                                       .getResult());
      selection->erase();
    }
  }

  /// Where all users of `op` select the same rows of its results and the op works row by row: runs
  /// it on those rows of its operands instead.
  bool moveAbove(Operation *op) {
    if (op->use_empty())
      return false;
    LastRowOp selection;
    for (OpOperand &use : op->getUses()) {
      auto other = dyn_cast<LastRowOp>(use.getOwner());
      if (!other || &use != &other.getOperandMutable() ||
          (selection && selection.getCount() != other.getCount()))
        return false;
      selection = other;
    }
    SmallVector<Operation *> selections(op->getUsers());
    for (Operation *user : selections)
      if (user->isBeforeInBlock(selection))
        selection = cast<LastRowOp>(user);
    SmallVector<unsigned> operands;
    if (!findRowOperands(op, operands))
      return false;

    OpBuilder builder(selection);
    auto selectedType = [](Value rows) {
      RankedTensorType type = typeOf(rows);
      return RankedTensorType::get({type.getDimSize(0), type.getDimSize(2)}, type.getElementType());
    };
    IRMapping mapping;
    for (unsigned index : operands) {
      Value operand = op->getOperand(index);
      if (!mapping.contains(operand))
        mapping.map(operand, select(builder, selection, operand, selectedType(operand)));
    }
    Operation *moved = builder.clone(*op, mapping);
    for (OpResult result : moved->getResults())
      result.setType(selectedType(result));
    adjustAttributes(moved);
    for (Operation *user : selections) {
      auto result = cast<OpResult>(cast<LastRowOp>(user).getOperand());
      user->getResult(0).replaceAllUsesWith(moved->getResult(result.getResultNumber()));
      user->erase();
    }
    op->erase();
    return true;
  }

  /// One selection a value: an existing one is reused if it stands early enough.
  Value select(OpBuilder &builder, LastRowOp like, Value operand, RankedTensorType type) {
    for (Operation *user : operand.getUsers())
      if (auto other = dyn_cast<LastRowOp>(user))
        if (other.getCount() == like.getCount() && other.getOperand() == operand &&
            other->getBlock() == like->getBlock()) {
          if (like->isBeforeInBlock(other))
            other->moveBefore(like);
          return other.getResult();
        }
    return LastRowOp::create(builder, like.getLoc(), type, operand, like.getCount());
  }

  /// The operands of which a row of the result needs only the same row; others it needs whole, for
  /// every row alike. False if the op is none that works so, row by row, on [b, t, d].
  static bool findRowOperands(Operation *op, SmallVectorImpl<unsigned> &operands) {
    if (isSplatConstant(op))
      return true;
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable || llvm::any_of(op->getResultTypes(), [](Type type) {
          return cast<RankedTensorType>(type).getRank() != 3;
        }))
      return false;
    LoopNest nest = shardable.getLoopNest();
    if (nest.placed)
      return false;
    AffineMap rows = nest.maps.back();
    for (AffineMap map : ArrayRef(nest.maps).drop_front(op->getNumOperands()))
      if (map.getResults().take_front(2) != rows.getResults().take_front(2))
        return false;
    auto isRowLoop = [&](int64_t dim) {
      auto loop = dyn_cast<AffineDimExpr>(rows.getResult(dim));
      return loop && nest.loops[loop.getPosition()] == LoopKind::Parallel;
    };
    if (!isRowLoop(0) || !isRowLoop(1))
      return false;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = nest.maps[operand.getOperandNumber()];
      if (llvm::none_of(rows.getResults().take_front(2), [&](AffineExpr loop) {
            return map.isFunctionOfDim(cast<AffineDimExpr>(loop).getPosition());
          }))
        continue;
      RankedTensorType type = typeOf(operand.get());
      if (type.getRank() != 3 || type.getEncoding() ||
          map.getResults().take_front(2) != rows.getResults().take_front(2))
        return false;
      operands.push_back(operand.getOperandNumber());
    }
    return true;
  }

  /// From [b, t, d] to [b, d], what an index op says of its dimensions.
  void adjustAttributes(Operation *op) {
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      broadcast.setDims(broadcast.getDims().empty() ? ArrayRef<int64_t>{} : ArrayRef<int64_t>{1});
    if (auto slice = dyn_cast<SliceOp>(op))
      slice.setOffsets({0, slice.getOffsets()[2]});
    if (auto concat = dyn_cast<ConcatOp>(op))
      concat.setDim(1);
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(value.resizeSplat(constant.getType()));
    }
  }
};
} // namespace
