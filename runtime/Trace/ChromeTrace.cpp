#include "runtime/Trace/ChromeTrace.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Json.h"
#include "runtime/Trace/TraceCommands.h"
#include <limits>
#include <nlohmann/json.hpp>

namespace sinter::runtime {
namespace {

/// Events of Chrome's trace format, a process of one thread for each rank; times in us since the
/// first event. Slices nest by time: a run of a program, the layers in it, their commands.
class ChromeTrace {
public:
  ChromeTrace(std::span<const Trace> ranks, const Executable &executable, const Limits &limits)
      : ranks(ranks), executable(executable), limits(limits) {
    for (const Trace &trace : ranks)
      for (const TraceEvent &event : trace.getEvents())
        origin = std::min(origin, event.begin);
    for (rank = 0; rank < ranks.size(); ++rank)
      addRank();
  }

  /// An arrow leaves its rank when that comes, and ends when the other one has what it waited for.
  void addArrow(const TraceArrow &arrow) {
    const TraceEvent &from = ranks[arrow.fromRank].getEvents()[arrow.fromEvent];
    const TraceEvent &to = ranks[arrow.toRank].getEvents()[arrow.toEvent];
    size_t id = arrows++;
    auto addEnd = [&](const char *phase, size_t of, int64_t time) {
      rank = of;
      add({{"name", "message"},
           {"cat", "message"},
           {"ph", phase},
           {"id", id},
           {"bp", "e"},
           {"ts", double(time - origin) / 1000}});
    };
    addEnd("s", arrow.fromRank, from.begin);
    // Within the slice that it ends in, which is the event that encloses it.
    addEnd("f", arrow.toRank, std::max(to.begin, from.begin + (to.end - from.begin) / 2));
  }

  /// Labels come from the executable and may hold anything; bad UTF-8 becomes U+FFFD.
  std::string print() const {
    json root = {{"displayTimeUnit", "ns"}, {"traceEvents", events}};
    return writeJson(root);
  }

private:
  using json = nlohmann::json;

  /// All of one rank's trace.
  void addRank() {
    std::string name = executable.getName();
    describe("process_name",
             ranks.size() == 1 ? name : "rank " + std::to_string(rank) + ": " + name);
    describe("thread_name", "steps");
    // A run is noted when it has ended, after its commands.
    std::span<const TraceEvent> rest = ranks[rank].getEvents();
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
    event["pid"] = rank + 1;
    event["tid"] = 1;
    events.push_back(std::move(event));
  }

  std::span<const Trace> ranks;
  const Executable &executable;
  Limits limits;
  size_t rank = 0; ///< whose events are added
  size_t arrows = 0;
  int64_t origin = std::numeric_limits<int64_t>::max();
  json events = json::array();
};

} // namespace

Expected<void> writeChromeTrace(const std::string &path, std::span<const Trace> ranks,
                                std::span<const TraceArrow> arrows, const Executable &executable,
                                const Limits &limits) {
  ChromeTrace trace(ranks, executable, limits);
  for (const TraceArrow &arrow : arrows)
    trace.addArrow(arrow);
  std::string content = trace.print();
  return writeFileAtomically(path, std::as_bytes(std::span(content)));
}

Expected<void> writeChromeTrace(const std::string &path, const Trace &trace,
                                const Executable &executable, const Limits &limits) {
  return writeChromeTrace(path, std::span(&trace, 1), {}, executable, limits);
}

} // namespace sinter::runtime
