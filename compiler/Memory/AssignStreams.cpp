#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "compiler/Memory/Streams.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace sinter {
#define GEN_PASS_DEF_ASSIGNSTREAMSPASS
#include "compiler/Memory/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// What moves bytes keeps one core of a processor busy, and next to nothing of a GPU.
static StreamCommand describe(plan::CommandInterface command, TargetAttr target) {
  StreamCommand result;
  result.ranges = getRanges(command);
  result.ns = command.getPredictedNs();
  result.communicates = communicates(command);
  double blocks = result.communicates ? !target.isGpu() : double(command.getBlocks());
  result.share = std::min(1.0, blocks / double(target.getCores()));
  return result;
}

/// "column_sum (24), matmul (12)": those that left stream 0.
static std::string describeMoved(ArrayRef<plan::CommandInterface> commands,
                                 ArrayRef<unsigned> streams) {
  llvm::MapVector<StringRef, unsigned> counts;
  for (auto [command, stream] : llvm::zip_equal(commands, streams))
    if (plan::CommandInterface moved = command; stream != 0)
      ++counts[moved.getLabel()];
  std::string text;
  for (auto [label, count] : counts)
    text += (text.empty() ? "" : ", ") + (label.empty() ? "unnamed" : label.str()) + " (" +
            std::to_string(count) + ")";
  return text;
}

namespace {
struct AssignStreamsPass : sinter::impl::AssignStreamsPassBase<AssignStreamsPass> {
  using AssignStreamsPassBase::AssignStreamsPassBase;

  void runOnOperation() override {
    TargetAttr target = TargetAttr::lookup(getOperation());
    if (!target)
      return;
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (!runtime::isPreprocess(program.getSymName().str()) && // which runs command by command
          hasStreams(program, target))
        assign(program, target);
  }

private:
  void assign(plan::ProgramOp program, TargetAttr target) {
    SmallVector<plan::CommandInterface> commands = getCommands(program);
    std::vector<StreamCommand> described;
    for (plan::CommandInterface command : commands)
      described.push_back(describe(command, target));
    StreamCosts costs{static_cast<unsigned>(target.getMostStreams()),
                      static_cast<double>(target.getLaunchNs()),
                      always ? 0.0 : static_cast<double>(target.getEventNs())};
    CommandLists hazards = findHazards(described);
    StreamPlan plan;
    plan.streams = assignStreams(described, hazards, costs);
    if (llvm::all_of(plan.streams, [](unsigned stream) { return stream == 0; }))
      return;
    plan.waits = deriveWaits(plan.streams, hazards);
    double one = 0, several = predictNs(described, plan, costs);
    for (const StreamCommand &command : described)
      one += command.ns;
    unsigned count = *llvm::max_element(plan.streams) + 1;
    std::string moved = describeMoved(commands, plan.streams);
    remark::RemarkOpts options = remark::RemarkOpts::name("Streams")
                                     .category("sinter-memory")
                                     .function(program.getSymName());
    // The prediction is not as good as to tell less apart.
    constexpr double kLeastGain = 0.01;
    if (!always && several > (1 - kLeastGain) * one) {
      remark::missed(program.getLoc(), options)
          << remark::reason("{0} streams with {1} events would take {2}, one {3}; beside others "
                            "were {4}",
                            count, plan.countEvents(), formatNs(several), formatNs(one), moved)
          << remark::metric(kGainNs, one - several);
      return;
    }
    for (auto [i, command] : llvm::enumerate(commands))
      command.setOrder(plan.streams[i],
                       SmallVector<int64_t>(plan.waits[i].begin(), plan.waits[i].end()));
    remark::passed(program.getLoc(), options)
        << remark::add("{0} streams with {1} events: {2}, one after the other {3}; beside others "
                       "are {4}",
                       count, plan.countEvents(), formatNs(several), formatNs(one), moved)
        << remark::metric(kGainNs, one - several);
  }
};
} // namespace
