#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_SPLITITEMSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// Makes the steps of loops inside of a work item items of their own.
class ItemSplitter {
public:
  ItemSplitter(func::FuncOp kernel, scf::ForOp itemLoop) : kernel(kernel), itemLoop(itemLoop) {}

  /// The reason why items stay whole, or nothing.
  std::string check() {
    collectLoops(*itemLoop.getBody());
    if (loops.empty())
      return "there is no loop over rows in an item";
    std::string reason;
    kernel.walk([&](Operation *op) {
      std::optional<Access> access = Access::of(op);
      auto loop = dyn_cast<scf::ForOp>(op);
      bool inside = llvm::any_of(loops, [&](scf::ForOp l) { return l->isAncestor(op); });
      if (loop && loop != itemLoop && !inside)
        reason = "an item has more than its loops over rows";
      if (access && !inside && (access->writes || access->memory.getDefiningOp()))
        reason = "an item has more than its loops over rows";
    });
    return writesWhatIsRead(kernel) ? "what one row writes another may read" : reason;
  }

  /// How many items one becomes.
  int64_t getParts() {
    int64_t parts = 0;
    for (scf::ForOp loop : loops)
      parts += getRange(loop)->getExtent();
    return parts;
  }

  void run() {
    int64_t parts = getParts();
    OpBuilder builder(itemLoop);
    Location loc = itemLoop.getLoc();
    auto apply = [&](AffineExpr expr, Value value) {
      return emitAffine(builder, loc, expr, value);
    };
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    AffineExpr dim = builder.getAffineDimExpr(0);
    Value part = divideItems(builder, itemLoop, parts);
    int64_t first = 0;
    for (scf::ForOp loop : loops) {
      LoopRange range = *getRange(loop);
      builder.setInsertionPoint(loop);
      // Unsigned, so that parts before the first one are outside, too.
      Value step = apply(dim - first, part);
      Value isOurs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, step,
                                           constant(range.getExtent()));
      auto guard = scf::IfOp::create(builder, loc, isOurs);
      builder.setInsertionPointToStart(guard.thenBlock());
      loop.getInductionVar().replaceAllUsesWith(apply(dim + range.lower, step));
      Block *body = loop.getBody();
      body->getTerminator()->erase();
      Operation *end = guard.thenBlock()->getTerminator();
      guard.thenBlock()->getOperations().splice(end->getIterator(), body->getOperations());
      loop.erase();
      first += range.getExtent();
    }
  }

private:
  /// Loops over rows: loops with loops inside that carry nothing, also under a condition.
  void collectLoops(Block &block) {
    for (Operation &op : block) {
      if (auto branches = dyn_cast<scf::IfOp>(op)) {
        for (Region &region : branches->getRegions())
          for (Block &inner : region)
            collectLoops(inner);
        continue;
      }
      auto loop = dyn_cast<scf::ForOp>(op);
      if (loop && !loop->hasAttr(kParallelAttribute) && loop.getNumResults() == 0 &&
          getRange(loop) && hasLoop(loop))
        loops.push_back(loop);
    }
  }

  static bool hasLoop(scf::ForOp loop) {
    return loop.getBody()
        ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  func::FuncOp kernel;
  scf::ForOp itemLoop;
  SmallVector<scf::ForOp> loops;
};

struct SplitItemsPass : sinter::impl::SplitItemsPassBase<SplitItemsPass> {
  using SplitItemsPassBase::SplitItemsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation(), code = lookupKernels(module);
    TargetAttr target = code ? TargetAttr::lookup(code) : nullptr;
    if (!target)
      return markAllAnalysesPreserved();
    for (auto [kernel, itemLoop, tensors, items] : findItemKernels(module, code)) {
      if (!items)
        continue;
      auto options = remark::RemarkOpts::name("SplitItems")
                         .category("sinter-codegen")
                         .function(kernel.getName());
      ItemSplitter splitter(kernel, itemLoop);
      std::string reason =
          items.getInt() >= 8 * target.getCores() ? "there are enough of them" : splitter.check();
      if (!reason.empty()) {
        remark::missed(kernel.getLoc(), options) << "items stay whole: " + reason;
        continue;
      }
      int64_t parts = splitter.getParts();
      splitter.run();
      tensors->setAttr(kGridAttribute,
                       Builder(&getContext()).getI64IntegerAttr(items.getInt() * parts));
      remark::passed(kernel.getLoc(), options)
          << "an item becomes " + std::to_string(parts) + " of a row each";
    }
  }
};
} // namespace
