#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Memory/Liveness.h"
#include "compiler/Memory/Passes.h"
#include "compiler/Memory/Streams.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/ExecutableVerifier.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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
  result.stream = communicates(command);
  double blocks = result.stream != 0 ? !target.isGpu() : double(command.getBlocks());
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

/// "data,tensor": the axes of a group of collectives.
static std::string describeAxes(plan::CommandInterface command) {
  auto collective = cast<plan::CollectiveOp>(command.getOperation());
  return llvm::join(collective.getAxes().getAsValueRange<StringAttr>(), ",");
}

namespace {
/// Streams, waits, and the time that all takes with them.
struct PredictedStreams : StreamPlan {
  double ns = 0;
};

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
    PredictedStreams plan = predict(described, hazards, costs);
    if (llvm::all_of(plan.streams, [](unsigned stream) { return stream == 0; }))
      return;
    separateAxes(program, described, hazards, costs, plan);
    double one = 0, several = plan.ns;
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

  static PredictedStreams predict(ArrayRef<StreamCommand> commands, const CommandLists &hazards,
                                  const StreamCosts &costs) {
    PredictedStreams plan;
    plan.streams = assignStreams(commands, hazards, costs);
    plan.waits = deriveWaits(plan.streams, hazards);
    plan.ns = predictNs(commands, plan, costs);
    return plan;
  }

  /// Gives a stream of their own to the collectives of each group of axes, but for the first one,
  /// with which the program is predicted to take less time by more than an event.
  void separateAxes(plan::ProgramOp program, std::vector<StreamCommand> &described,
                    const CommandLists &hazards, const StreamCosts &costs,
                    PredictedStreams &plan) const {
    SmallVector<unsigned> groups = findAxisGroups(program);
    SmallVector<plan::CommandInterface> commands = getCommands(program);
    unsigned last = 1, most = runtime::kMostStreams - costs.streams; // of those of collectives
    for (unsigned group = 2; group <= *llvm::max_element(groups) && last < most; ++group) {
      std::vector<StreamCommand> apart = described;
      for (auto [command, own] : llvm::zip_equal(apart, groups))
        if (own == group)
          command.stream = last + 1;
      PredictedStreams separate = predict(apart, hazards, costs);
      bool gains = always || plan.ns - separate.ns > costs.eventNs;
      std::string axes = describeAxes(commands[llvm::find(groups, group) - groups.begin()]);
      remark::RemarkOpts options = remark::RemarkOpts::name("StreamOfAxes")
                                       .category("sinter-memory")
                                       .function(program.getSymName());
      if (gains)
        remark::passed(program.getLoc(), options)
            << remark::add("collectives along {0} have a stream of their own: {1}, in that of "
                           "others {2}",
                           axes, formatNs(separate.ns), formatNs(plan.ns))
            << remark::metric(kGainNs, plan.ns - separate.ns);
      else
        remark::missed(program.getLoc(), options)
            << remark::reason("with a stream of their own for collectives along {0} it would take "
                              "{1}, in that of others {2}",
                              axes, formatNs(separate.ns), formatNs(plan.ns))
            << remark::metric(kGainNs, plan.ns - separate.ns);
      if (gains) {
        described = std::move(apart);
        plan = std::move(separate);
        ++last;
      }
    }
  }
};
} // namespace
