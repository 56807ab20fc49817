#include "runtime/Cluster/Simulation.h"
#include "runtime/Cluster/AlikeRanks.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace sinter::runtime {
namespace {

/// A list of tasks, in parts.
struct TaskOrder {
  std::vector<std::vector<uint32_t>> streams; ///< the tasks of each
  std::vector<uint32_t> transfers;            ///< collectives that send something
};

/// Whether a task is a collective that sends something.
bool sends(const Task &task) {
  return task.transfer && task.transfer->kind != fb::CollectiveKind::AllSlice;
}

TaskOrder orderTasks(const TaskList &list) {
  TaskOrder order;
  order.streams.resize(1);
  for (uint32_t i = 0; i < list.size(); ++i) {
    order.streams.resize(std::max<size_t>(order.streams.size(), list[i].stream + 1));
    order.streams[list[i].stream].push_back(i);
    if (sends(list[i]))
      order.transfers.push_back(i);
  }
  return order;
}

struct Arrival {
  size_t rank;
  uint32_t task;
  double time;
};

/// Where the ranks of one group meet for the collectives of one of their streams. A rank comes to
/// the next meeting when the one before is over, so there is one at a time.
struct SimulatedMeeting {
  std::vector<Arrival> arrivals;
};

/// What lies between ranks: an index of a link, and one more where bytes come from it.
struct Route {
  GroupSpread spread;
  std::vector<uint32_t> links;
  /// What its transfers take alone: a step has few that differ.
  std::map<std::pair<fb::CollectiveKind, uint64_t>, TransferTime> times = {};
};

/// A group of ranks, and all groups that are alike.
struct Group {
  const RankGroup *ranks;
  std::vector<size_t> players; ///< that come to its meetings
  Route route;
  std::map<uint32_t, SimulatedMeeting> meetings; ///< by stream
};

/// Messages of one channel from one rank to another, which come in order.
struct Channel {
  std::optional<Route> route = {}; ///< since the first one was sent
  std::deque<double> sent = {};    ///< when, of those that nobody receives
  std::optional<Arrival> receiver = {};
  uint32_t stream = 0; ///< of the receiver
};

/// Bytes on their way: of a collective, or of a message.
struct Flow {
  const Route *route = nullptr;
  const std::vector<double> *shares = nullptr; ///< of the links that it keeps busy alone, by level
  double begin = 0;
  double left = 0;                    ///< seconds for which its bytes move, alone
  double slowdown = 0;                ///< 0 where they do not move yet
  double since = 0;                   ///< when that began
  uint64_t version = 0;               ///< of when it ends
  std::vector<Arrival> arrivals = {}; ///< that wait for it
  uint32_t stream = 0;                ///< of the arrivals
};

/// When a flow begins to move bytes, or ends, unless that has changed since.
struct Event {
  double time;
  uint64_t number; ///< of those of one time the first one comes first
  uint32_t flow;
  uint64_t version;

