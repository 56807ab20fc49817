#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// An access that no barrier stands behind yet, and the spread loop that it is in (or null: every
/// thread reads, the first one writes).
struct PendingAccess {
  Access access;
  scf::ForOp loop;

  bool operator==(const PendingAccess &other) const { return access.op == other.access.op; }
};
using Pending = SmallVector<PendingAccess>;

/// Goes over a kernel in the order of its execution.
class BarrierInserter {
public:
  explicit BarrierInserter(func::FuncOp kernel)
      : kernel(kernel), threads(kernel->getAttrOfType<IntegerAttr>(kThreadsAttribute).getInt()) {}

  int64_t run() {
    Pending pending;
    if (threads > 1)
      visit(*findItemLoop(kernel).getBody(), pending);
    return barriers;
  }

private:
  void visit(Block &block, Pending &pending) {
    for (Operation &op : block) {
      if (isSpread(&op)) {
        visitSpread(cast<scf::ForOp>(op), pending);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        Pending before = pending;
        visit(*loop.getBody(), pending);
        // What the last step left meets the next one.
        visit(*loop.getBody(), pending);
        if (!getRange(loop))
          merge(pending, before);
      } else if (auto branches = dyn_cast<scf::IfOp>(op)) {
        Pending other = pending;
        visit(*branches.thenBlock(), pending);
        if (branches.elseBlock())
          visit(*branches.elseBlock(), other);
        merge(pending, other);
      } else if (isa<gpu::BarrierOp>(op)) {
        pending.clear();
      } else if (std::optional<Access> access = Access::of(&op)) {
        meet(&op, {{*access, nullptr}}, pending);
      }
    }
  }

  void visitSpread(scf::ForOp loop, Pending &pending) {
    Pending accesses;
    forAccesses(loop, [&](const Access &access) { accesses.push_back({access, loop}); });
    meet(loop, accesses, pending);
    // A reduction over a block ends with a barrier.
    if (loop.getNumResults() != 0 && threads > 32)
      pending.clear();
  }

  static void merge(Pending &pending, const Pending &other) {
    for (const PendingAccess &access : other)
      if (!llvm::is_contained(pending, access))
        pending.push_back(access);
  }

  /// Puts a barrier before `op` where its accesses may meet others.
  void meet(Operation *op, ArrayRef<PendingAccess> accesses, Pending &pending) {
    bool conflicts = llvm::any_of(accesses, [&](const PendingAccess &mine) {
      return llvm::any_of(pending, [&](const PendingAccess &other) { return meets(mine, other); });
    });
    if (conflicts) {
      OpBuilder builder(op);
      gpu::BarrierOp::create(builder, op->getLoc());
      ++barriers;
      pending.clear();
    }
    for (const PendingAccess &mine : accesses)
      if (!isOwn(mine.access.memory) && !llvm::is_contained(pending, mine))
        pending.push_back(mine);
  }

  /// Whether two accesses may be of one element by different threads, one of them a write.
  bool meets(const PendingAccess &a, const PendingAccess &b) {
    if ((!a.access.writes && !b.access.writes) || !mayBeSame(a.access.memory, b.access.memory))
      return false;
    // An element of a result is written once (or by one thread, where it sums in memory).
    if (a.access.writes && b.access.writes && !a.access.memory.getDefiningOp())
      return false;
    if (!a.loop && !b.loop)
      return !a.access.writes || !b.access.writes;
    bool alike = a.loop && b.loop && *getRange(a.loop) == *getRange(b.loop) &&
                 getLanes(a.loop) == getLanes(b.loop);
    if (!alike)
      return true;
    scf::ForOp first = a.loop, second = b.loop;
    return !areEquivalent(a.access.index, first.getInductionVar(), b.access.index,
                          second.getInductionVar());
  }

  /// Memory that is a thread's own.
  static bool isOwn(Value memory) {
    Operation *buffer = memory.getDefiningOp();
    return buffer && buffer->hasAttr(kRegistersAttribute);
  }

  bool mayBeSame(Value a, Value b) {
    auto isShared = [&](Value memory) {
      auto argument = dyn_cast<BlockArgument>(memory);
      return argument &&
             !kernel.getArgAttr(argument.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName());
    };
    return a == b || (isShared(a) && isShared(b));
  }

  func::FuncOp kernel;
  int64_t threads, barriers = 0;
};

struct InsertBarriersPass : sinter::impl::InsertBarriersPassBase<InsertBarriersPass> {
  using InsertBarriersPassBase::InsertBarriersPassBase;

  void runOnOperation() override {
    ModuleOp code = lookupKernels(getOperation());
    if (!code)
      return markAllAnalysesPreserved();
    for (auto kernel : code.getOps<func::FuncOp>()) {
      if (!findItemLoop(kernel))
        continue;
      if (!kernel->hasAttr(kThreadsAttribute)) {
        kernel.emitError("expected a kernel that says how many threads an item has (")
            << kThreadsAttribute << ")";
        return signalPassFailure();
      }
      if (int64_t barriers = BarrierInserter(kernel).run())
        remark::passed(kernel.getLoc(), remark::RemarkOpts::name("InsertBarriers")
                                            .category("sinter-codegen")
                                            .function(kernel.getName()))
            << std::to_string(barriers) + " barriers besides those of reductions";
    }
  }
};
} // namespace
