#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
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

/// Whether two commands must keep their order.
static bool conflict(plan::CommandInterface a, plan::CommandInterface b) {
  auto touches = [](ArrayRef<Value> some, ArrayRef<Value> others) {
    return llvm::any_of(some, [&](Value one) {
      return llvm::any_of(others, [&](Value other) { return overlap(one, other); });
    });
  };
  SmallVector<Value> writesA = a.getWrites(), writesB = b.getWrites();
  return touches(writesA, b.getReads()) || touches(writesA, writesB) ||
         touches(a.getReads(), writesB);
}

namespace {

/// A program's list of commands, and the bytes that live at each.
class CommandList {
public:
  explicit CommandList(plan::ProgramOp program)
      : commands(getCommands(program)), live(commands.size()) {
    for (auto [index, command] : llvm::enumerate(commands))
      places[command] = index;
    for (const Life &life : getLives(program))
      count(life.slice, getSliceBytes(life.slice));
    peak = *llvm::max_element(live);
  }

  size_t size() const { return commands.size(); }
  plan::CommandInterface operator[](size_t index) const { return commands[index]; }

  /// The first command behind `index` that must follow it; size() where none must.
  size_t findFollower(size_t index) const {
    size_t other = index + 1;
    while (other < size() && !conflict(commands[index], commands[other]))
      ++other;
    return other;
  }

  /// What the commands between two take that compute.
  int64_t nsBetween(size_t first, size_t last) const {
    int64_t ns = 0;
    for (size_t i = first + 1; i < last; ++i)
      if (plan::CommandInterface command = commands[i]; !communicates(command))
        ns += command.getPredictedNs();
    return ns;
  }

  /// Moves a command to another place. Where more bytes would live than ever did, leaves it.
  bool move(size_t from, size_t to) {
    if (shift(from, to))
      return true;
    shift(to, from);
    return false;
  }

private:
  /// Whether no more bytes live afterwards than before all moves.
  bool shift(size_t from, size_t to) {
    llvm::SmallSetVector<Value, 8> own;
    for (Value operand : commands[from]->getOperands())
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
      places[commands[i]] = i;
    // What lives at a place between two others lives at both.
    live[to] =
        std::min(to > 0 ? live[to - 1] : INT64_MAX, to + 1 < size() ? live[to + 1] : INT64_MAX);
    bool fits = true;
    for (Value slice : own)
      fits &= count(slice, getSliceBytes(slice));
    put(to);
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

  /// Puts a command's op, and before it what it needs, where the list has it.
  void put(size_t index) {
    Operation *op = commands[index];
    if (index + 1 < size())
      op->moveBefore(commands[index + 1]);
    else
      op->moveAfter(commands[index - 1]);
    for (Value operand : op->getOperands())
      if (Operation *slice = operand.getDefiningOp(); !slice->isBeforeInBlock(op))
        slice->moveBefore(op);
  }

  SmallVector<plan::CommandInterface> commands;
  llvm::DenseMap<Operation *, size_t> places; ///< of the commands
  SmallVector<int64_t> live;                  ///< bytes of allocs, at the most, by command
  int64_t peak = INT64_MAX;                   ///< before all moves
};

struct AdvanceCollectivesPass : sinter::impl::AdvanceCollectivesPassBase<AdvanceCollectivesPass> {
  using AdvanceCollectivesPassBase::AdvanceCollectivesPassBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (program.getSymName() != SinterDialect::kPrepareEntry &&
          llvm::any_of(getCommands(program), communicates))
        spread(program);
  }

private:
  void spread(plan::ProgramOp program) {
    CommandList list(program);
    int64_t all = 0, hidden = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (communicates(list[i]))
        advance(list, i);
    for (size_t i = list.size(); i-- > 0;)
      if (communicates(list[i]))
        delayFollowers(list, i);
    for (size_t i = 0; i < list.size(); ++i)
      if (communicates(list[i])) {
        int64_t own = list[i].getPredictedNs();
        all += own;
        hidden += std::min(own, list.nsBetween(i, list.findFollower(i)));
      }
    remark::analysis(program.getLoc(), remark::RemarkOpts::name("Collectives")
                                           .category("sinter-memory")
                                           .function(program.getSymName()))
        << remark::add("of {0} ns of collectives other commands may hide {1}", all, hidden);
  }

  /// Up to where what is between it and who needs it takes as long as it does. Collectives stay in
  /// their order, which all ranks have.
  void advance(CommandList &list, size_t index) {
    size_t follower = list.findFollower(index), to = index;
    int64_t left = list[index].getPredictedNs() - list.nsBetween(index, follower);
    while (to > 0 && left > 0 && !communicates(list[to - 1]) &&
           !conflict(list[to - 1], list[index]))
      left -= list[--to].getPredictedNs();
    for (; to < index; ++to)
      if (list.move(index, to)) {
        ++numAdvanced;
        return;
      }
  }

  /// The same with who needs it, down.
  void delayFollowers(CommandList &list, size_t index) {
    size_t follower = list.findFollower(index), to = follower;
    if (follower == list.size() || communicates(list[follower]) ||
        isa<plan::AlternativesOp>(list[follower]))
      return;
    int64_t left = list[index].getPredictedNs() - list.nsBetween(index, follower);
    while (to + 1 < list.size() && left > 0 && !conflict(list[follower], list[to + 1]))
      if (++to; !communicates(list[to]))
        left -= list[to].getPredictedNs();
    for (; to > follower; --to)
      if (list.move(follower, to)) {
        ++numDelayed;
        return;
      }
  }
};
} // namespace
