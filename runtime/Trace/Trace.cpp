#include "runtime/Trace/Trace.h"
#include "runtime/Base/AtomicFile.h"
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

namespace sinter::runtime {
namespace {

const fb::Program &programOf(const TraceEvent &event, const Executable &executable) {
  return *executable.root().programs()->Get(event.program);
}

const fb::Command &commandOf(const TraceEvent &event, const Executable &executable) {
  return *programOf(event, executable).commands()->Get(event.command);
}

std::string text(const flatbuffers::String *string) { return string ? string->str() : ""; }

const char *kindOf(const fb::Command &command) { return fb::EnumNameAction(command.action_type()); }

std::string labelOf(const fb::Command &command) {
  std::string label = text(command.label());
  return label.empty() ? kindOf(command) : label;
}

std::string stageOf(const fb::Command &command) {
  std::string name = fb::EnumNameStage(command.stage());
  for (char &letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

/// The least time that a command could have taken, in ns.
double rooflineNs(const TraceEvent &event, const fb::Command &command, const Limits &limits) {
  return std::min(1e9 * leastSeconds(workOf(command), limits), double(event.end - event.begin));
}

} // namespace

int64_t measuredTime(const Trace &trace) {
  int64_t total = 0;
  for (const TraceEvent &event : trace.events())
    if (event.command == TraceEvent::wholeRun)
      total += event.end - event.begin;
  return total;
}

std::vector<ProfileRow> profile(const Trace &trace, const Executable &executable,
                                const Limits &limits, ProfileBy by) {
  std::map<std::tuple<fb::Stage, std::string, std::string>, ProfileRow> rows;
  int64_t attributed = 0;
  uint64_t runs = 0;
  for (const TraceEvent &event : trace.events()) {
    if (event.command == TraceEvent::wholeRun) {
      ++runs;
      continue;
    }
    const fb::Command &command = commandOf(event, executable);
    fb::Stage stage = by.stage ? command.stage() : fb::Stage::Forward;
    std::string label = by.label ? labelOf(command) : "";
    std::string layer = by.layer ? text(command.layer()) : "";
    ProfileRow &row = rows[{stage, label, layer}];
    row.stage = by.stage ? stageOf(command) : "";
    row.label = std::move(label);
    row.layer = std::move(layer);
    ++row.count;
    row.measuredNs += event.end - event.begin;
    row.rooflineNs += rooflineNs(event, command, limits);
    row.flops += command.flops();
    row.bytes += command.bytes();
    attributed += event.end - event.begin;
  }
  std::vector<std::pair<fb::Stage, ProfileRow>> sorted;
  for (auto &[key, row] : rows)
    sorted.push_back({std::get<0>(key), std::move(row)});
  std::sort(sorted.begin(), sorted.end(), [](const auto &left, const auto &right) {
    const auto &[stageA, a] = left;
    const auto &[stageB, b] = right;
    return std::tie(stageA, b.measuredNs, a.label, a.layer) <
           std::tie(stageB, a.measuredNs, b.label, b.layer);
  });
  std::vector<ProfileRow> result;
  for (auto &[stage, row] : sorted)
    result.push_back(std::move(row));
  ProfileRow gap;
  gap.label = unattributedLabel;
  gap.count = runs;
  gap.measuredNs = measuredTime(trace) - attributed;
  result.push_back(std::move(gap));
  return result;
}

namespace {

/// Events of Chrome's trace format, all of one thread; times in us since the first event. Slices
/// nest by time: a run of a program, the layers in it, their commands.
class ChromeTrace {
public:
  ChromeTrace(const Trace &trace, const Executable &executable, const Limits &limits)
      : executable(executable), limits(limits) {
    for (const TraceEvent &event : trace.events())
      origin = std::min(origin, event.begin);
    describe("process_name", executable.name());
    describe("thread_name", "steps");
    // A run is noted when it has ended, after its commands.
    std::span<const TraceEvent> rest = trace.events();
    while (!rest.empty()) {
      size_t commands = 0;
      while (commands < rest.size() && rest[commands].command != TraceEvent::wholeRun)
        ++commands;
      bool ended = commands < rest.size();
      if (ended)
        addSlice(programOf(rest[commands], executable).name()->str(), "program",
                 rest[commands].begin, rest[commands].end);
      addCommands(rest.first(commands));
      rest = rest.subspan(commands + ended);
    }
  }

  /// Labels come from the executable and may hold anything; bad UTF-8 becomes U+FFFD.
  std::string print() const {
    json root = {{"displayTimeUnit", "ns"}, {"traceEvents", events}};
    return root.dump(-1, ' ', false, json::error_handler_t::replace);
  }

private:
  using json = nlohmann::json;

  void addCommands(std::span<const TraceEvent> run) {
    while (!run.empty()) {
      const fb::Command &first = commandOf(run.front(), executable);
      std::string layer = text(first.layer()), stage = stageOf(first);
      size_t count = 1;
      auto isOfLayer = [&](const fb::Command &command) {
        return text(command.layer()) == layer && command.stage() == first.stage();
      };
      while (count < run.size() && isOfLayer(commandOf(run[count], executable)))
        ++count;
      if (!layer.empty())
        addSlice(layer, stage, run.front().begin, run[count - 1].end);
      for (const TraceEvent &event : run.first(count))
        addCommand(event);
      run = run.subspan(count);
    }
  }

  void addCommand(const TraceEvent &event) {
    const fb::Command &command = commandOf(event, executable);
    addSlice(labelOf(command), kindOf(command), event.begin, event.end);
    events.back()["args"] = {{"layer", text(command.layer())},
                             {"stage", stageOf(command)},
                             {"command", event.command},
                             {"roofline_us", rooflineNs(event, command, limits) / 1000},
                             {"flops", command.flops()},
                             {"bytes", command.bytes()}};
    // Operations and bytes per ns are 10^9 of them per second.
    if (double duration = double(event.end - event.begin)) {
      addCounter("GFLOP/s", event.begin, double(command.flops()) / duration);
      addCounter("GB/s", event.begin, double(command.bytes()) / duration);
    }
  }

  void describe(const char *what, const std::string &name) {
    add({{"name", what}, {"ph", "M"}, {"args", {{"name", name}}}});
  }
  void addSlice(const std::string &name, const std::string &category, int64_t begin, int64_t end) {
    add({{"name", name},
         {"cat", category},
         {"ph", "X"},
         {"ts", double(begin - origin) / 1000},
         {"dur", double(end - begin) / 1000}});
  }
  void addCounter(const char *name, int64_t time, double value) {
    add({{"name", name},
         {"ph", "C"},
         {"ts", double(time - origin) / 1000},
         {"args", {{name, value}}}});
  }
  void add(json event) {
    event["pid"] = 1;
    event["tid"] = 1;
    events.push_back(std::move(event));
  }

  const Executable &executable;
  Limits limits;
  int64_t origin = std::numeric_limits<int64_t>::max();
  json events = json::array();
};

} // namespace

Expected<void> writeChromeTrace(const std::string &path, const Trace &trace,
                                const Executable &executable, const Limits &limits) {
  std::string content = ChromeTrace(trace, executable, limits).print();
  return writeFileAtomically(path, std::as_bytes(std::span(content)));
}

} // namespace sinter::runtime
