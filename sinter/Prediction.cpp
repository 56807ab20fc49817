#include "sinter/Prediction.h"
#include "compiler/Analysis/Machine.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Trace/Limits.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace sinter;
using namespace sinter::runtime;

namespace {
/// The times of commands on a device of which the compiler only knows another.
class CommandTimes {
public:
  static Expected<CommandTimes> make(const CompileOptions &compiled, const ClusterDevice &device) {
    SINTER_TRY(Machine machine, describeMachine(compiled.getTarget(), compiled.cores));
    CommandTimes times;
    times.launchSeconds = machine.launchSeconds;
    times.assumed = machine.rates;
    times.flops = machine.rates.flops / device.flops;
    times.narrowFlops = machine.rates.narrowFlops / device.narrowFlops;
    times.bytes = machine.rates.memoryBytes / device.memoryRate;
    times.efficiency = device.efficiency;
    return times;
  }

  double getSeconds(const fb::Command &command) const {
    Work work = workOf(command);
    double predicted = 1e-9 * double(command.predicted_ns());
    double busy = std::max(predicted - launchSeconds, 0.0);
    Work moved = work;
    moved.flops = moved.narrowFlops = moved.byteFlops = moved.nibbleFlops = 0;
    double memory = leastSeconds(moved, assumed);
    // A description of a cluster says nothing of bytes: f32 stands for them.
    bool narrow = work.narrowFlops > work.flops;
    // Rounded to nanoseconds, what the memory bounds takes just as long as its bytes.
    constexpr double kRounding = 0.02;
    double computing = memory < (1 - kRounding) * busy ? busy : 0;
    double slower = std::max(computing * (narrow ? narrowFlops : flops), memory * bytes);
    return (slower + std::min(predicted, launchSeconds)) / efficiency;
  }

private:
  Limits assumed; ///< what the cost model reckons with
  double launchSeconds = 0;
  double flops = 1, narrowFlops = 1, bytes = 1; ///< how much longer they take on the device
  double efficiency = 1;
};

/// Makes tasks of programs.
class TaskBuilder {
public:
  TaskBuilder(const Executable &executable, const CommandTimes &times)
      : executable(executable), times(times) {}

  TaskList build(const fb::Program &program) {
    std::set<uint32_t> awaited; // commands that others wait for
    for (const fb::Command *command : *program.commands())
      if (command->waits())
        awaited.insert(command->waits()->begin(), command->waits()->end());
    TaskList tasks;
    std::vector<uint32_t> indices; // of the tasks that commands became
    for (const fb::Command *command : *program.commands()) {
      Task task = makeTask(*command);
      if (command->waits())
        for (uint32_t i : *command->waits())
          task.waits.push_back(indices[i]);
      // What is computed one after the other is one task.
      auto before = static_cast<uint32_t>(indices.size()) - 1;
      auto computes = [](const Task &each) { return !each.transfer && !each.message; };
      bool joins = !tasks.empty() && computes(task) && computes(tasks.back()) &&
                   task.waits.empty() && task.stream == tasks.back().stream &&
                   task.name == tasks.back().name && !awaited.contains(before);
      if (joins)
        tasks.back().seconds += task.seconds;
      else
        tasks.push_back(std::move(task));
      indices.push_back(static_cast<uint32_t>(tasks.size() - 1));
    }
    return tasks;
  }

  std::vector<RankGroup> findGroups(size_t rank) const {
    std::vector<RankGroup> groups;
    for (const auto &axes : groupAxes)
      groups.push_back(findGroup(executable.getRoot(), axes, rank));
    return groups;
  }

  /// What groups are along: "data", "data,tensor".
  std::vector<std::string> nameGroups() const {
    std::vector<std::string> groups;
    for (const auto &axes : groupAxes) {
      std::string &name = groups.emplace_back();
      for (uint32_t axis : axes)
        name += (name.empty() ? "" : ",") + executable.getRoot().grid()->Get(axis)->name()->str();
    }
    return groups;
  }

  std::vector<std::string> takeNames() { return std::move(names); }

private:
  Task makeTask(const fb::Command &command) {
    Task task;
    task.stream = command.stream();
    task.name = intern(names, describe(command));
    if (const fb::Collective *collective = command.action_as_Collective()) {
      std::vector<uint32_t> axes(collective->axes()->begin(), collective->axes()->end());
      task.transfer = {collective->kind(), intern(groupAxes, axes),
                       std::max(collective->source()->bytes(), collective->out()->bytes())};
    } else if (const fb::Send *send = command.action_as_Send()) {
      task.message = {false, send->stage(), send->channel(), getPipelineGroup(),
                      send->source()->bytes()};
    } else if (const fb::Receive *receive = command.action_as_Receive()) {
      task.message = {true, receive->stage(), receive->channel(), getPipelineGroup(),
                      receive->out()->bytes()};
    } else {
      task.seconds = times.getSeconds(command);
    }
    return task;
  }

  /// What messages between stages are counted with.
  uint32_t getPipelineGroup() {
    uint32_t axis = 0;
    while (executable.getRoot().grid()->Get(axis)->name()->string_view() != kPipelineAxis)
      ++axis;
    return intern(groupAxes, std::vector<uint32_t>{axis});
  }

  static std::string describe(const fb::Command &command) {
    std::string stage = fb::EnumNameStage(command.stage());
    std::ranges::transform(stage, stage.begin(), [](unsigned char c) { return std::tolower(c); });
    std::string layer = command.layer() ? command.layer()->str() : "";
    return layer.empty() ? stage : layer + ", " + stage;
  }

