#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {
#define GEN_PASS_DEF_PACKCACHESPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// How the entries use a state, and where it appears.
struct StateUses {
  bool keys = false, rows = false, other = false; ///< rows: values, or scales
  SmallVector<Value> appearances;
};

struct PackCachesPass : sinter::impl::PackCachesPassBase<PackCachesPass> {
  using PackCachesPassBase::PackCachesPassBase;

  void runOnOperation() override {
    TargetAttr target = TargetAttr::lookup(getOperation());
    if (!target) {
      getOperation().emitError(
          "expected the module to say what it is compiled for (sinter.target)");
      return signalPassFailure();
    }
    if (!target.readsPackedRhs())
      return markAllAnalysesPreserved();
    llvm::MapVector<StringAttr, StateUses> states;
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        entries.push_back(function);
    for (func::FuncOp entry : entries)
      for (BlockArgument argument : entry.getArguments())
        if (auto name =
                entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kState))
          collectUses(argument, states[name]);
    for (auto &[name, uses] : states)
      assignLayout(name, uses, target);
    for (func::FuncOp entry : entries)
      entry.setFunctionType(
          FunctionType::get(&getContext(), llvm::to_vector(entry.front().getArgumentTypes()),
                            llvm::to_vector(entry.front().getTerminator()->getOperandTypes())));
  }

private:
  void collectUses(Value value, StateUses &uses) {
    uses.appearances.push_back(value);
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto attention = dyn_cast<AttentionOp>(user)) {
        bool isKey = &use == &attention.getKeyMutable();
        auto isScale = [&](const MutableOperandRange &scales) {
          return !scales.empty() && use.getOperandNumber() == scales[0].getOperandNumber();
        };
        bool isRow = &use == &attention.getValueMutable() ||
                     isScale(attention.getKeyScalesMutable()) ||
                     isScale(attention.getValueScalesMutable());
        uses.keys |= isKey;
        uses.rows |= isRow;
        uses.other |= !isKey && !isRow;
      } else if (auto append = dyn_cast<CacheAppendOp>(user);
                 append && use == append.getCacheMutable()) {
        collectUses(append.getResult(), uses);
      } else if (!user->hasTrait<OpTrait::IsTerminator>()) {
        uses.other = true;
      }
    }
  }

  void assignLayout(StringAttr name, const StateUses &uses, TargetAttr target) {
    auto opts = remark::RemarkOpts::name("CacheLayout").category("sinter-layout");
    Location loc = uses.appearances.front().getLoc();
    if (uses.other || uses.keys == uses.rows) {
      remark::missed(loc, opts) << (name.getValue() +
                                    " stays dense: it is not read only as keys or only as values")
                                       .str();
      return;
    }
    auto cache = cast<RankedTensorType>(uses.appearances.front().getType());
    Attribute layout = uses.keys ? getKeyLayout(cache, target) : getValueLayout(target);
    for (Value value : uses.appearances) {
      auto type = cast<RankedTensorType>(value.getType());
      value.setType(RankedTensorType::get(type.getShape(), type.getElementType(), layout));
    }
    remark::passed(loc, opts)
        << (name.getValue() + (uses.keys ? " in key panels" : " head by head")).str();
  }
};
} // namespace
