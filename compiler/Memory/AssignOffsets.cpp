#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Packer.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace sinter {
#define GEN_PASS_DEF_ASSIGNOFFSETSPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Lets buffers live so many commands longer, as far as no more bytes than `limit` live at once.
static std::vector<LiveBuffer> lengthen(std::vector<LiveBuffer> buffers, int64_t longer,
                                        int64_t limit, int64_t alignment) {
  int64_t end = 0;
  for (const LiveBuffer &buffer : buffers)
    end = std::max(end, buffer.last + 1);
  std::vector<int64_t> live(end);
  auto bytesOf = [&](const LiveBuffer &buffer) {
    return static_cast<int64_t>(llvm::alignTo(buffer.bytes, alignment));
  };
  for (const LiveBuffer &buffer : buffers)
    for (int64_t time = buffer.first; time <= buffer.last; ++time)
      live[time] += bytesOf(buffer);
  for (; longer > 0; --longer)
    for (LiveBuffer &buffer : buffers)
      if (int64_t next = buffer.last + 1; next < end && live[next] + bytesOf(buffer) <= limit) {
        live[next] += bytesOf(buffer);
        buffer.last = next;
      }
  return buffers;
}

/// Places buffers. Where commands may run beside others, memory is used again as late as that costs
/// none, since who writes it waits for those who used it before. Lives that filled an arena to its
/// peak all the time would leave the packer no room, so three quarters of it are filled.
static Packing pack(const std::vector<LiveBuffer> &buffers, int64_t alignment, bool streams) {
  Packing packing = Packer(alignment).pack(buffers);
  int64_t limit = packing.lowerBound / 4 * 3;
  for (int64_t longer : {32, 8}) {
    if (!streams)
      break;
    Packing late = Packer(alignment).pack(lengthen(buffers, longer, limit, alignment));
    if (late.arenaBytes <= packing.arenaBytes)
      return {late.offsets, late.arenaBytes, packing.lowerBound};
  }
  return packing;
}

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
    TargetAttr target = TargetAttr::lookup(program);
    Packing packing =
        pack(buffers, getArenaAlignment(program), target && hasStreams(program, target));
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
