//===- PlanThreads.cpp - How many threads, and what each of them does --------===//
//
// A warp is enough where a row fits into its registers: sums over it need no memory and no barrier.
// Longer rows get a block. Where there are few items, latency counts and a thread does as little as
// possible; where there are many, bandwidth does, and 16 elements a thread keep enough loads in
// flight.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "compiler/Codegen/Loops/LoopCombines.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace sinter {
#define GEN_PASS_DEF_PLANTHREADSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static constexpr int64_t kWarp = 32;
/// Threads of a block, at least and at the most: more leave too few registers to each. Rows that
/// fill the cache get more, so that fewer of them are worked on at a time.
static constexpr int64_t kSmallBlock = 128, kLargeBlock = 512;
/// Threads that a multiprocessor holds.
static constexpr int64_t kResidentThreads = 2048;
/// Elements that a lane of a warp may have of a row, and a thread of a block should have.
static constexpr int64_t kWarpElements = 32, kThreadElements = 16;
/// Elements of a row from which on vectors are worth a rest behind the last one.
static constexpr int64_t kLongRow = 1024;
/// Registers that a row buffer may take of a thread, and all of them together.
static constexpr int64_t kBufferRegisters = 32, kAllRegisters = 64;
/// Steps of a loop that are written out altogether; of longer ones, as many as load so many
/// elements, but not fewer than this.
static constexpr int64_t kWholeUnroll = 8, kPartElements = 16, kPartUnroll = 4;
/// Loads that steps which are written out have of a thread, at the most: more take registers, and
/// time to compile, and other threads hide these already.
static constexpr int64_t kLoadsInFlight = 16;

namespace {
/// An innermost loop of a kernel, or one whose steps have loops of their own.
struct InnerLoop {
  scf::ForOp loop;
  LoopRange range;
  int64_t lanes = 1;
};

class ThreadPlanner {
public:
  ThreadPlanner(func::FuncOp kernel, scf::ForOp itemLoop, int64_t items, const TargetAttr &target)
      : kernel(kernel), itemLoop(itemLoop), items(items), target(target) {}

  CudaLaunch run() {
    collectLoops();
    chooseLanes();
    int64_t threads = chooseThreads();
    placeBuffers(threads);
    CudaLaunch launch = chooseBlocks(threads);
    Builder builder(kernel.getContext());
    kernel->setAttr(kItemsAttribute, builder.getI64IntegerAttr(items));
    kernel->setAttr(kThreadsAttribute, builder.getI64IntegerAttr(threads));
    for (InnerLoop &inner : loops) {
      inner.loop->setAttr(kLanesAttribute, builder.getI64IntegerAttr(inner.lanes));
      inner.loop->setAttr(kUnrollAttribute,
                          builder.getI64IntegerAttr(chooseUnroll(inner, threads)));
      inner.loop.getBody()->walk([&](scf::ForOp loop) {
        int64_t unroll = kLoadsInFlight / std::max<int64_t>(countLoads(loop), 1);
        loop->setAttr(kUnrollAttribute, builder.getI64IntegerAttr(std::max<int64_t>(unroll, 1)));
      });
      unrollRows(inner, threads);
      remark::passed(inner.loop.getLoc(), getRemark())
          << llvm::formatv("{0} elements over {1} threads, {2} side by side",
                           inner.range.getExtent(), threads, inner.lanes)
                 .str();
    }
    remark::passed(kernel.getLoc(), getRemark())
        << llvm::formatv("{0} items of {1} threads in {2} blocks of {3} threads and {4} bytes",
                         items, threads, launch.grid, launch.block, launch.sharedBytes)
               .str();
    return launch;
  }

private:
  remark::RemarkOpts getRemark() {
    return remark::RemarkOpts::name("PlanThreads")
        .category("sinter-codegen")
        .function(kernel.getName());
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  void collectLoops() {
    itemLoop.getBody()->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (loop->hasAttr(kParallelAttribute)) {
        loops.push_back({loop, *getRange(loop)});
        return WalkResult::skip();
      }
      bool innermost = !loop.getBody()
                            ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
                            .wasInterrupted();
      if (!innermost)
        return WalkResult::advance();
      std::string reason = check(loop);
      if (reason.empty())
        loops.push_back({loop, *getRange(loop)});
      else
        remark::missed(loop.getLoc(), getRemark()) << "a loop stays whole: " + reason;
      return WalkResult::skip();
    });
  }

