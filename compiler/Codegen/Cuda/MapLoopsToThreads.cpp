#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"

namespace sinter {
#define GEN_PASS_DEF_MAPLOOPSTOTHREADSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
class ThreadMapper {
public:
  ThreadMapper(func::FuncOp kernel, int64_t block)
      : kernel(kernel), builder(kernel.getContext()), loc(kernel.getLoc()),
        items(kernel->getAttrOfType<IntegerAttr>(kItemsAttribute).getInt()) {
    item.threads = kernel->getAttrOfType<IntegerAttr>(kThreadsAttribute).getInt();
    item.perBlock = block / item.threads;
  }

  void run() {
    scf::ForOp itemLoop = findItemLoop(kernel);
    enterItem(itemLoop);
    SmallVector<scf::ForOp> spread;
    SmallVector<memref::StoreOp> stores;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isSpread(op)) {
        spread.push_back(cast<scf::ForOp>(op));
        return WalkResult::skip();
      }
      if (auto store = dyn_cast<memref::StoreOp>(op))
        stores.push_back(store);
      return WalkResult::advance();
    });
    for (memref::StoreOp store : stores)
      storeOnce(store);
    SmallVector<memref::AllocaOp> buffers(kernel.front().getOps<memref::AllocaOp>());
    llvm::DenseMap<Operation *, int64_t> own;
    for (memref::AllocaOp buffer : buffers)
      if (buffer->hasAttr(kRegistersAttribute))
        own[buffer] = countOwn(buffer);
    for (scf::ForOp loop : spread)
      spreadLoop(loop, item);
    for (memref::AllocaOp buffer : buffers)
      if (auto size = own.find(buffer); size != own.end())
        buffer.getResult().setType(
            MemRefType::get({size->second}, buffer.getType().getElementType()));
      else
        shareBuffer(buffer);
    dropRange();
  }

private:
  Value apply(AffineExpr expr, ValueRange dims) { return emitAffine(builder, loc, expr, dims); }
  AffineExpr dim(unsigned position) { return builder.getAffineDimExpr(position); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  //===--------------------------------------------------------------------===//
  // Items
  //===--------------------------------------------------------------------===//

  /// The body of the loop over items becomes the code of this thread's item.
  void enterItem(scf::ForOp itemLoop) {
    builder.setInsertionPoint(itemLoop);
    Value blockId = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    Value number = blockId;
    if (item.threads > 1 || item.perBlock > 1) {
      Value threadId = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
      item.thread = threadId;
      if (item.perBlock > 1) {
        bool alone = item.threads == 1;
        item.team = alone ? threadId : apply(dim(0).floorDiv(item.threads), threadId);
        item.thread = alone ? nullptr : apply(dim(0) % item.threads, threadId);
        number = apply(dim(0) * item.perBlock + dim(1), {blockId, item.team});
      }
    }
    itemLoop.getInductionVar().replaceAllUsesWith(number);
    Block *body = itemLoop.getBody();
    body->getTerminator()->erase();
    Operation *before = itemLoop;
    if (items % item.perBlock != 0) {
      Value exists =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, constant(items));
      auto guard = scf::IfOp::create(builder, loc, exists);
      before = guard.thenBlock()->getTerminator();
    }
    before->getBlock()->getOperations().splice(before->getIterator(), body->getOperations());
    itemLoop.erase();
  }

  /// Removes the range of items from the kernel's arguments.
  void dropRange() {
    unsigned count = kernel.getNumArguments();
    llvm::BitVector range(count);
    range.set(count - 2, count);
    (void)kernel.eraseArguments(range);
  }

  /// A store that all threads of an item would make is the first one's.
  void storeOnce(memref::StoreOp store) {
    if (item.threads == 1)
      return;
    builder.setInsertionPoint(store);
    Value isFirst =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, item.thread, constant(0));
    auto guard = scf::IfOp::create(builder, loc, isFirst);
    store->moveBefore(guard.thenBlock()->getTerminator());
  }

  /// Elements of a buffer in registers that are this thread's: those of its part of the loops.
  int64_t countOwn(memref::AllocaOp buffer) {
    auto loop = (*buffer->user_begin())->getParentOfType<scf::ForOp>();
    while (!isSpread(loop))
      loop = loop->getParentOfType<scf::ForOp>();
    int64_t lanes = getLanes(loop);
    return llvm::divideCeil(getRange(loop)->getExtent(), item.threads * lanes) * lanes;
  }

  /// A row buffer becomes memory of the block, a row an item.
  void shareBuffer(memref::AllocaOp buffer) {
    builder.setInsertionPoint(buffer);
    int64_t extent = buffer.getType().getNumElements();
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
    // Buffers begin at multiples of 16 bytes.
    auto type = MemRefType::get({item.perBlock * extent}, buffer.getType().getElementType(),
                                MemRefLayoutAttrInterface(), space);
    Value shared = memref::AllocaOp::create(builder, buffer.getLoc(), type);
    for (OpOperand &use : llvm::make_early_inc_range(buffer->getUses())) {
      Operation *user = use.getOwner();
      use.set(shared);
      if (!item.team)
        continue;
      builder.setInsertionPoint(user);
      MutableOperandRange index =
          isa<memref::LoadOp>(user)    ? cast<memref::LoadOp>(user).getIndicesMutable()
          : isa<memref::StoreOp>(user) ? cast<memref::StoreOp>(user).getIndicesMutable()
          : isa<vector::LoadOp>(user)  ? cast<vector::LoadOp>(user).getIndicesMutable()
                                       : cast<vector::StoreOp>(user).getIndicesMutable();
      index.assign(apply(dim(0) * extent + dim(1), {item.team, index[0].get()}));
    }
    buffer.erase();
  }

  func::FuncOp kernel;
  OpBuilder builder;
  Location loc;
  int64_t items;
  ItemThreads item;
};

struct MapLoopsToThreadsPass : sinter::impl::MapLoopsToThreadsPassBase<MapLoopsToThreadsPass> {
  using MapLoopsToThreadsPassBase::MapLoopsToThreadsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation(), code = lookupKernels(module);
    if (!code)
      return markAllAnalysesPreserved();
    for (auto kernel : code.getOps<func::FuncOp>()) {
      if (!findItemLoop(kernel))
        continue;
      auto tensors = module.lookupSymbol<func::FuncOp>(kernel.getName());
      std::optional<CudaLaunch> launch = tensors ? getLaunch(tensors) : std::nullopt;
      if (!launch || !kernel->hasAttr(kThreadsAttribute) || !kernel->hasAttr(kItemsAttribute)) {
        kernel.emitError("expected a kernel whose threads are planned (")
            << kItemsAttribute << ", " << kThreadsAttribute << " and a launch)";
        return signalPassFailure();
      }
      ThreadMapper(kernel, launch->block).run();
    }
  }
};
} // namespace
