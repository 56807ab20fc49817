#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_LOADROWSAHEADPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Registers that what is loaded ahead may take of a thread.
static constexpr int64_t kAheadRegisters = 32;

static int64_t countRegisters(Operation *load) {
  Type type = load->getResult(0).getType();
  auto vector = dyn_cast<VectorType>(type);
  int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return llvm::divideCeil((vector ? vector.getNumElements() : 1) * bits, 32);
}

namespace {
/// Loads of one loop over rows.
class RowLoader {
public:
  RowLoader(func::FuncOp kernel, scf::ForOp loop) : kernel(kernel), loop(loop) {}

  /// Returns how many loads come before the loop, and how many a row ahead.
  std::pair<unsigned, unsigned> run() {
    SmallVector<Operation *> ahead;
    unsigned before = 0;
    int64_t registers = 0;
    for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
      std::optional<llvm::SetVector<Operation *>> index = findIndex(&op);
      if (!index)
        continue;
      if (isSameForAllRows(&op, *index)) {
        for (Operation *part : *index)
          part->moveBefore(loop);
        op.moveBefore(loop);
        ++before;
      } else if (registers + countRegisters(&op) <= kAheadRegisters) {
        registers += countRegisters(&op);
        ahead.push_back(&op);
      }
    }
    if (!ahead.empty())
      loadAhead(ahead);
    return {before, ahead.size()};
  }

private:
  /// What the index of a load is computed by inside of the loop, in order; nothing where the op is
  /// no load, its memory may change, or its index takes more than arithmetic.
  std::optional<llvm::SetVector<Operation *>> findIndex(Operation *op) {
    auto vector = dyn_cast<vector::LoadOp>(op);
    auto element = dyn_cast<memref::LoadOp>(op);
    if ((!vector && !element) || isWritten(vector ? vector.getBase() : element.getMemRef()))
      return std::nullopt;
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *part) { return part->getBlock() == loop.getBody(); };
    if (failed(getBackwardSlice(op, &slice, options)) || !llvm::all_of(slice, [](Operation *part) {
          return part->getNumRegions() == 0 && isMemoryEffectFree(part) && isSpeculatable(part);
        }))
      return std::nullopt;
    for (Value carried : loop.getRegionIterArgs())
      if (uses(op, slice, carried))
        return std::nullopt;
    return slice;
  }

  static bool uses(Operation *op, const llvm::SetVector<Operation *> &index, Value value) {
    auto usesIt = [&](Operation *part) { return llvm::is_contained(part->getOperands(), value); };
    return usesIt(op) || llvm::any_of(index, usesIt);
  }

  bool isSameForAllRows(Operation *op, const llvm::SetVector<Operation *> &index) {
    return !uses(op, index, loop.getInductionVar());
  }

  /// Whether the kernel may write memory. An argument that others may be the same as counts as
  /// written.
  bool isWritten(Value memory) {
    auto argument = dyn_cast<BlockArgument>(memory);
    return !argument || argument.getOwner() != &kernel.front() ||
           !kernel.getArgAttr(argument.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName()) ||
           llvm::any_of(memory.getUsers(), llvm::IsaPred<memref::StoreOp, vector::StoreOp>);
  }

  /// The loop's steps are given what the step before them has loaded. The last one loads its own
  /// row again.
  void loadAhead(ArrayRef<Operation *> loads) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    auto emitLoads = [&](Value row) {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), row);
      SmallVector<Value> loaded;
      for (Operation *load : loads) {
        std::optional<llvm::SetVector<Operation *>> index = findIndex(load);
        for (Operation *part : *index)
          if (!mapping.contains(part->getResult(0)))
            builder.clone(*part, mapping);
        loaded.push_back(builder.clone(*load, mapping)->getResult(0));
      }
      return loaded;
    };
    SmallVector<Value> initial(loop.getInitArgs());
    llvm::append_range(initial, emitLoads(loop.getLowerBound()));
    Value last = arith::ConstantIndexOp::create(builder, loc, getRange(loop)->upper - 1);
    auto next = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                   loop.getStep(), initial);
    next->setAttrs(loop->getAttrs());
    builder.setInsertionPointToStart(next.getBody());
    Value row = arith::AddIOp::create(builder, loc, next.getInductionVar(), next.getStep());
    SmallVector<Value> following = emitLoads(arith::MinSIOp::create(builder, loc, row, last));
    Block *body = loop.getBody();
    unsigned carried = loop.getNumRegionIterArgs();
    for (auto [load, value] :
         llvm::zip_equal(loads, next.getRegionIterArgs().drop_front(carried))) {
      load->getResult(0).replaceAllUsesWith(value);
      load->erase();
    }
    for (auto [from, to] : llvm::zip(body->getArguments(), next.getBody()->getArguments()))
      from.replaceAllUsesWith(to);
    next.getBody()->getOperations().splice(next.getBody()->end(), body->getOperations());
    Operation *yield = next.getBody()->getTerminator();
    yield->insertOperands(yield->getNumOperands(), following);
    for (auto [from, to] : llvm::zip(loop.getResults(), next.getResults()))
      from.replaceAllUsesWith(to);
    loop.erase();
  }

  func::FuncOp kernel;
  scf::ForOp loop;
};

struct LoadRowsAheadPass : sinter::impl::LoadRowsAheadPassBase<LoadRowsAheadPass> {
  using LoadRowsAheadPassBase::LoadRowsAheadPassBase;

  void runOnOperation() override {
    ModuleOp code = lookupKernels(getOperation());
    if (!code)
      return markAllAnalysesPreserved();
    for (auto kernel : code.getOps<func::FuncOp>()) {
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) {
        std::optional<LoopRange> rows = getRange(loop);
        if (rows && rows->getExtent() > 1 && !loop.getBody()->getOps<gpu::AllReduceOp>().empty())
          loops.push_back(loop);
      });
      for (scf::ForOp loop : loops) {
        Location loc = loop.getLoc();
        auto [before, ahead] = RowLoader(kernel, loop).run();
        if (before + ahead != 0)
          remark::passed(loc, remark::RemarkOpts::name("LoadRowsAhead")
                                  .category("sinter-codegen")
                                  .function(kernel.getName()))
              << llvm::formatv("{0} loads a row ahead, {1} before all rows", ahead, before).str();
      }
    }
  }
};
} // namespace