  /// The reason why a loop cannot be spread over threads, or nothing.
  static std::string check(scf::ForOp loop) {
    std::optional<LoopRange> range = getRange(loop);
    if (!range)
      return "its bounds are not known";
    if (range->getExtent() < 2)
      return "it is too short";
    if (!findCombines(loop))
      return "it carries a value that is neither a sum nor a maximum";
    std::string reason;
    forAccesses(loop, [&](const Access &access) {
      if (access.writes && access.op->getBlock() == loop.getBody() &&
          getStride(access.index, loop.getInductionVar()) == 0)
        reason = "it stores into one element again and again";
    });
    return reason;
  }

  /// Lanes such that a thread's accesses to global memory are aligned and of 16 bytes. Loops over
  /// the same range get the same, so that an element is always the same thread's.
  void chooseLanes() {
    for (InnerLoop &inner : loops) {
      if (inner.loop->hasAttr(kParallelAttribute))
        continue;
      Value counter = inner.loop.getInductionVar();
      int64_t width = 0;
      SmallVector<Value> indices;
      for (Operation &op : inner.loop.getBody()->without_terminator()) {
        std::optional<Access> access = Access::of(&op);
        if (!access || access->memory.getDefiningOp() || getStride(access->index, counter) != 1)
          continue;
        int64_t bits = access->getElementType().getIntOrFloatBitWidth();
        width = width == 0 ? bits : std::min(width, bits);
        indices.push_back(access->index);
      }
      inner.lanes = width == 0 ? 1 : 128 / std::max<int64_t>(width, 8);
      bool mayLeaveRest = leavesRest(inner);
      auto fits = [&](int64_t lanes) {
        return (mayLeaveRest || inner.range.getExtent() % lanes == 0) &&
               inner.range.lower % lanes == 0 && llvm::all_of(indices, [&](Value index) {
                 return getDivisor(index, counter, lanes) % lanes == 0;
               });
      };
      while (!fits(inner.lanes))
        inner.lanes /= 2;
    }
    std::map<std::pair<int64_t, int64_t>, int64_t> common;
    for (const InnerLoop &inner : loops) {
      if (isLocal(inner.loop))
        continue;
      auto [it, isNew] = common.try_emplace({inner.range.lower, inner.range.upper}, inner.lanes);
      it->second = std::min(it->second, inner.lanes);
    }
    for (InnerLoop &inner : loops)
      if (auto it = common.find({inner.range.lower, inner.range.upper}); it != common.end())
        inner.lanes = it->second;
  }

  /// Whether a loop may have elements behind its last whole vector. They are one for each of the
  /// first threads; in row buffers every element has its place in a vector.
  static bool leavesRest(const InnerLoop &inner) {
    bool buffers = false;
    forAccesses(inner.loop,
                [&](const Access &access) { buffers |= !!access.memory.getDefiningOp(); });
    return !buffers && inner.range.getExtent() >= kLongRow;
  }

  /// Whether a loop touches no memory but row buffers.
  static bool isLocal(scf::ForOp loop) {
    bool local = true;
    forAccesses(loop, [&](const Access &access) { local &= !!access.memory.getDefiningOp(); });
    return local;
  }

  //===--------------------------------------------------------------------===//
  // Threads and blocks
  //===--------------------------------------------------------------------===//

