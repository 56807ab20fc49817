#include "compiler/Memory/Passes.h"
#include "dialects/Plan/PlanDialect.h"

namespace sinter {
#define GEN_PASS_DEF_REUSEINPLACEPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// The input of a launch that its output may be written over, or null.
static Value findReusable(plan::LaunchOp launch) {
  if (launch.getReusable().empty())
    return nullptr;
  auto out = launch.getOutputs().front().getDefiningOp<plan::AllocOp>();
  if (!out || llvm::is_contained(launch.getInputs(), out.getSlice()))
    return nullptr;
  auto isReusable = [&](Value input) {
    auto alloc = input.getDefiningOp<plan::AllocOp>();
    if (!alloc || alloc.getBytes() != out.getBytes())
      return false;
    for (OpOperand &use : input.getUses()) {
      // Uses by the launch itself are its inputs: operands begin with them.
      if (use.getOwner() == launch
              ? !llvm::is_contained(launch.getReusable(), int64_t(use.getOperandNumber()))
              : !use.getOwner()->isBeforeInBlock(launch))
        return false;
    }
    return true;
  };
  for (int64_t index : launch.getReusable())
    if (Value input = launch.getInputs()[index]; isReusable(input))
      return input;
  return nullptr;
}

/// Whether a slice is written first by this launch.
static bool isFirstUse(Value slice, Operation *launch) {
  return llvm::all_of(slice.getUsers(), [&](Operation *user) {
    return user == launch || launch->isBeforeInBlock(user);
  });
}

namespace {
struct ReuseInPlacePass : sinter::impl::ReuseInPlacePassBase<ReuseInPlacePass> {
  using ReuseInPlacePassBase::ReuseInPlacePassBase;

  void runOnOperation() override {
    getOperation().walk([&](plan::LaunchOp launch) {
      Value input = findReusable(launch);
      if (!input || !isFirstUse(launch.getOutputs().front(), launch))
        return;
      Operation *alloc = launch.getOutputs().front().getDefiningOp();
      alloc->getResult(0).replaceAllUsesWith(input);
      alloc->erase();
      ++numReused;
    });
  }
};
} // namespace
