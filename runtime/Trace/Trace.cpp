#include "runtime/Trace/Trace.h"
#include "runtime/Base/AtomicFile.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
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

} // namespace

int64_t measuredTime(const Trace &trace) {
  int64_t total = 0;
  for (const TraceEvent &event : trace.events())
    if (event.command == TraceEvent::wholeRun)
      total += event.end - event.begin;
  return total;
}

std::vector<ProfileRow> profile(const Trace &trace, const Executable &executable, ProfileBy by) {
  std::map<std::pair<std::string, std::string>, ProfileRow> rows;
  int64_t attributed = 0;
  uint64_t runs = 0;
  for (const TraceEvent &event : trace.events()) {
    if (event.command == TraceEvent::wholeRun) {
      ++runs;
      continue;
    }
    const fb::Command &command = commandOf(event, executable);
    std::string label = by == ProfileBy::Layer ? "" : labelOf(command);
    std::string layer = by == ProfileBy::Label ? "" : text(command.layer());
    ProfileRow &row = rows[{label, layer}];
    row.label = std::move(label);
    row.layer = std::move(layer);
    ++row.count;
    row.measuredNs += event.end - event.begin;
    row.predictedNs += command.predicted_ns();
    row.flops += command.flops();
    row.bytes += command.bytes();
    attributed += event.end - event.begin;
  }
  std::vector<ProfileRow> result;
  for (auto &[key, row] : rows)
    result.push_back(std::move(row));
  std::sort(result.begin(), result.end(), [](const ProfileRow &a, const ProfileRow &b) {
    return std::tie(b.measuredNs, a.label, a.layer) < std::tie(a.measuredNs, b.label, b.layer);
  });
  ProfileRow gap;
  gap.label = unattributedLabel;
  gap.count = runs;
  gap.measuredNs = measuredTime(trace) - attributed;
  result.push_back(std::move(gap));
  return result;
}

Expected<void> writeChromeTrace(const std::string &path, const Trace &trace,
                                const Executable &executable) {
  using nlohmann::json;
  json events = json::array();
  auto name = [&](int thread, const char *label) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", thread},
                      {"args", {{"name", label}}}});
  };
  name(1, "programs");
  name(2, "commands");
  int64_t origin = trace.events().empty() ? 0 : trace.events().front().begin;
  for (const TraceEvent &event : trace.events())
    origin = std::min(origin, event.begin);
  for (const TraceEvent &event : trace.events()) {
    json entry = {{"ph", "X"},
                  {"pid", 1},
                  {"ts", double(event.begin - origin) / 1000},
                  {"dur", double(event.end - event.begin) / 1000}};
    if (event.command == TraceEvent::wholeRun) {
      entry["tid"] = 1;
      entry["cat"] = "program";
      entry["name"] = programOf(event, executable).name()->str();
    } else {
      const fb::Command &command = commandOf(event, executable);
      entry["tid"] = 2;
      entry["cat"] = kindOf(command);
      entry["name"] = labelOf(command);
      entry["args"] = {{"layer", text(command.layer())},
                       {"command", event.command},
                       {"roofline_us", double(command.predicted_ns()) / 1000},
                       {"flops", command.flops()},
                       {"bytes", command.bytes()}};
    }
    events.push_back(std::move(entry));
  }
  json root = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Labels come from the executable and may hold anything; bad UTF-8 becomes U+FFFD.
  std::string content = root.dump(-1, ' ', false, json::error_handler_t::replace);
  return writeFileAtomically(path, std::as_bytes(std::span(content)));
}

} // namespace sinter::runtime