  int64_t chooseThreads() {
    if (loops.empty())
      return 1;
    const InnerLoop *longest = &*llvm::max_element(
        loops, [](auto &a, auto &b) { return a.range.getExtent() < b.range.getExtent(); });
    int64_t extent = longest->range.getExtent();
    int64_t vectors = llvm::divideCeil(extent, longest->lanes);
    int64_t all = llvm::PowerOf2Ceil(vectors);
    bool many = items >= 8 * target.getCores();
    if (all <= kWarp)
      return mayShareWarps(all) ? all : kWarp;
    if (many && extent <= kWarp * kWarpElements)
      return kWarp;
    if (many)
      all = llvm::PowerOf2Ceil(llvm::divideCeil(extent, kThreadElements));
    int64_t most = std::clamp<int64_t>(all, 2 * kWarp,
                                       many && outgrowsCache(extent) ? kLargestBlock : kLargeBlock);
    // Of as many steps, no more threads than have work in all of them.
    int64_t steps = llvm::divideCeil(vectors, most);
    return std::max<int64_t>(2 * kWarp, llvm::alignTo(llvm::divideCeil(vectors, steps), kWarp));
  }

  /// Whether rows of this length are read from memory several times, and those that are worked on
  /// at a time would push each other out of the cache in between.
  bool outgrowsCache(int64_t extent) {
    int64_t passes = 0, bytes = 0;
    for (InnerLoop &inner : loops) {
      if (inner.range.getExtent() != extent)
        continue;
      int64_t read = 0;
      forAccesses(inner.loop, [&](const Access &access) {
        if (!access.writes && !access.memory.getDefiningOp() &&
            getStride(access.index, inner.loop.getInductionVar()) == 1)
          read += extent * access.getElementType().getIntOrFloatBitWidth() / 8;
      });
      passes += read > 0;
      bytes = std::max(bytes, read);
    }
    int64_t rows = target.getCores() * (kResidentThreads / kLargeBlock);
    return passes > 1 && rows * bytes > target.getL3Bytes();
  }