  template <typename T> static uint32_t intern(std::vector<T> &known, const T &value) {
    auto found = std::ranges::find(known, value);
    auto index = static_cast<uint32_t>(found - known.begin());
    if (found == known.end())
      known.push_back(value);
    return index;
  }

  const Executable &executable;
  const CommandTimes &times;
  std::vector<std::string> names;
  std::vector<std::vector<uint32_t>> groupAxes;
};
} // namespace

/// Ranks that take the same times.
static std::vector<std::vector<size_t>> findAlike(const StepTime &step) {
  std::map<std::vector<double>, std::vector<size_t>> found;
  for (size_t rank = 0; rank < step.ranks.size(); ++rank) {
    const RankTime &time = step.ranks[rank];
    std::vector<double> key = {time.compute, time.wait};
    key.insert(key.end(), time.exposed.begin(), time.exposed.end());
    for (double &seconds : key)
      seconds = std::round(seconds * 1e9);
    found[key].push_back(rank);
  }
  std::vector<std::vector<size_t>> alike;
  for (auto &[key, ranks] : found)
    alike.push_back(std::move(ranks));
  std::ranges::sort(alike);
  return alike;
}

Expected<StepPrediction> sinter::predictStep(const Executable &executable,
                                             const std::vector<ProgramRuns> &runs,
                                             const CompileOptions &compiled,
                                             const Cluster &cluster) {
  size_t count = countRanks(executable.getRoot());
  if (count > cluster.size())
    return fail("`cluster` " + cluster.name,
                "it has " + std::to_string(cluster.size()) + " devices, and `grid` " +
                    describeGrid(executable.getRoot()) + " needs " + std::to_string(count),
                "give a larger one, or a smaller `grid`");
  SINTER_TRY(CommandTimes times, CommandTimes::make(compiled, cluster.device));
  TaskBuilder builder(executable, times);
  std::map<const fb::Program *, TaskList> lists;
  for (const ProgramRuns &own : runs)
    for (const fb::Program *program : own)
      if (!lists.contains(program))
        lists[program] = builder.build(*program);
  std::vector<SimulatedRank> ranks(count);
  for (size_t rank = 0; rank < count; ++rank) {
    for (const fb::Program *program : runs[rank])
      ranks[rank].lists.push_back(&lists[program]);
    ranks[rank].groups = builder.findGroups(rank);
    ranks[rank].beginsInOrder = true;
    for (uint32_t stage = 0; stage < countStages(executable.getRoot()); ++stage)
      ranks[rank].stages.push_back(findRankOfStage(executable.getRoot(), stage, rank));
  }
  StepPrediction prediction;
  SINTER_TRY(prediction.time, simulate(cluster, ranks, [&](const StepTime &step) {
               prediction.alike = findAlike(step);
               std::vector<size_t> recorded;
               for (const std::vector<size_t> &group : prediction.alike)
                 recorded.push_back(group.front());
               return recorded;
             }));
  prediction.groups = builder.nameGroups();
  prediction.names = builder.takeNames();
  return prediction;
}

/// "0 to 7", "0, 2, 4".
static std::string printRanks(const std::vector<size_t> &ranks) {
  if (ranks.size() > 1 && ranks.back() - ranks.front() + 1 == ranks.size())
    return std::to_string(ranks.front()) + " to " + std::to_string(ranks.back());
  std::string text;
  for (size_t rank : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

static nlohmann::json describeTimeline(const StepPrediction &prediction) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::vector<size_t> &ranks : prediction.alike) {
    nlohmann::json spans = nlohmann::json::array();
    for (const Span &span : prediction.time.ranks[ranks.front()].spans) {
      static constexpr const char *kKinds[] = {"compute", "transfer", "wait"};
      bool computes = span.kind == SpanKind::Compute;
      spans.push_back({std::round(span.begin * 1e9) / 1e3, std::round(span.end * 1e9) / 1e3,
                       kKinds[static_cast<size_t>(span.kind)], span.name,
                       computes ? "" : prediction.groups[span.group]});
    }
    rows.push_back({{"ranks", printRanks(ranks)}, {"spans", std::move(spans)}});
  }
  return {{"names", prediction.names}, {"rows", std::move(rows)}};
}

nlohmann::json sinter::describePrediction(const StepPrediction &prediction,
                                          const Cluster &cluster) {
  const std::vector<RankTime> &ranks = prediction.time.ranks;
  auto slowest = std::ranges::max_element(ranks, {}, &RankTime::compute);
  nlohmann::json exposed = nlohmann::json::object(), sent = nlohmann::json::object();
  for (size_t i = 0; i < prediction.groups.size(); ++i) {
    exposed[prediction.groups[i]] = slowest->exposed[i] * 1e3;
    sent[prediction.groups[i]] = slowest->sent[i];
  }
  return {{"cluster", cluster.name},
          {"source", cluster.source},
          {"ranks", ranks.size()},
          {"step_ms", prediction.time.seconds * 1e3},
          {"compute_ms", slowest->compute * 1e3},
          {"wait_ms", slowest->wait * 1e3},
          {"exposed_ms", std::move(exposed)},
          {"sent_bytes", std::move(sent)},
          {"slowest_rank", slowest - ranks.begin()},
          {"timeline", describeTimeline(prediction)}};
}
