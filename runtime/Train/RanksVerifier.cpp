#include "runtime/Train/RanksVerifier.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/StepPlan.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace sinter::runtime {
namespace {

/// What was sent: its bytes, and whether it has been received.
struct Message {
  uint64_t bytes = 0;
  bool received = false;
  size_t sender = 0, command = 0;
  const fb::Program *program = nullptr;
};

/// A run of a program, for a slot.
using Run = std::pair<const fb::Program *, uint64_t>;

/// The ranks at one place, of which one stands for all.
struct Actor {
  size_t rank = 0;
  std::vector<Run> runs;       ///< in order
  size_t run = 0, command = 0; ///< that comes next; command 0 of a run waits for its own messages
  size_t meetings = 0;         ///< collectives between places so far
  std::map<Run, std::vector<Message *>> sent;

  bool isDone() const { return run == runs.size(); }
};

/// A collective between places, as the first to come there runs it.
struct Meeting {
  const fb::Collective *collective = nullptr;
  size_t rank = 0;
  std::set<size_t> arrived;
};

class RankRuns {
public:
  explicit RankRuns(const Executable &executable)
      : executable(executable), root(executable.getRoot()) {}

  Expected<void> plan(uint64_t accumulate, bool validation) {
    for (uint32_t place = 0; place < countPlaces(root); ++place) {
      Actor &actor = actors.emplace_back();
      actor.rank = findRankOfStage(root, place, 0);
      SINTER_TRY(StepPlan own, StepPlan::make(executable, actor.rank, accumulate, validation));
      auto add = [&](const std::vector<std::string> &names) {
        for (const std::string &name : names)
          actor.runs.emplace_back(executable.program(name), 0);
      };
      add(own.share);
      for (int step = 0; step < 2; ++step) {
        for (const PlannedTask &task : own.tasks) {
          actor.runs.emplace_back(executable.program(task.run.program), task.run.slot);
          add(task.carries);
        }
        add(own.update);
        add(own.share);
        add(own.evaluate);
      }
    }
    return {};
  }

  Expected<void> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Actor &actor : actors)
        while (!actor.isDone()) {
          SINTER_TRY(bool done, step(actor));
          if (!done)
            break;
          moved = true;
        }
    }
    for (const Actor &actor : actors)
      if (!actor.isDone())
        return bad(describeWait(actor));
    for (const auto &[key, queue] : messages)
      if (!queue.empty())
        return bad("what rank " + std::to_string(queue.front()->sender) + " sends at command " +
                   std::to_string(queue.front()->command) + " of " +
                   queue.front()->program->name()->str() + " is never received");
    return {};
  }

