#include "compiler/Memory/Liveness.h"
#include "dialects/Sinter/SinterDialect.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;

SmallVector<plan::CommandInterface> sinter::getCommands(plan::ProgramOp program) {
  return llvm::to_vector(program.getBlock()->getOps<plan::CommandInterface>());
}

int64_t sinter::getSliceBytes(Value slice) {
  if (auto alloc = slice.getDefiningOp<plan::AllocOp>())
    return alloc.getBytes();
  return slice.getDefiningOp<plan::SliceOp>().getBytes();
}

std::vector<ByteRange> sinter::getRanges(plan::CommandInterface command) {
  std::vector<ByteRange> ranges;
  auto add = [&](ArrayRef<Value> slices, bool writes) {
    for (Value value : slices) {
      auto slice = value.getDefiningOp<plan::SliceOp>();
      // Every tensor of the checkpoint is a space of its own, which nobody writes.
      if (slice.getSpace() != plan::Space::Checkpoint)
        ranges.push_back({static_cast<unsigned>(slice.getSpace()),
                          static_cast<int64_t>(slice.getOffset()),
                          static_cast<int64_t>(slice.getOffset() + slice.getBytes()), writes});
    }
  };
  add(command.getReads(), /*writes=*/false);
  add(command.getWrites(), /*writes=*/true);
  return ranges;
}

bool sinter::communicates(plan::CommandInterface command) {
  auto collective = dyn_cast<plan::CollectiveOp>(command.getOperation());
  return collective && collective.getKind() != plan::CollectiveKind::AllSlice;
}

SmallVector<unsigned> sinter::findAxisGroups(plan::ProgramOp program) {
  TargetAttr target = TargetAttr::lookup(program);
  GridAttr grid = GridAttr::lookup(program);
  bool apart = target && target.isGpu() && !(grid && grid.getSize(runtime::kPipelineAxis) > 1);
  llvm::SmallMapVector<Attribute, unsigned, 4> known;
  SmallVector<unsigned> groups;
  for (plan::CommandInterface command : getCommands(program)) {
    unsigned group = 0;
    if (communicates(command)) {
      Attribute axes = cast<plan::CollectiveOp>(command.getOperation()).getAxes();
      group = apart ? known.try_emplace(axes, known.size() + 1).first->second : 1;
    }
    groups.push_back(group);
  }
  return groups;
}

bool sinter::hasStreams(plan::ProgramOp program, TargetAttr target) {
  return target.getMostStreams() > 1 || llvm::any_of(getCommands(program), communicates);
}

int64_t sinter::getArenaAlignment(plan::ProgramOp program) {
  constexpr int64_t kLine = 64; // where nothing says what is compiled for
  TargetAttr target = TargetAttr::lookup(program);
  return target ? target.getArenaAlignment() : kLine;
}

SmallVector<Life> sinter::getLives(plan::ProgramOp program) {
  llvm::DenseMap<Operation *, int64_t> timeOf;
  for (auto [time, command] : llvm::enumerate(getCommands(program)))
    timeOf[command] = time;
  SmallVector<Life> lives;
  for (Operation &op : *program.getBlock()) {
    auto slice = dyn_cast<plan::SliceOp>(op);
    if (!isa<plan::AllocOp>(op) && !(slice && slice.getSpace() == plan::Space::Arena))
      continue;
    if (op.use_empty())
      continue;
    Life life{op.getResult(0), INT64_MAX, -1};
    for (Operation *user : op.getUsers()) {
      // An option of a choice may run when the choice does.
      int64_t time = timeOf.at(program.getBlock()->findAncestorOpInBlock(*user));
      life.first = std::min(life.first, time);
      life.last = std::max(life.last, time);
    }
    lives.push_back(life);
  }
  return lives;
}
