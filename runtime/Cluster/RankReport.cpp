#include "runtime/Cluster/RankReport.h"
#include "runtime/Cluster/Cluster.h"
#include "runtime/Collective/Grid.h"
#include <algorithm>
#include <map>

namespace sinter::runtime {
namespace {

/// A command of a rank's trace.
struct Visit {
  size_t rank, event;
};

/// Goes through the traces of all ranks.
class Reporter {
public:
  Reporter(std::span<const Trace> traces, const Executable &executable)
      : traces(traces), executable(executable) {}

  RankReport run() {
    report.ranks.resize(traces.size());
    for (size_t rank = 0; rank < traces.size(); ++rank)
      for (size_t i = 0; i < traces[rank].getEvents().size(); ++i)
        visit({rank, i});
    for (auto &[ranks, meetings] : groups)
      for (const Meeting &meeting : meetings)
        if (meeting.visits.size() == ranks.size())
          share(meeting);
    for (RankShare &rank : report.ranks) {
      rank.transferNs.resize(report.groups.size());
      rank.sentBytes.resize(report.groups.size());
    }
    auto slowest = std::ranges::max_element(report.ranks, {}, &RankShare::computeNs);
    report.slowest = static_cast<size_t>(slowest - report.ranks.begin());
    return std::move(report);
  }

private:
  /// The ranks of a group in one collective.
  struct Meeting {
    std::vector<Visit> visits;
    size_t group = 0; ///< in the report
    uint64_t sentBytes = 0;
  };

  const TraceEvent &eventOf(const Visit &visit) const {
    return traces[visit.rank].getEvents()[visit.event];
  }

  void visit(const Visit &visit) {
    const TraceEvent &event = eventOf(visit);
    if (event.command == TraceEvent::wholeRun)
      return;
    const fb::Command *command =
        executable.getRoot().programs()->Get(event.program)->commands()->Get(event.command);
    const fb::Collective *collective = command->action_as_Collective();
    RankGroup group;
    if (collective)
      group = findGroup(executable.getRoot(),
                        {collective->axes()->data(), collective->axes()->size()}, visit.rank);
    if (group.size() < 2 || collective->kind() == fb::CollectiveKind::AllSlice) {
      report.ranks[visit.rank].computeNs += event.end - event.begin;
      return;
    }
    // All of a group run the same collectives in the same order.
    size_t number = counts[{visit.rank, group.ranks}]++;
    std::vector<Meeting> &meetings = groups[group.ranks];
    if (number >= meetings.size())
      meetings.resize(number + 1);
    uint64_t bytes = std::max(collective->source()->bytes(), collective->out()->bytes());
    meetings[number].visits.push_back(visit);
    meetings[number].group = nameGroup(*collective);
    meetings[number].sentBytes = countSentBytes(collective->kind(), group.size(), bytes);
  }

  size_t nameGroup(const fb::Collective &collective) {
    std::string name;
    for (uint32_t axis : *collective.axes())
      name += (name.empty() ? "" : ",") + executable.getRoot().grid()->Get(axis)->name()->str();
    auto found = std::ranges::find(report.groups, name);
    auto index = static_cast<size_t>(found - report.groups.begin());
    if (found == report.groups.end())
      report.groups.push_back(name);
    return index;
  }

  void share(const Meeting &meeting) {
    auto beginOf = [&](const Visit &visit) { return eventOf(visit).begin; };
    Visit last = *std::ranges::max_element(meeting.visits, {}, beginOf);
    for (const Visit &visit : meeting.visits) {
      const TraceEvent &event = eventOf(visit);
      RankShare &rank = report.ranks[visit.rank];
      rank.transferNs.resize(std::max(rank.transferNs.size(), meeting.group + 1));
      rank.sentBytes.resize(rank.transferNs.size());
      int64_t wait = std::clamp<int64_t>(beginOf(last) - event.begin, 0, event.end - event.begin);
      rank.waitNs += wait;
      rank.transferNs[meeting.group] += event.end - event.begin - wait;
      rank.sentBytes[meeting.group] += meeting.sentBytes;
      if (visit.rank != last.rank)
        report.arrows.push_back({last.rank, last.event, visit.rank, visit.event});
    }
  }

  std::span<const Trace> traces;
  const Executable &executable;
  RankReport report;
  std::map<std::pair<size_t, std::vector<size_t>>, size_t> counts; ///< by rank and group
  std::map<std::vector<size_t>, std::vector<Meeting>> groups;
};

/// `own` of every rank, by rank. @pre the same size on each
template <typename T>
Expected<std::vector<T>> gather(Communicator &communicator, std::span<const T> own) {
  std::vector<T> all(own.size() * communicator.size());
  SINTER_CHECK(communicator.allGather(makeWholeGroup(communicator), std::as_bytes(own),
                                      std::as_writable_bytes(std::span(all))));
  return all;
}

} // namespace

RankReport reportRanks(std::span<const Trace> ranks, const Executable &executable) {
  return Reporter(ranks, executable).run();
}

Expected<std::vector<Trace>> gatherTraces(Communicator &communicator, const Trace &own,
                                          bool oneClock) {
  SINTER_CHECK(communicator.barrier());
  struct Header {
    int64_t now;
    uint64_t events;
  };
  Header header = {Trace::now(), own.getEvents().size()};
  SINTER_TRY(std::vector<Header> headers,
             gather(communicator, std::span<const Header>(&header, 1)));
  size_t most = std::ranges::max_element(headers, {}, &Header::events)->events;
  std::vector<TraceEvent> events = own.getEvents();
  events.resize(most);
  SINTER_TRY(std::vector<TraceEvent> all,
             gather(communicator, std::span<const TraceEvent>(events)));
  std::vector<Trace> traces;
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    int64_t shift = oneClock ? 0 : headers[0].now - headers[rank].now;
    Trace &trace = traces.emplace_back(headers[rank].events);
    for (TraceEvent event : std::span(all).subspan(rank * most, headers[rank].events)) {
      event.begin += shift;
      event.end += shift;
      trace.add(event);
    }
  }
  return traces;
}

} // namespace sinter::runtime