private:
  using Key = std::tuple<size_t, size_t, uint32_t>; ///< sender, receiver, channel

  static const fb::Program &programOf(const Actor &actor) { return *actor.runs[actor.run].first; }

  tl::unexpected<Error> bad(std::string why) const {
    return fail(executable.getName(), std::move(why), "compile the model again");
  }

  std::string describe(const Actor &actor) const {
    const fb::Command &command =
        *programOf(actor).commands()->Get(flatbuffers::uoffset_t(actor.command));
    return "rank " + std::to_string(actor.rank) + " at command " + std::to_string(actor.command) +
           " (" + (command.label() ? command.label()->str() : "") + ") of " +
           programOf(actor).name()->str();
  }

  static std::vector<Message *> &sentBefore(Actor &actor) {
    return actor.sent[actor.runs[actor.run]];
  }

  /// Runs the actor's next command, unless it waits.
  Expected<bool> step(Actor &actor) {
    const fb::Program &program = programOf(actor);
    if (actor.command == 0) {
      // What the program sent from this slot is about to be written again.
      std::vector<Message *> &before = sentBefore(actor);
      if (std::ranges::any_of(before, [](const Message *message) { return !message->received; }))
        return false;
      before.clear();
    }
    if (actor.command < program.commands()->size()) {
      SINTER_TRY(bool done, runCommand(actor, *program.commands()->Get(
                                                  flatbuffers::uoffset_t(actor.command))));
      if (!done)
        return false;
      ++actor.command;
    }
    if (actor.command == program.commands()->size()) {
      ++actor.run;
      actor.command = 0;
    }
    return true;
  }

  Expected<bool> runCommand(Actor &actor, const fb::Command &command) {
    if (const fb::Send *send = command.action_as_Send()) {
      Message &message = all.emplace_back(
          Message{send->source()->bytes(), false, actor.rank, actor.command, &programOf(actor)});
      messages[{actor.rank, findRankOfStage(root, send->stage(), actor.rank), send->channel()}]
          .push_back(&message);
      sentBefore(actor).push_back(&message);
      return true;
    }
    if (const fb::Receive *receive = command.action_as_Receive())
      return runReceive(actor, *receive);
    if (const fb::Collective *collective = command.action_as_Collective())
      return runCollective(actor, *collective);
    return true;
  }

  Expected<bool> runReceive(Actor &actor, const fb::Receive &receive) {
    auto &queue = messages[keyOf(actor, receive)];
    if (queue.empty())
      return false;
    Message &message = *queue.front();
    if (message.bytes != receive.out()->bytes())
      return bad(describe(actor) + " receives " + std::to_string(receive.out()->bytes()) +
                 " bytes, of which rank " + std::to_string(message.sender) + " sends " +
                 std::to_string(message.bytes));
    message.received = true;
    queue.pop_front();
    return true;
  }

  Key keyOf(const Actor &actor, const fb::Receive &receive) const {
    return {findRankOfStage(root, receive.stage(), actor.rank), actor.rank, receive.channel()};
  }

  Expected<bool> runCollective(Actor &actor, const fb::Collective &collective) {
    bool between = std::ranges::any_of(*collective.axes(), [&](uint32_t axis) {
      return root.grid()->Get(axis)->name()->string_view() == kPipelineAxis;
    });
    if (!between || collective.kind() == fb::CollectiveKind::AllSlice)
      return true;
    if (meetings.size() <= actor.meetings)
      meetings.resize(actor.meetings + 1);
    Meeting &meeting = meetings[actor.meetings];
    if (!meeting.collective) {
      meeting.collective = &collective;
      meeting.rank = actor.rank;
    }
    const fb::Collective &first = *meeting.collective;
    if (first.kind() != collective.kind() ||
        first.source()->bytes() != collective.source()->bytes() ||
        !std::ranges::equal(*first.axes(), *collective.axes()))
      return bad(describe(actor) + " runs " + fb::EnumNameCollectiveKind(collective.kind()) +
                 " of " + std::to_string(collective.source()->bytes()) + " bytes, where rank " +
                 std::to_string(meeting.rank) + " runs " +
                 fb::EnumNameCollectiveKind(first.kind()) + " of " +
                 std::to_string(first.source()->bytes()));
    meeting.arrived.insert(actor.rank);
    if (meeting.arrived.size() < actors.size())
      return false;
    // The last one to come goes on; the others find that all have come.
    ++actor.meetings;
    return true;
  }

  /// The rank that an actor waits for.
  size_t findAwaited(const Actor &actor) const {
    if (auto before = actor.sent.find(actor.runs[actor.run]);
        actor.command == 0 && before != actor.sent.end())
      for (const auto &[key, queue] : messages)
        for (const Message *message : queue)
          if (std::ranges::find(before->second, message) != before->second.end())
            return std::get<1>(key);
    const fb::Command &command =
        *programOf(actor).commands()->Get(flatbuffers::uoffset_t(actor.command));
    if (const fb::Receive *receive = command.action_as_Receive())
      return std::get<0>(keyOf(actor, *receive));
    for (const Actor &other : actors)
      if (!meetings[actor.meetings].arrived.contains(other.rank))
        return other.rank;
    return actor.rank;
  }

  /// "rank 0 at command 3 of f waits for rank 1, rank 1 at command 2 of g waits for rank 0".
  std::string describeWait(const Actor &first) const {
    std::string text;
    std::set<size_t> named;
    for (const Actor *actor = &first; named.insert(actor->rank).second;) {
      size_t awaited = findAwaited(*actor);
      text += (text.empty() ? "" : ", ") + describe(*actor) + " waits for rank " +
              std::to_string(awaited);
      actor = &*std::ranges::find(actors, awaited, &Actor::rank);
      if (actor->isDone())
        return text + ", which has nothing left to do";
    }
    return text + ", and so forever";
  }

  const Executable &executable;
  const fb::Executable &root;
  std::vector<Actor> actors;
  std::vector<Meeting> meetings;
  std::deque<Message> all;
  std::map<Key, std::deque<Message *>> messages; ///< under way
};

} // namespace

Expected<void> verifyRanks(const Executable &executable, uint64_t accumulate, bool validation) {
  if (countStages(executable.getRoot()) == 0)
    return {};
  RankRuns runs(executable);
  SINTER_CHECK(runs.plan(accumulate, validation));
  return runs.run();
}

} // namespace sinter::runtime
