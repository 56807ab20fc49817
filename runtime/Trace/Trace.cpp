#include "runtime/Trace/TraceCommands.h"
#include <map>
#include <tuple>

namespace sinter::runtime {
int64_t measuredTime(const Trace &trace) {
  int64_t total = 0;
  for (const TraceEvent &event : trace.getEvents())
    if (event.command == TraceEvent::wholeRun)
      total += event.end - event.begin;
  return total;
}

std::vector<ProfileRow> profile(const Trace &trace, const Executable &executable,
                                const Limits &limits, ProfileBy by) {
  std::map<std::tuple<fb::Stage, std::string, std::string>, ProfileRow> rows;
  int64_t attributed = 0;
  uint64_t runs = 0;
  for (const TraceEvent &event : trace.getEvents()) {
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

} // namespace sinter::runtime
