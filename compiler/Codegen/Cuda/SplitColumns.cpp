#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_SPLITCOLUMNSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Loads and stores of elements that are worth a block.
static constexpr int64_t kFewestAccesses = 2048;

namespace {
/// Makes parts of the rows of a work item items of their own.
class ColumnSplitter {
public:
  ColumnSplitter(func::FuncOp kernel, scf::ForOp itemLoop) : kernel(kernel), itemLoop(itemLoop) {}

  /// The reason why rows stay whole, or nothing.
  std::string check() {
    std::string reason;
    kernel.walk([&](scf::ForOp loop) {
      if (loop != itemLoop && loop.getNumResults() != 0)
        reason = "a loop carries a value";
      else if (loop->hasAttr(kParallelAttribute) || (loop != itemLoop && !getRange(loop)))
        reason = "a loop has no range of elements";
      else if (loop != itemLoop && isInnermost(loop))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      forAccesses(loop, [&](const Access &access) {
        if (access.writes && getStride(access.index, loop.getInductionVar()) == 0)
          reason = "a loop stores into one element again and again";
      });
    if (reason.empty() && loops.empty())
      reason = "there is no loop over elements in an item";
    forAccesses(kernel, [&](const Access &access) {
      if (access.memory.getDefiningOp())
        reason = "a row is kept in between";
    });
    return writesWhatIsRead(kernel) ? "what one part writes another may read" : reason;
  }

  /// How many parts a row becomes, of no more items than `most`.
  int64_t countParts(int64_t most) {
    int64_t accesses = 0;
    for (scf::ForOp loop : loops) {
      int64_t times = 1, inside = 0;
      for (scf::ForOp outer = loop; outer != itemLoop; outer = outer->getParentOfType<scf::ForOp>())
        times *= getRange(outer)->getExtent();
      forAccesses(loop, [&](const Access &) { ++inside; });
      accesses += times * inside;
    }
    auto fits = [&](int64_t parts) {
      return parts <= most && accesses / parts >= kFewestAccesses &&
             llvm::all_of(loops, [&](scf::ForOp loop) {
               int64_t extent = getRange(loop)->getExtent();
               return extent % parts == 0 && extent / parts >= kFewestPartColumns;
             });
    };
    int64_t parts = 1;
    while (fits(2 * parts))
      parts *= 2;
    return parts;
  }

  void run(int64_t parts) {
    OpBuilder builder(itemLoop);
    Location loc = itemLoop.getLoc();
    AffineExpr dim = builder.getAffineDimExpr(0);
    Value part = divideItems(builder, itemLoop, parts);
    storeOnce(builder, part);
    for (scf::ForOp loop : loops) {
      LoopRange range = *getRange(loop);
      int64_t extent = range.getExtent() / parts;
      builder.setInsertionPoint(loop);
      loop.setLowerBound(arith::ConstantIndexOp::create(builder, loc, 0));
      loop.setUpperBound(arith::ConstantIndexOp::create(builder, loc, extent));
      builder.setInsertionPointToStart(loop.getBody());
      Value counter = loop.getInductionVar();
      Value element = emitAffine(
          builder, loc, builder.getAffineDimExpr(1) * extent + dim + range.lower, {counter, part});
      counter.replaceAllUsesExcept(element, element.getDefiningOp());
    }
  }

private:
  static bool isInnermost(scf::ForOp loop) {
    return !loop.getBody()
                ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
                .wasInterrupted();
  }

  /// What is stored beside the loops over elements is the first part's.
  void storeOnce(OpBuilder &builder, Value part) {
    SmallVector<Operation *> stores;
    forAccesses(kernel, [&](const Access &access) {
      if (access.writes &&
          llvm::none_of(loops, [&](scf::ForOp loop) { return loop->isAncestor(access.op); }))
        stores.push_back(access.op);
    });
    for (Operation *store : stores) {
      builder.setInsertionPoint(store);
      Location loc = store->getLoc();
      Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, part,
                                            arith::ConstantIndexOp::create(builder, loc, 0));
      auto guard = scf::IfOp::create(builder, loc, isFirst);
      store->moveBefore(guard.thenBlock()->getTerminator());
    }
  }

  func::FuncOp kernel;
  scf::ForOp itemLoop;
  SmallVector<scf::ForOp> loops; ///< over elements
};

struct SplitColumnsPass : sinter::impl::SplitColumnsPassBase<SplitColumnsPass> {
  using SplitColumnsPassBase::SplitColumnsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation(), code = lookupKernels(module);
    TargetAttr target = code ? TargetAttr::lookup(code) : nullptr;
    if (!target)
      return markAllAnalysesPreserved();
    for (auto [kernel, itemLoop, tensors, items] : findItemKernels(module, code)) {
      if (!items)
        continue;
      auto options = remark::RemarkOpts::name("SplitColumns")
                         .category("sinter-codegen")
                         .function(kernel.getName());
      ColumnSplitter splitter(kernel, itemLoop);
      int64_t most = target.getCores() / items.getInt();
      std::string reason = most < 2 ? "there are enough items" : splitter.check();
      int64_t parts = reason.empty() ? splitter.countParts(most) : 1;
      if (reason.empty() && parts == 1)
        reason = "they are short, or do not divide";
      if (!reason.empty()) {
        remark::missed(kernel.getLoc(), options) << "rows stay whole: " + reason;
        continue;
      }
      splitter.run(parts);
      tensors->setAttr(kGridAttribute,
                       Builder(&getContext()).getI64IntegerAttr(items.getInt() * parts));
      remark::passed(kernel.getLoc(), options)
          << "a row becomes " + std::to_string(parts) + " items";
    }
  }
};
} // namespace