  /// Whether items of so many threads may share a warp: what a warp does together must be done by
  /// all of its items.
  bool mayShareWarps(int64_t threads) {
    bool sums =
        llvm::any_of(loops, [](InnerLoop &inner) { return inner.loop.getNumResults() != 0; });
    bool meets = !kernel.front().getOps<memref::AllocaOp>().empty();
    for (unsigned i = 0; i + 2 < kernel.getNumArguments(); ++i)
      meets |= !kernel.getArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName());
    if (!sums && !meets)
      return true;
    return items * threads % kWarp == 0 && llvm::none_of(loops, [](InnerLoop &inner) {
             return inner.loop->getParentOfType<scf::IfOp>();
           });
  }

  CudaLaunch chooseBlocks(int64_t threads) {
    int64_t shared = 0;
    for (auto buffer : kernel.front().getOps<memref::AllocaOp>())
      if (!buffer->hasAttr(kRegistersAttribute))
        shared += getBytes(buffer);
    int64_t perBlock = threads > kWarp ? 1 : kSmallBlock / threads;
    // A block is of whole warps.
    while (perBlock * threads > kWarp &&
           (static_cast<int64_t>(llvm::divideCeil(items, perBlock)) < target.getCores() ||
            perBlock * shared > target.getL1Bytes()) &&
           perBlock > 1)
      perBlock /= 2;
    CudaLaunch launch;
    launch.grid = llvm::divideCeil(items, perBlock);
    launch.block = perBlock * threads;
    for (auto buffer : kernel.front().getOps<memref::AllocaOp>())
      if (!buffer->hasAttr(kRegistersAttribute))
        launch.sharedBytes += getSharedBytes(perBlock * getBytes(buffer));
    return launch;
  }

  /// Steps of a loop over threads that are written out.
  static int64_t chooseUnroll(const InnerLoop &inner, int64_t threads) {
    int64_t steps = llvm::divideCeil(inner.range.getExtent(), threads * inner.lanes);
    if (usesRegisters(inner.loop)) // of which each step has its own
      return steps;
    int64_t unroll =
        steps <= kWholeUnroll ? steps : std::max(kPartElements / inner.lanes, kPartUnroll);
    return std::clamp<int64_t>(kLoadsInFlight / std::max<int64_t>(countLoads(inner.loop), 1), 1,
                               unroll);
  }

  /// Rows of an item that are only added to sums in registers are written out several at a time: no
  /// thread waits for another between them.
  void unrollRows(const InnerLoop &inner, int64_t threads) {
    auto rows = inner.loop->getParentOfType<scf::ForOp>();
    if (rows == itemLoop || !getRange(rows) || !usesRegisters(inner.loop) ||
        llvm::any_of(rows.getBody()->getOps<scf::ForOp>(),
                     [](scf::ForOp loop) { return loop.getNumResults() != 0; }))
      return;
    int64_t steps = llvm::divideCeil(inner.range.getExtent(), threads * inner.lanes);
    int64_t unroll = kLoadsInFlight / std::max<int64_t>(steps * countLoads(inner.loop), 1);
    rows->setAttr(kUnrollAttribute,
                  Builder(kernel.getContext()).getI64IntegerAttr(std::max<int64_t>(unroll, 1)));
  }

  /// Loads of an element from global memory.
  static int64_t countLoads(scf::ForOp loop) {
    int64_t loads = 0;
    forAccesses(loop, [&](const Access &access) {
      loads += !access.writes && !access.memory.getDefiningOp();
    });
    return loads;
  }

  static int64_t getBytes(memref::AllocaOp buffer) {
    return buffer.getType().getNumElements() * buffer.getType().getElementTypeBitWidth() / 8;
  }

  //===--------------------------------------------------------------------===//
  // Row buffers
  //===--------------------------------------------------------------------===//

  /// Marks the buffers that fit into registers: every access is element i in step i of loops that
  /// are spread alike.
  void placeBuffers(int64_t threads) {
    int64_t left = kAllRegisters;
    for (auto buffer : kernel.front().getOps<memref::AllocaOp>()) {
      const InnerLoop *first = nullptr;
      bool own = llvm::all_of(buffer->getUsers(), [&](Operation *user) {
        std::optional<Access> access = Access::of(user);
        auto inner = llvm::find_if(
            loops, [&](const InnerLoop &inner) { return inner.loop->isProperAncestor(user); });
        if (!access || inner == loops.end() || access->index != inner->loop.getInductionVar())
          return false;
        if (!first)
          first = &*inner;
        return inner->range == first->range && inner->lanes == first->lanes;
      });
      if (!own || !first)
        continue;
      int64_t size =
          llvm::divideCeil(first->range.getExtent(), threads * first->lanes) * first->lanes;
      if (size > std::min(left, kBufferRegisters))
        continue;
      left -= size;
      buffer->setAttr(kRegistersAttribute, UnitAttr::get(kernel.getContext()));
    }
  }

  static bool usesRegisters(scf::ForOp loop) {
    bool uses = false;
    forAccesses(loop, [&](const Access &access) {
      Operation *buffer = access.memory.getDefiningOp();
      uses |= buffer && buffer->hasAttr(kRegistersAttribute);
    });
    return uses;
  }

  func::FuncOp kernel;
  scf::ForOp itemLoop;
  int64_t items;
  TargetAttr target;
  SmallVector<InnerLoop> loops;
};

struct PlanThreadsPass : sinter::impl::PlanThreadsPassBase<PlanThreadsPass> {
  using PlanThreadsPassBase::PlanThreadsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation(), code = lookupKernels(module);
    TargetAttr target = code ? TargetAttr::lookup(code) : nullptr;
    if (!target)
      return markAllAnalysesPreserved();
    for (auto [kernel, itemLoop, tensors, items] : findItemKernels(module, code)) {
      if (!items) {
        kernel.emitError("expected a kernel on tensors of this name that says its work items (")
            << kGridAttribute << ")";
        return signalPassFailure();
      }
      setLaunch(tensors, ThreadPlanner(kernel, itemLoop, items.getInt(), target).run());
    }
  }
};
} // namespace
