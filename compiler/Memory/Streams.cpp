#include "compiler/Memory/Streams.h"
#include <algorithm>
#include <map>
#include <optional>

using namespace sinter;

namespace {
/// Who touched the bytes of a space, so far.
class Touches {
public:
  /// Adds to `found` what an access must follow: the last write of any of its bytes, and, if it
  /// writes, what has read them since.
  void collect(const ByteRange &range, std::vector<unsigned> &found) const {
    if (range.begin >= range.end)
      return;
    for (auto segment = findFirst(range.begin);
         segment != segments.end() && segment->first < range.end; ++segment) {
      const Segment &bytes = segment->second;
      if (bytes.writer)
        found.push_back(*bytes.writer);
      if (range.writes)
        found.insert(found.end(), bytes.readers.begin(), bytes.readers.end());
    }
  }

  void add(const ByteRange &range, unsigned command) {
    if (range.begin >= range.end)
      return;
    split(range.begin);
    split(range.end);
    auto segment = segments.lower_bound(range.begin);
    if (range.writes) {
      while (segment != segments.end() && segment->first < range.end)
        segment = segments.erase(segment);
      segments.emplace(range.begin, Segment{range.end, command, {}});
      return;
    }
    for (int64_t at = range.begin; at < range.end; ++segment) {
      if (segment == segments.end() || segment->first > at) { // bytes that nobody touched
        int64_t end = segment == segments.end() ? range.end : std::min(segment->first, range.end);
        segment = segments.emplace(at, Segment{end, std::nullopt, {}}).first;
      }
      segment->second.readers.push_back(command);
      at = segment->second.end;
    }
  }

private:
  /// Bytes with one history.
  struct Segment {
    int64_t end;
    std::optional<unsigned> writer; ///< the last one
    std::vector<unsigned> readers;  ///< since then
  };
  using Segments = std::map<int64_t, Segment>; ///< by their begin; no two overlap

  /// The first segment that ends behind a place.
  Segments::const_iterator findFirst(int64_t at) const {
    auto next = segments.upper_bound(at);
    return next != segments.begin() && std::prev(next)->second.end > at ? std::prev(next) : next;
  }

  /// Makes two segments of one that a place is inside of.
  void split(int64_t at) {
    auto found = findFirst(at);
    if (found == segments.end() || found->first >= at)
      return;
    Segment behind = found->second;
    segments.at(found->first).end = at;
    segments.emplace(at, std::move(behind));
  }

  Segments segments;
};
} // namespace

CommandLists sinter::findHazards(std::span<const StreamCommand> commands) {
  std::map<unsigned, Touches> touches; // by space
  CommandLists hazards(commands.size());
  for (unsigned i = 0; i < commands.size(); ++i) {
    for (const ByteRange &range : commands[i].ranges)
      touches[range.space].collect(range, hazards[i]);
    for (const ByteRange &range : commands[i].ranges)
      touches[range.space].add(range, i);
    std::sort(hazards[i].begin(), hazards[i].end());
    hazards[i].erase(std::unique(hazards[i].begin(), hazards[i].end()), hazards[i].end());
  }
  return hazards;
}

unsigned StreamPlan::countEvents() const {
  std::vector<bool> recorded(streams.size());
  for (const std::vector<unsigned> &others : waits)
    for (unsigned other : others)
      recorded[other] = true;
  return std::count(recorded.begin(), recorded.end(), true);
}

std::vector<unsigned> sinter::assignStreams(std::span<const StreamCommand> commands,
                                            const CommandLists &hazards, const StreamCosts &costs) {
  unsigned communicating = 0;
  for (const StreamCommand &each : commands)
    communicating = std::max(communicating, each.stream);
  unsigned count = costs.streams + communicating;
  std::vector<unsigned> streams(commands.size());
  std::vector<double> done(commands.size()), free(count);
  double lastTransfer = 0; // when it began
  for (unsigned i = 0; i < commands.size(); ++i) {
    auto beginIn = [&](unsigned stream) {
      double begin = free[stream];
      for (unsigned other : hazards[i])
        begin = std::max(begin, done[other] + (streams[other] == stream ? 0 : costs.eventNs));
      return begin;
    };
    double begin = beginIn(commands[i].stream), latest = begin - costs.eventNs;
    streams[i] = commands[i].stream;
    if (commands[i].stream != 0)
      begin = lastTransfer = std::max(begin, lastTransfer);
    else if (commands[i].share < 1)
      for (unsigned stream = communicating + 1; stream < count; ++stream)
        if (double other = beginIn(stream); other < latest) {
          begin = latest = other;
          streams[i] = stream;
        }
    free[streams[i]] = done[i] = begin + commands[i].ns;
  }
  return streams;
}

