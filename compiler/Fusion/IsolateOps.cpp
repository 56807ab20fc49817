#include "compiler/Fusion/FusionRules.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"

namespace sinter {
#define GEN_PASS_DEF_ISOLATEOPSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct IsolateOpsPass : sinter::impl::IsolateOpsPassBase<IsolateOpsPass> {
  using IsolateOpsPassBase::IsolateOpsPassBase;

  void runOnOperation() override {
    KernelFamilies families(&getContext());
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        valid &= succeeded(isolateIn(function, families));
    if (!valid)
      signalPassFailure();
  }

private:
  LogicalResult isolateIn(func::FuncOp function, const KernelFamilies &families) {
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      if (isa<FusionOp, CallKernelOp, CollectiveOpInterface>(op) || isAlias(&op) ||
          op.hasTrait<OpTrait::ConstantLike>())
        continue;
      if (isOpTriviallyDead(&op)) {
        op.erase();
        continue;
      }
      OpSet alone;
      alone.insert(&op);
      Classification classification = classify(alone, families);
      if (!isa<FusibleOpInterface>(op) || !classification)
        return op.emitError("expected an op that can be a kernel");
      wrapOps(&op, *classification.family);
    }
    materializeSplats(function, *families.lookup(kRowsFamily));
    return success();
  }

  /// A splat that something other than a kernel needs in memory is written by a kernel.
  void materializeSplats(func::FuncOp function, const KernelFamily &rows) {
    for (auto constant : llvm::make_early_inc_range(function.getOps<ConstantOp>())) {
      if (!isSplatConstant(constant))
        continue;
      if (constant->use_empty())
        constant->erase();
      else if (auto type = constant.getType(); type.getNumElements() > 1) {
        OpBuilder builder(constant);
        Location loc = constant.getLoc();
        auto value = cast<DenseElementsAttr>(constant.getValue());
        auto scalarType = RankedTensorType::get({}, type.getElementType());
        auto scalar = ConstantOp::create(builder, loc, scalarType, value.resizeSplat(scalarType));
        auto spread = BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>{});
        constant.replaceAllUsesWith(spread.getResult());
        constant->erase();
        wrapOps(spread.getOperation(), rows);
      }
    }
  }
};
} // namespace