  bool operator>(const Event &other) const {
    return std::tie(time, number) > std::tie(other.time, other.number);
  }
};

struct StreamState {
  size_t next = 0; ///< of its tasks in the list
  double time = 0; ///< when the task before was done
  bool isBlocked = false;
};

struct RankState {
  size_t list = 0; ///< that it is at
  const TaskOrder *order = nullptr;
  double begin = 0;
  size_t left = 0;          ///< tasks of the list that are not done
  std::vector<double> ends; ///< of the list's tasks; negative where that is not known yet
  std::vector<StreamState> streams;
  size_t transfers = 0;    ///< of the list that have begun
  double lastTransfer = 0; ///< when the last of them did
  std::vector<Group *> groups;
  std::vector<Span> spans; ///< of the list's tasks, of all streams
  RankTime time;           ///< of the lists before, with their spans joined
  double known = 0;        ///< seconds of them in which it computed or moved bytes
};

/// What a rank was at where it was at several things: computing, else moving bytes, else waiting.
/// Of transfers it is the one that ends first.
void flatten(std::vector<Span> &spans) {
  auto overlap = [](const Span &a, const Span &b) { return b.begin < a.end; };
  if (std::ranges::adjacent_find(spans, overlap) == spans.end())
    return;
  struct Edge {
    double time;
    bool begins;
    size_t span;
  };
  std::vector<Edge> edges;
  for (size_t i = 0; i < spans.size(); ++i) {
    edges.push_back({spans[i].begin, true, i});
    edges.push_back({spans[i].end, false, i});
  }
  std::ranges::sort(edges, {}, &Edge::time);
  auto order = [&](size_t i) {
    bool moves = spans[i].kind == SpanKind::Transfer;
    return std::tuple(moves ? spans[i].end : 0, moves ? spans[i].group : 0, i);
  };
  std::array<std::vector<size_t>, 3> active; // by kind; as many as there are streams at most
  std::vector<Span> flat;
  double last = 0;
  for (const Edge &edge : edges) {
    auto kind = std::ranges::find_if(active, [](const auto &of) { return !of.empty(); });
    if (edge.time > last && kind != active.end()) {
      Span span = spans[std::ranges::min(*kind, {}, order)];
      span.begin = last;
      span.end = edge.time;
      flat.push_back(span);
    }
    last = edge.time;
    auto &of = active[static_cast<size_t>(spans[edge.span].kind)];
    if (edge.begins)
      of.push_back(edge.span);
    else
      std::erase(of, edge.span);
  }
  spans = std::move(flat);
}

/// Adds a span, to the last one where that is alike and goes on in it.
void join(std::vector<Span> &joined, const Span &span) {
  bool alike = !joined.empty() && joined.back().end == span.begin &&
               joined.back().kind == span.kind && joined.back().name == span.name &&
               joined.back().group == span.group;
  if (alike)
    joined.back().end = span.end;
  else
    joined.push_back(span);
}

/// Of ranks that are alike (AlikeRanks.h) one plays for all.
class Player {
public:
  Player(const Cluster &cluster, std::span<const SimulatedRank> ranks)
      : cluster(cluster), ranks(ranks), players(findAlikeRanks(cluster, ranks)),
        states(ranks.size()) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (players[i] != i)
        continue;
      for (const TaskList *list : ranks[i].lists)
        if (!orders.contains(list))
          orders[list] = orderTasks(*list);
      for (uint32_t group = 0; group < ranks[i].groups.size(); ++group)
        states[i].groups.push_back(findGroup(i, group));
      states[i].time.exposed.resize(ranks[i].groups.size());
      states[i].time.sent.resize(ranks[i].groups.size());
      beginList(i);
      ready.push_back(i);
    }
  }

  Expected<void> play() {
    while (!ready.empty() || !events.empty()) {
      if (ready.empty()) {
        handleEvent();
        continue;
      }
      size_t rank = ready.front();
      ready.pop_front();
      SINTER_CHECK(advance(rank));
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (states[players[rank]].list < ranks[rank].lists.size())
        return describeDeadlock(players[rank]);
    return {};
  }

  StepTime describe(const ChooseRanks &recorded) {
    StepTime step;
    for (const RankState &state : states)
      step.seconds = std::max(step.seconds, state.begin);
    std::vector<std::vector<Span>> spans;
    for (RankState &state : states) {
      spans.push_back(std::exchange(state.time.spans, {}));
      state.time.wait = step.seconds - state.known;
    }
    for (size_t player : players)
      step.ranks.push_back(states[player].time);
    if (recorded)
      for (size_t rank : recorded(step))
        step.ranks[rank].spans = spans[players[rank]];
    return step;
  }

private:
  Group *findGroup(size_t rank, uint32_t index) {
    const RankGroup &group = ranks[rank].groups[index];
    std::vector<size_t> own;
    for (size_t member : group.ranks)
      own.push_back(players[member]);
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
    auto [found, isNew] = groups.try_emplace({index, own});
    if (isNew)
      found->second = {&group, own, findRoute(group, own, index), {}};
    return &found->second;
  }

  /// All of a group send to each other, and get as much.
  Route findRoute(const RankGroup &group, std::span<const size_t> own, uint32_t index) {
    Route route{findSpread(cluster, group), {}};
    for (size_t rank : own)
      for (const Link &link : listLinks(cluster, ranks[rank].groups[index], rank)) {
        uint32_t out = findLink(link);
        route.links.insert(route.links.end(), {out, out + 1});
      }
    return route;
  }

  /// As in a gather of both, of which each gets as much, but one way: out of who plays for the
  /// sender, and to who plays for the receiver from the one that sends to it.
  Route findRoute(size_t from, uint32_t stage) {
    auto pair = [&](size_t rank) { return RankGroup{{rank, ranks[rank].stages[stage]}}; };
    size_t to = players[ranks[from].stages[stage]], sender = 0;
    while (players[sender] != from || ranks[sender].stages[stage] != to)
      ++sender;
    Route route{findSpread(cluster, pair(from)), {}};
    for (const Link &link : listLinks(cluster, pair(from), from))
      route.links.push_back(findLink(link));
    for (const Link &link : listLinks(cluster, pair(sender), to))
      route.links.push_back(findLink(link) + 1);
    return route;
  }

  uint32_t findLink(const Link &link) {
    auto [found, isNew] = linkNumbers.try_emplace(link, uint32_t(levels.size()));
    if (isNew) {
      levels.insert(levels.end(), 2, link.level);
      flowsOn.resize(levels.size());
    }
    return found->second;
  }

  /// Begins with the next list that has tasks.
  void beginList(size_t rank) {
    RankState &state = states[rank];
    const std::vector<const TaskList *> &lists = ranks[rank].lists;
    while (state.list < lists.size() && lists[state.list]->empty())
      ++state.list;
    if (state.list == lists.size())
      return;
    state.order = &orders.at(lists[state.list]);
    state.left = lists[state.list]->size();
    state.ends.assign(state.left, -1);
    state.streams.assign(state.order->streams.size(), {0, state.begin, false});
    state.transfers = 0;
    state.lastTransfer = state.begin;
  }

  /// Goes on until all streams wait for other ranks, or all is done.
  Expected<void> advance(size_t rank) {
    RankState &state = states[rank];
    for (bool moves = true; moves;) {
      moves = false;
      for (uint32_t stream = 0; stream < state.streams.size(); ++stream)
        while (const Task *task = findReady(rank, stream)) {
          moves = true;
          SINTER_CHECK(run(rank, stream, *task));
        }
      if (state.left == 0 && state.list < ranks[rank].lists.size()) {
        state.begin = *std::ranges::max_element(state.ends);
        settle(state);
        ++state.list;
        beginList(rank);
        moves = true;
      }
    }
    return {};
  }

  /// Adds up what the tasks of a list took: all of a step's would be millions.
  static void settle(RankState &state) {
    flatten(state.spans);
    RankTime &time = state.time;
    for (const Span &span : state.spans) {
      double seconds = span.end - span.begin;
      if (span.kind != SpanKind::Wait) {
        (span.kind == SpanKind::Compute ? time.compute : time.exposed[span.group]) += seconds;
        state.known += seconds;
      }
      join(time.spans, span);
    }
    state.spans.clear();
  }

  /// The next task of a stream, if it can begin.
  const Task *findReady(size_t rank, uint32_t stream) {
    RankState &state = states[rank];
    if (state.list == ranks[rank].lists.size())
      return nullptr;
    const TaskList *list = ranks[rank].lists[state.list];
    const std::vector<uint32_t> &tasks = state.order->streams[stream];
    const StreamState &at = state.streams[stream];
    if (at.isBlocked || at.next == tasks.size())
      return nullptr;
    const Task &task = (*list)[tasks[at.next]];
    bool ready = std::ranges::all_of(task.waits, [&](uint32_t i) { return state.ends[i] >= 0; });
    bool isNext = !ranks[rank].beginsInOrder || !sends(task) ||
                  state.order->transfers[state.transfers] == tasks[at.next];
    return ready && isNext ? &task : nullptr;
  }

  Expected<void> run(size_t rank, uint32_t stream, const Task &task) {
    RankState &state = states[rank];
    StreamState &at = state.streams[stream];
    auto index = static_cast<uint32_t>(&task - ranks[rank].lists[state.list]->data());
    double begin = at.time;
    for (uint32_t i : task.waits)
      begin = std::max(begin, state.ends[i]);
    if (ranks[rank].beginsInOrder && sends(task)) {
      begin = state.lastTransfer = std::max(begin, state.lastTransfer);
      ++state.transfers;
    }
    if (task.transfer)
      return meet(rank, stream, {rank, index, begin});
    if (task.message) {
      if (task.message->receives)
        receive(rank, stream, {rank, index, begin});
      else
        send(rank, stream, {rank, index, begin});
      return {};
    }
    addSpan(state, begin, begin + task.seconds, SpanKind::Compute, task.name);
    finish(rank, stream, index, begin + task.seconds);
    return {};
  }

  void finish(size_t rank, uint32_t stream, uint32_t task, double end) {
    RankState &state = states[rank];
    state.ends[task] = end;
    state.streams[stream].time = end;
    state.streams[stream].isBlocked = false;
    ++state.streams[stream].next;
    --state.left;
  }

  /// Written where it stays: there are millions of them.
  static void addSpan(RankState &state, double begin, double end, SpanKind kind, uint32_t name,
                      uint32_t group = 0) {
    if (end > begin)
      state.spans.emplace_back(begin, end, kind, name, group);
  }

  const Task &taskOf(const Arrival &arrival) const {
    return (*ranks[arrival.rank].lists[states[arrival.rank].list])[arrival.task];
  }

  /// One more rank is there; the last one ends the collective.
  Expected<void> meet(size_t rank, uint32_t stream, const Arrival &arrival) {
    const Transfer &transfer = *taskOf(arrival).transfer;
    Group &group = *states[rank].groups[transfer.group];
    std::vector<Arrival> &arrivals = group.meetings[stream].arrivals;
    states[rank].streams[stream].isBlocked = true;
    arrivals.push_back(arrival);
    const Transfer &first = *taskOf(arrivals.front()).transfer;
    if (first.kind != transfer.kind || first.bytes != transfer.bytes)
      return fail(
          "rank " + std::to_string(arrivals.front().rank) + " and rank " + std::to_string(rank),
          "run different collectives at a time: " + print(first) + " and " + print(transfer),
          "compile one program for both");
    if (arrivals.size() < group.players.size())
      return {};
    double there = 0;
    for (const Arrival &each : arrivals)
      there = std::max(there, each.time);
    uint64_t bytes = countSentBytes(transfer.kind, group.ranks->size(), transfer.bytes);
    for (const Arrival &each : arrivals)
      states[each.rank].time.sent[taskOf(each).transfer->group] += bytes;
    uint32_t index = addFlow(there, group.route, transfer.kind, transfer.bytes);
    flows[index].arrivals = std::exchange(arrivals, {});
    flows[index].stream = stream;
    return {};
  }

  void endFlow(const Flow &flow) {
    for (const Arrival &each : flow.arrivals) {
      const Task &task = taskOf(each);
      RankState &state = states[each.rank];
      uint32_t group = task.transfer ? task.transfer->group : task.message->group;
      addSpan(state, each.time, flow.begin, SpanKind::Wait, task.name, group);
      addSpan(state, flow.begin, now, SpanKind::Transfer, task.name, group);
      finish(each.rank, flow.stream, each.task, now);
      ready.push_back(each.rank);
    }
  }

  Channel &findChannel(size_t from, size_t to, uint32_t number) {
    return channels[{players[from], players[to], number}];
  }

  void send(size_t rank, uint32_t stream, const Arrival &arrival) {
    const Message &message = *taskOf(arrival).message;
    Channel &channel = findChannel(rank, ranks[rank].stages[message.stage], message.channel);
    if (!channel.route)
      channel.route = findRoute(rank, message.stage);
    states[rank].time.sent[message.group] += message.bytes;
    channel.sent.push_back(arrival.time);
    moveMessage(channel);
    finish(rank, stream, arrival.task, arrival.time);
  }

  void receive(size_t rank, uint32_t stream, const Arrival &arrival) {
    const Message &message = *taskOf(arrival).message;
    Channel &channel = findChannel(ranks[rank].stages[message.stage], rank, message.channel);
    channel.receiver = arrival;
    channel.stream = stream;
    states[rank].streams[stream].isBlocked = true;
    moveMessage(channel);
  }

  /// The next message of a channel leaves if it was sent and somebody waits for it.
  void moveMessage(Channel &channel) {
    if (channel.sent.empty() || !channel.receiver)
      return;
    Arrival receiver = *std::exchange(channel.receiver, std::nullopt);
    double begin = std::max(channel.sent.front(), receiver.time);
    channel.sent.pop_front();
    uint32_t index = addFlow(begin, *channel.route, fb::CollectiveKind::AllGather,
                             2 * taskOf(receiver).message->bytes);
    flows[index].arrivals = {receiver};
    flows[index].stream = channel.stream;
  }

  /// Bytes that leave at a time that is not past.
  uint32_t addFlow(double begin, Route &route, fb::CollectiveKind kind, uint64_t bytes) {
    uint32_t index = uint32_t(flows.size());
    if (unused.empty()) {
      flows.emplace_back();
    } else {
      index = unused.back();
      unused.pop_back();
    }
    auto [found, isNew] = route.times.try_emplace({kind, bytes});
    TransferTime &time = found->second;
    if (isNew)
      time = predictTransfer(cluster, route.spread, kind, bytes);
    Flow flow{.route = &route, .shares = &time.shares, .begin = begin};
    flow.left = time.moving;
    flow.version = flows[index].version;
    flows[index] = std::move(flow);
    addEvent(begin + time.alpha, index);
    return index;
  }

  void addEvent(double time, uint32_t flow) {
    events.push({time, ++eventCount, flow, ++flows[flow].version});
  }

  void handleEvent() {
    Event event = events.top();
    events.pop();
    Flow &flow = flows[event.flow];
    if (event.version != flow.version)
      return;
    now = event.time;
    bool begins = flow.slowdown == 0;
    std::vector<uint32_t> touched; // others on its links
    for (uint32_t link : flow.route->links) {
      if ((*flow.shares)[levels[link]] == 0)
        continue;
      std::vector<uint32_t> &on = flowsOn[link];
      if (!begins)
        std::erase(on, event.flow);
      touched.insert(touched.end(), on.begin(), on.end());
      if (begins)
        on.push_back(event.flow);
    }
    std::ranges::sort(touched);
    touched.erase(std::ranges::unique(touched).begin(), touched.end());
    for (uint32_t other : touched)
      adaptRate(other);
    if (begins)
      return adaptRate(event.flow);
    endFlow(flow);
    unused.push_back(event.flow);
  }

  /// What a flow shares its links with has changed.
  void adaptRate(uint32_t index) {
    Flow &flow = flows[index];
    double slowdown = 1;
    for (uint32_t link : flow.route->links) {
      double busy = 0;
      for (uint32_t other : flowsOn[link])
        busy += (*flows[other].shares)[levels[link]];
      if ((*flow.shares)[levels[link]] > 0)
        slowdown = std::max(slowdown, busy);
    }
    if (slowdown == flow.slowdown)
      return;
    if (flow.slowdown > 0)
      flow.left -= (now - flow.since) / flow.slowdown;
    flow.since = now;
    flow.slowdown = slowdown;
    addEvent(now + flow.left * slowdown, index);
  }

  static std::string print(const Transfer &transfer) {
    return std::string(fb::EnumNameCollectiveKind(transfer.kind)) + " of " +
           std::to_string(transfer.bytes) + " bytes";
  }

  Expected<void> describeDeadlock(size_t rank) const {
    for (const Group *group : states[rank].groups)
      for (const auto &[stream, meeting] : group->meetings)
        for (const Arrival &arrival : meeting.arrivals)
          if (arrival.rank == rank)
            for (size_t other : group->ranks->ranks)
              if (std::ranges::find(meeting.arrivals, players[other], &Arrival::rank) ==
                  meeting.arrivals.end())
                return fail("rank " + std::to_string(rank),
                            "waits for rank " + std::to_string(other) + " in " +
                                print(*taskOf(arrival).transfer) + ", which does not come",
                            "compile one program for both");
    for (const auto &[key, channel] : channels)
      if (channel.receiver && channel.receiver->rank == rank)
        return fail("rank " + std::to_string(rank),
                    "waits for a message of rank " + std::to_string(std::get<0>(key)) +
                        " on channel " + std::to_string(std::get<2>(key)) + ", which does not come",
                    "compile one program for both");
    return fail("rank " + std::to_string(rank), "waits for tasks that wait for it",
                "compile its program again");
  }

  const Cluster &cluster;
  std::span<const SimulatedRank> ranks;
  std::vector<size_t> players; ///< by rank, who plays for it
  std::map<const TaskList *, TaskOrder> orders;
  std::map<std::pair<uint32_t, std::vector<size_t>>, Group> groups; ///< by index and players
  std::map<std::tuple<size_t, size_t, uint32_t>, Channel> channels; ///< by sender and receiver
  std::vector<RankState> states;
  std::deque<size_t> ready; ///< ranks that may go on

  double now = 0;
  std::map<Link, uint32_t> linkNumbers;       ///< of what goes out
  std::vector<size_t> levels;                 ///< of links
  std::vector<std::vector<uint32_t>> flowsOn; ///< of links, in each direction
  std::vector<Flow> flows;
  std::vector<uint32_t> unused; ///< flows that are over
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  uint64_t eventCount = 0;
};

} // namespace

Expected<StepTime> simulate(const Cluster &cluster, std::span<const SimulatedRank> ranks,
                            const ChooseRanks &recorded) {
  Player player(cluster, ranks);
  SINTER_CHECK(player.play());
  return player.describe(recorded);
}

} // namespace sinter::runtime
