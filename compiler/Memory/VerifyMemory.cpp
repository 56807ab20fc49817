#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace sinter {
#define GEN_PASS_DEF_VERIFYMEMORYPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyMemoryPass : sinter::impl::VerifyMemoryPassBase<VerifyMemoryPass> {
  using VerifyMemoryPassBase::VerifyMemoryPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (failed(verifySlices(program)) || failed(verifyDisjoint(program)) ||
          failed(verifyStreams(program)))
        return signalPassFailure();
  }

private:
  LogicalResult verifySlices(plan::ProgramOp program) {
    if (!program.getArenaBytes() || !program.getArenaLowerBound() ||
        *program.getArenaBytes() < *program.getArenaLowerBound())
      return program.emitError(
          "expected arena_bytes to be at least arena_lower_bound after Memory");
    int64_t alignment = getArenaAlignment(program);
    for (Operation &op : *program.getBlock()) {
      if (isa<plan::AllocOp>(op))
        return op.emitError("expected every slice to have a place after Memory");
      auto slice = dyn_cast<plan::SliceOp>(op);
      if (!slice || slice.getSpace() != plan::Space::Arena)
        continue;
      if (slice.getOffset() % alignment != 0)
        return op.emitError("expected an offset that is a multiple of ") << alignment;
      if (slice.getOffset() + slice.getBytes() > *program.getArenaBytes())
        return op.emitError("expected the slice to end within the arena's ")
               << *program.getArenaBytes() << " bytes";
    }
    return success();
  }

  LogicalResult verifyDisjoint(plan::ProgramOp program) {
    SmallVector<Life> lives = getLives(program);
    llvm::sort(lives, [](const Life &a, const Life &b) {
      return a.first != b.first
                 ? a.first < b.first
                 : a.slice != b.slice &&
                       a.slice.getDefiningOp()->isBeforeInBlock(b.slice.getDefiningOp());
    });
    // What is alive does not overlap, so that a slice overlaps with a neighbour or with none.
    std::map<int64_t, plan::SliceOp> alive;  // by offset
    std::multimap<int64_t, int64_t> offsets; // of what is alive, by last command
    for (const Life &life : lives) {
      while (!offsets.empty() && offsets.begin()->first < life.first) {
        alive.erase(offsets.begin()->second);
        offsets.erase(offsets.begin());
      }
      auto slice = life.slice.getDefiningOp<plan::SliceOp>();
      if (slice.getBytes() == 0)
        continue;
      auto next = alive.lower_bound(slice.getOffset());
      plan::SliceOp other;
      if (next != alive.end() && next->first < getEnd(slice))
        other = next->second;
      else if (next != alive.begin() && slice.getOffset() < getEnd(std::prev(next)->second))
        other = std::prev(next)->second;
      if (other)
        return (slice.emitError("expected slices that live at once not to overlap; both live at "
                                "command ")
                << life.first)
                   .attachNote(other.getLoc())
               << "the other slice";
      alive.insert({slice.getOffset(), slice});
      offsets.insert({life.last, slice.getOffset()});
    }
    return success();
  }

  LogicalResult verifyStreams(plan::ProgramOp program) {
    SmallVector<plan::CommandInterface> commands = getCommands(program);
    llvm::MapVector<int64_t, SmallVector<size_t>> streams; // their commands
    // Of each command how many of each stream's first ones are done when it begins, and with it.
    std::vector<llvm::SmallDenseMap<int64_t, size_t, 4>> done;
    std::vector<std::vector<ByteRange>> ranges;
    for (auto [i, command] : llvm::enumerate(commands)) {
      int64_t own = command.getStream();
      auto &before = done.emplace_back();
      auto follow = [&](size_t other) {
        for (auto [stream, count] : done[other])
          before[stream] = std::max(before[stream], count);
      };
      if (!streams[own].empty())
        follow(streams[own].back());
      for (int64_t other : command.getWaits()) {
        if (other < 0 || other >= static_cast<int64_t>(i) || commands[other].getStream() == own)
          return command.emitError(
                     "expected it to wait for earlier commands of other streams, not for ")
                 << other;
        follow(other);
      }
      ranges.push_back(getRanges(command));
      for (const auto &[stream, others] : streams)
        for (size_t other : ArrayRef(others).drop_front(before.lookup(stream)))
          if (conflict(ranges[other], ranges[i]))
            return (command.emitError("expected it to wait, directly or not, for command ")
                    << other << ": one writes what the other reads or writes")
                       .attachNote(commands[other].getLoc())
                   << "this command";
      streams[own].push_back(i);
      before[own] = streams[own].size();
    }
    return success();
  }

  static bool conflict(ArrayRef<ByteRange> a, ArrayRef<ByteRange> b) {
    for (const ByteRange &one : a)
      for (const ByteRange &other : b)
        if ((one.writes || other.writes) && one.space == other.space &&
            std::max(one.begin, other.begin) < std::min(one.end, other.end))
          return true;
    return false;
  }

  static int64_t getEnd(plan::SliceOp slice) { return slice.getOffset() + slice.getBytes(); }
};
} // namespace
