#include "runtime/Trace/Trace.h"
#include "runtime/Base/AtomicFile.h"
#include <algorithm>
#include <cctype>
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

std::string stageOf(const fb::Command &command) {
  std::string name = fb::EnumNameStage(command.stage());
  for (char &letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
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
    row.predictedNs += command.predicted_ns();
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
      entry["args"] = {
          {"layer", text(command.layer())}, {"stage", stageOf(command)},
          {"command", event.command},       {"roofline_us", double(command.predicted_ns()) / 1000},
          {"flops", command.flops()},       {"bytes", command.bytes()}};
    }
    events.push_back(std::move(entry));
  }
  json root = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Labels come from the executable and may hold anything; bad UTF-8 becomes U+FFFD.
  std::string content = root.dump(-1, ' ', false, json::error_handler_t::replace);
  return writeFileAtomically(path, std::as_bytes(std::span(content)));
}

} // namespace sinter::runtime
