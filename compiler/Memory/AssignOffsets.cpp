#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Packer.h"
#include "compiler/Memory/Passes.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_ASSIGNOFFSETSPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct AssignOffsetsPass : sinter::impl::AssignOffsetsPassBase<AssignOffsetsPass> {
  using AssignOffsetsPassBase::AssignOffsetsPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      place(program);
  }

private:
  void place(plan::ProgramOp program) {
    SmallVector<Life> lives = llvm::filter_to_vector(getLives(program), [](const Life &life) {
      return life.slice.getDefiningOp<plan::AllocOp>();
    });
    std::vector<LiveBuffer> buffers;
    for (const Life &life : lives)
      buffers.push_back({getSliceBytes(life.slice), life.first, life.last});
    Packing packing = Packer(getArenaAlignment(program)).pack(buffers);
    for (auto [life, offset] : llvm::zip_equal(lives, packing.offsets)) {
      auto alloc = life.slice.getDefiningOp<plan::AllocOp>();
      OpBuilder builder(alloc);
      life.slice.replaceAllUsesWith(
          plan::SliceOp::create(builder, alloc.getLoc(), alloc.getType(), plan::Space::Arena,
                                offset, alloc.getBytes(), StringAttr(), TypeAttr()));
    }
    for (auto alloc : llvm::make_early_inc_range(program.getBlock()->getOps<plan::AllocOp>()))
      alloc.erase();
    program.setArenaBytes(packing.arenaBytes);
    program.setArenaLowerBound(packing.lowerBound);
    remark::analysis(
        program.getLoc(),
        remark::RemarkOpts::name("Arena").category("sinter-memory").function(program.getSymName()))
        << remark::add("{0} buffers in {1} bytes, the peak of live bytes is {2}", buffers.size(),
                       packing.arenaBytes, packing.lowerBound);
  }
};
} // namespace
