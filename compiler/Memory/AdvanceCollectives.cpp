#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {
#define GEN_PASS_DEF_ADVANCECOLLECTIVESPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static bool overlap(Value a, Value b) {
  if (a == b)
    return true;
  auto one = a.getDefiningOp<plan::SliceOp>(), other = b.getDefiningOp<plan::SliceOp>();
  return one && other && one.getSpace() == other.getSpace() &&
         one.getSpace() != plan::Space::Checkpoint &&
         std::max(one.getOffset(), other.getOffset()) <
             std::min(one.getOffset() + one.getBytes(), other.getOffset() + other.getBytes());
}

namespace {

/// A command, and what it reads and writes.
struct ListedCommand {
  plan::CommandInterface op;
  SmallVector<Value> reads, writes;
  int64_t ns;
  unsigned group; ///< of axes along which it moves bytes, 0 where it computes

  /// Whether two commands must keep their order.
  bool conflicts(const ListedCommand &other) const {
    auto touch = [](ArrayRef<Value> some, ArrayRef<Value> others) {
      return llvm::any_of(some, [&](Value one) {
        return llvm::any_of(others, [&](Value each) { return overlap(one, each); });
      });
    };
    return touch(writes, other.reads) || touch(writes, other.writes) || touch(reads, other.writes);
  }
};

/// A program's list of commands, and the bytes that live at each.
class CommandList {
public:
  explicit CommandList(plan::ProgramOp program) {
    for (auto [command, group] : llvm::zip_equal(getCommands(program), findAxisGroups(program))) {
      places[command] = commands.size();
      commands.push_back(
          {command, command.getReads(), command.getWrites(), command.getPredictedNs(), group});
    }
    live.resize(commands.size());
    for (const Life &life : getLives(program))
      count(life.slice, getSliceBytes(life.slice));
    peak = *llvm::max_element(live);
  }

  size_t size() const { return commands.size(); }
  const ListedCommand &operator[](size_t index) const { return commands[index]; }

  /// The first command behind a collective that must follow it, and what those between both take
  /// that compute; no further than they take as long as it does.
  struct Follower {
    size_t index;
    int64_t hidden = 0;
  };
  Follower findFollower(size_t index) const {
    Follower found{index + 1};
    for (; found.index < size() && found.hidden < commands[index].ns &&
           !commands[index].conflicts(commands[found.index]);
         ++found.index)
      if (commands[found.index].group == 0)
        found.hidden += commands[found.index].ns;
    return found;
  }

  /// Moves a command to another place. Where more bytes would live than ever did, leaves it.
  bool move(size_t from, size_t to) {
    bool fits = shift(from, to);
    if (fits)
      put(to);
    else
      shift(to, from);
    return fits;
  }

private:
  /// Gives a command another place in the list alone. Whether no more bytes live afterwards than
  /// before all moves.
  bool shift(size_t from, size_t to) {
    llvm::SmallSetVector<Value, 8> own;
    for (Value operand : commands[from].op->getOperands())
      if (isPlacedByMemory(operand))
        own.insert(operand);
    for (Value slice : own)
      count(slice, -getSliceBytes(slice));
    auto [first, last] = std::minmax(from, to);
    auto rotate = [&, first = first, last = last](auto begin) {
      auto middle = from < to ? begin + first + 1 : begin + last;
      std::rotate(begin + first, middle, begin + last + 1);
    };
    rotate(commands.begin());
    rotate(live.begin());
    for (size_t i = first; i <= last; ++i)
      places[commands[i].op] = i;
    // What lives at a place between two others lives at both.
    live[to] =
        std::min(to > 0 ? live[to - 1] : INT64_MAX, to + 1 < size() ? live[to + 1] : INT64_MAX);
    bool fits = true;
    for (Value slice : own)
      fits &= count(slice, getSliceBytes(slice));
    return fits;
  }

  static bool isPlacedByMemory(Value slice) {
    return slice.getDefiningOp<plan::AllocOp>() != nullptr;
  }

