#include "runtime/Cluster/RankReport.h"
#include "runtime/Cluster/Cluster.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
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
    for (auto &[channel, messages] : channels)
      share(channel, messages);
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

  /// Who sends to whom, and over which channel.
  struct Channel {
    size_t sender = 0, receiver = 0;
    uint32_t number = 0;
    auto operator<=>(const Channel &) const = default;
  };
  /// What went over a channel, in order.
  struct Messages {
    std::vector<Visit> sends, receives;
    uint64_t bytes = 0; ///< of each
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
    if (const fb::Send *send = command->action_as_Send()) {
      Messages &messages =
          channels[{visit.rank, findRank(send->stage(), visit.rank), send->channel()}];
      messages.sends.push_back(visit);
      messages.bytes = send->source()->bytes();
      return;
    }
    if (const fb::Receive *receive = command->action_as_Receive()) {
      channels[{findRank(receive->stage(), visit.rank), visit.rank, receive->channel()}]
          .receives.push_back(visit);
      return;
    }
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

  size_t findRank(uint32_t stage, size_t rank) const {
    return findRankOfStage(executable.getRoot(), stage, rank);
  }

  size_t nameGroup(const fb::Collective &collective) {
    std::string name;
    for (uint32_t axis : *collective.axes())
      name += (name.empty() ? "" : ",") + executable.getRoot().grid()->Get(axis)->name()->str();
    return findGroupNamed(name);
  }

  size_t findGroupNamed(const std::string &name) {
    auto found = std::ranges::find(report.groups, name);
    auto index = static_cast<size_t>(found - report.groups.begin());
    if (found == report.groups.end())
      report.groups.push_back(name);
    return index;
  }

  /// Adds what a rank did in a command of a group: it waited, then moved bytes.
  void add(const Visit &visit, size_t group, int64_t wait, uint64_t sentBytes) {
    const TraceEvent &event = eventOf(visit);
    RankShare &rank = report.ranks[visit.rank];
    rank.transferNs.resize(std::max(rank.transferNs.size(), group + 1));
    rank.sentBytes.resize(rank.transferNs.size());
    wait = std::clamp<int64_t>(wait, 0, event.end - event.begin);
    rank.waitNs += wait;
    rank.transferNs[group] += event.end - event.begin - wait;
    rank.sentBytes[group] += sentBytes;
  }

  /// Who receives waits until the other begins to send.
  void share(const Channel &channel, const Messages &messages) {
    size_t group = findGroupNamed(kPipelineAxis);
    for (const Visit &send : messages.sends)
      add(send, group, /*wait=*/0, messages.bytes);
    for (size_t i = 0; i < messages.receives.size(); ++i) {
      const Visit &receive = messages.receives[i];
      if (i >= messages.sends.size()) {
        add(receive, group, /*wait=*/0, /*sentBytes=*/0);
        continue;
      }
      const Visit &send = messages.sends[i];
      int64_t wait = eventOf(send).begin - eventOf(receive).begin;
      add(receive, group, wait, /*sentBytes=*/0);
      if (wait > 0)
        report.arrows.push_back({channel.sender, send.event, channel.receiver, receive.event});
    }
  }

  void share(const Meeting &meeting) {
    auto beginOf = [&](const Visit &visit) { return eventOf(visit).begin; };
    Visit last = *std::ranges::max_element(meeting.visits, {}, beginOf);
    for (const Visit &visit : meeting.visits) {
      add(visit, meeting.group, beginOf(last) - beginOf(visit), meeting.sentBytes);
      if (visit.rank != last.rank)
        report.arrows.push_back({last.rank, last.event, visit.rank, visit.event});
    }
  }

  std::span<const Trace> traces;
  const Executable &executable;
  RankReport report;
  std::map<std::pair<size_t, std::vector<size_t>>, size_t> counts; ///< by rank and group
  std::map<std::vector<size_t>, std::vector<Meeting>> groups;
  std::map<Channel, Messages> channels;
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