CommandLists sinter::deriveWaits(std::span<const unsigned> streams, const CommandLists &hazards) {
  // Of each command and stream, how many of the stream's commands in the list's order are known to
  // be done when it is: the number after the last one's, 0 for none.
  using Clock = std::vector<unsigned>;
  unsigned count = streams.empty() ? 0 : *std::max_element(streams.begin(), streams.end()) + 1;
  std::vector<Clock> clocks;
  std::vector<Clock> latest(count, Clock(count)); // of each stream
  CommandLists waits(streams.size());
  for (unsigned i = 0; i < streams.size(); ++i) {
    Clock &own = latest[streams[i]];
    Clock needed(count);
    for (unsigned other : hazards[i])
      if (streams[other] != streams[i] && own[streams[other]] <= other)
        needed[streams[other]] = std::max(needed[streams[other]], other + 1);
    auto follows = [&](unsigned stream) { // from another one that is needed
      for (unsigned via = 0; via < count; ++via)
        if (via != stream && needed[via] && clocks[needed[via] - 1][stream] >= needed[stream])
          return true;
      return false;
    };
    for (unsigned stream = 0; stream < count; ++stream)
      if (needed[stream] && !follows(stream))
        waits[i].push_back(needed[stream] - 1);
    for (unsigned other : waits[i])
      for (unsigned stream = 0; stream < count; ++stream)
        own[stream] = std::max(own[stream], clocks[other][stream]);
    std::sort(waits[i].begin(), waits[i].end());
    own[streams[i]] = i + 1;
    clocks.push_back(own);
  }
  return waits;
}

namespace {
/// The commands of a plan on their way.
class StreamRun {
public:
  StreamRun(std::span<const StreamCommand> commands, const StreamPlan &plan,
            const StreamCosts &costs)
      : commands(commands), plan(plan), costs(costs), done(commands.size()) {
    for (unsigned i = 0; i < commands.size(); ++i) {
      queues.resize(std::max<size_t>(queues.size(), plan.streams[i] + 1));
      queues[plan.streams[i]].waiting.push_back(i);
      if (commands[i].stream != 0)
        transfers.push_back(i);
    }
  }

  double run() {
    double ns = 0;
    while (start()) {
      double share = 0, step = -1;
      for (const Queue &queue : queues)
        if (queue.running && queue.starting == 0)
          share += commands[*queue.running].share;
      double slowdown = std::max(share, 1.0);
      auto left = [&](const Queue &queue) {
        return queue.starting > 0 ? queue.starting : queue.working * slowdown;
      };
      for (const Queue &queue : queues)
        if (queue.running && (step < 0 || left(queue) < step))
          step = left(queue);
      ns += step;
      for (Queue &queue : queues)
        if (queue.running)
          pass(queue, step, left(queue) == step, slowdown);
    }
    return ns;
  }

private:
  struct Queue {
    std::vector<unsigned> waiting;
    size_t next = 0;
    std::optional<unsigned> running;
    double starting = 0, working = 0; ///< time that is left of what runs
  };

  /// Lets begin what can; whether anything runs.
  bool start() {
    for (bool starts = true; starts;) {
      starts = false;
      for (Queue &queue : queues)
        starts |= start(queue);
    }
    return std::any_of(queues.begin(), queues.end(),
                       [](const Queue &queue) { return queue.running.has_value(); });
  }

  /// Lets a queue's next command begin, if it can.
  bool start(Queue &queue) {
    if (queue.running || queue.next == queue.waiting.size())
      return false;
    unsigned command = queue.waiting[queue.next];
    const std::vector<unsigned> &waits = plan.waits[command];
    bool moves = commands[command].stream != 0;
    if ((moves && transfers[begun] != command) ||
        !std::all_of(waits.begin(), waits.end(), [&](unsigned other) { return done[other]; }))
      return false;
    begun += moves;
    queue.running = command;
    ++queue.next;
    double idle = std::min(costs.launchNs, commands[command].ns);
    queue.starting = idle + (waits.empty() ? 0 : costs.eventNs);
    queue.working = commands[command].ns - idle;
    return true;
  }

  void pass(Queue &queue, double ns, bool whole, double slowdown) {
    if (queue.starting > 0)
      queue.starting = whole ? 0 : queue.starting - ns;
    else
      queue.working = whole ? 0 : queue.working - ns / slowdown;
    if (queue.starting == 0 && queue.working == 0) {
      done[*queue.running] = true;
      queue.running.reset();
    }
  }

  std::span<const StreamCommand> commands;
  const StreamPlan &plan;
  const StreamCosts &costs;
  std::vector<bool> done;
  std::vector<Queue> queues;
  std::vector<unsigned> transfers; ///< those that move bytes, in order
  size_t begun = 0;                ///< of these
};
} // namespace

double sinter::predictNs(std::span<const StreamCommand> commands, const StreamPlan &plan,
                         const StreamCosts &costs) {
  return StreamRun(commands, plan, costs).run();
}