  /// Adds to what lives at each command from the first user of a slice to the last one; whether
  /// that is nowhere more than the peak.
  bool count(Value slice, int64_t bytes) {
    size_t first = size(), last = 0;
    for (Operation *user : slice.getUsers()) {
      size_t place = places.at(slice.getParentBlock()->findAncestorOpInBlock(*user));
      first = std::min(first, place);
      last = std::max(last, place);
    }
    bool fits = true;
    for (size_t i = first; i <= last; ++i)
      fits &= (live[i] += bytes) <= peak;
    return fits;
  }

  bool isFirstUser(Value slice, size_t index) const {
    return llvm::all_of(slice.getUsers(), [&](Operation *user) {
      return places.at(slice.getParentBlock()->findAncestorOpInBlock(*user)) >= index;
    });
  }

  /// Puts a command's op, and before it what nothing before it needs, where the list has it. (Which
  /// op of a block stands before another one is not asked: after a move that numbers all of them.)
  void put(size_t index) {
    Operation *op = commands[index].op;
    if (index + 1 < size())
      op->moveBefore(commands[index + 1].op);
    else
      op->moveAfter(commands[index - 1].op);
    for (Value operand : op->getOperands())
      if (isFirstUser(operand, index))
        operand.getDefiningOp()->moveBefore(op);
  }

  std::vector<ListedCommand> commands;
  llvm::DenseMap<Operation *, size_t> places; ///< of the commands
  SmallVector<int64_t> live;                  ///< bytes of allocs, at the most, by command
  int64_t peak = INT64_MAX;                   ///< before all moves
};

struct AdvanceCollectivesPass : sinter::impl::AdvanceCollectivesPassBase<AdvanceCollectivesPass> {
  using AdvanceCollectivesPassBase::AdvanceCollectivesPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (!runtime::isPreprocess(program.getSymName().str()) &&
          llvm::any_of(getCommands(program), communicates))
        spread(program);
  }

private:
  void spread(plan::ProgramOp program) {
    CommandList list(program);
    int64_t all = 0, hidden = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].group != 0)
        advance(list, i);
    for (size_t i = list.size(); i-- > 0;)
      if (list[i].group != 0)
        delayFollowers(list, i);
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].group != 0) {
        all += list[i].ns;
        hidden += std::min(list[i].ns, list.findFollower(i).hidden);
      }
    remark::analysis(program.getLoc(), remark::RemarkOpts::name("Collectives")
                                           .category("sinter-memory")
                                           .function(program.getSymName()))
        << remark::add("of {0} ns of collectives other commands may hide {1}", all, hidden);
  }

  /// Up to where what computes between it and who needs it takes as long as it does. Those of one
  /// group stay in their order; those of others may have streams of their own, and are passed.
  void advance(CommandList &list, size_t index) {
    size_t to = index;
    int64_t left = list[index].ns - list.findFollower(index).hidden;
    while (to > 0 && left > 0 && list[to - 1].group != list[index].group &&
           !list[to - 1].conflicts(list[index]))
      if (--to; list[to].group == 0)
        left -= list[to].ns;
    for (; to < index; ++to)
      if (list.move(index, to)) {
        ++numAdvanced;
        return;
      }
  }

  /// The same with who needs it, down.
  void delayFollowers(CommandList &list, size_t index) {
    auto [follower, hidden] = list.findFollower(index);
    int64_t left = list[index].ns - hidden;
    if (follower == list.size() || left <= 0 || list[follower].group != 0 ||
        isa<plan::AlternativesOp>(list[follower].op))
      return;
    size_t to = follower;
    while (to + 1 < list.size() && left > 0 && !list[follower].conflicts(list[to + 1]))
      if (++to; list[to].group == 0)
        left -= list[to].ns;
    for (; to > follower; --to)
      if (list.move(follower, to)) {
        ++numDelayed;
        return;
      }
  }
};
} // namespace
