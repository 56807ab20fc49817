#include "runtime/Session/RanksVerifier.h"
#include "runtime/Collective/Grid.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace sinter::runtime {
namespace {

/// What was sent: its bytes, and whether it has been received.
struct Message {
  uint64_t bytes = 0;
  uint32_t channel = 0;
  bool received = false;
  size_t sender = 0, command = 0;
  const fb::Program *program = nullptr;
};

size_t countCommands(const fb::Program &program) {
  return program.commands() ? program.commands()->size() : 0;
}

/// A run of a program, for a slot.
struct Run {
  const fb::Program *program = nullptr;
  uint64_t slot = 0;
  bool waits = false; ///< until all that was sent before has been received

  std::pair<const fb::Program *, uint64_t> getKey() const { return {program, slot}; }
};

/// The ranks at one place, of which one stands for all.
struct Actor {
  size_t rank = 0;
  std::vector<Run> runs;       ///< in order
  size_t run = 0, command = 0; ///< that comes next; command 0 of a run waits for messages
  size_t meetings = 0;         ///< collectives between places so far
  std::map<std::pair<const fb::Program *, uint64_t>, std::vector<Message *>> sent;

  bool isDone() const { return run == runs.size(); }
};

/// A collective between places, as the first to come there runs it.
struct Meeting {
  const fb::Collective *collective = nullptr;
  size_t rank = 0;
  std::set<size_t> arrived;
};

class RanksVerifier {
public:
  RanksVerifier(const Executable &executable, const std::vector<RankRuns> &runs)
      : executable(executable), root(executable.getRoot()) {
    if (!executable.isForCpu())
      links = findLinks(root);
    for (uint32_t place = 0; place < runs.size(); ++place) {
      Actor &actor = actors.emplace_back();
      actor.rank = findRankOfStage(root, place, 0);
      for (const std::vector<PlannedRun> &part : runs[place])
        for (const PlannedRun &run : part)
          actor.runs.push_back({executable.program(run.program), run.slot, &run == part.data()});
    }
  }

  Expected<void> run() {
    SINTER_CHECK(checkLinks());
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
  /// The sender, the receiver, and the channel or on GPUs the passes of the link.
  using Key = std::tuple<size_t, size_t, uint32_t, std::optional<StageLink>>;

  Key makeKey(size_t sender, size_t receiver, uint32_t channel) const {
    auto link = links.find(channel);
    return link == links.end() ? Key{sender, receiver, channel, std::nullopt}
                               : Key{sender, receiver, 0, link->second};
  }

  /// On GPUs every channel is one of a link, and weights are preprocessed without.
  Expected<void> checkLinks() const {
    for (const fb::Program *program : *root.programs()) {
      uint32_t own = program->stage();
      if (executable.isForCpu() || !program->commands())
        continue;
      for (const fb::Command *command : *program->commands()) {
        if (const fb::Send *send = command->action_as_Send())
          SINTER_CHECK(checkLink(*program, send->channel(), own, send->stage()));
        if (const fb::Receive *receive = command->action_as_Receive())
          SINTER_CHECK(checkLink(*program, receive->channel(), receive->stage(), own));
      }
    }
    return {};
  }

  Expected<void> checkLink(const fb::Program &program, uint32_t channel, uint32_t sender,
                           uint32_t receiver) const {
    std::string what = "channel " + std::to_string(channel) + " of " + program.name()->str() + ' ';
    auto link = links.find(channel);
    if (link == links.end())
      return bad(what + "has one end only");
    if (link->second.sender != sender || link->second.receiver != receiver)
      return bad(what + "is between stages " + std::to_string(sender) + " and " +
                 std::to_string(receiver) + ", elsewhere between " +
                 std::to_string(link->second.sender) + " and " +
                 std::to_string(link->second.receiver));
    if (isPreprocess(program.name()->string_view()))
      return bad(what + "is of weights, which GPUs do not send each other");
    return {};
  }

  /// Messages that have to be received before an actor's next command: of a program from the same
  /// slot, which is about to be written again, and on GPUs of any whose states are.
  std::vector<Message *> listSentBefore(const Actor &actor) const {
    std::vector<Message *> before;
    if (actor.command != 0)
      return before;
    const Run &next = actor.runs[actor.run];
    for (const auto &[key, messages] : actor.sent)
      if (next.waits || key == next.getKey() ||
          (!links.empty() && writes(*next.program, *key.first)))
        before.insert(before.end(), messages.begin(), messages.end());
    return before;
  }

  bool writes(const fb::Program &writer, const fb::Program &sender) const {
    auto [known, isNew] = written.try_emplace({&writer, &sender});
    if (isNew)
      known->second = writesSentState(root, writer, sender);
    return known->second;
  }

  static const fb::Program &programOf(const Actor &actor) { return *actor.runs[actor.run].program; }

  tl::unexpected<Error> bad(std::string why) const {
    return fail(executable.getName(), std::move(why), "compile the model again");
  }

  /// The actor's next command; null where its program has none.
  static const fb::Command *findCommand(const Actor &actor) {
    const fb::Program &program = programOf(actor);
    return actor.command < countCommands(program)
               ? program.commands()->Get(flatbuffers::uoffset_t(actor.command))
               : nullptr;
  }

  std::string describe(const Actor &actor) const {
    const fb::Command *command = findCommand(actor);
    return "rank " + std::to_string(actor.rank) + " at command " + std::to_string(actor.command) +
           " (" + (command && command->label() ? command->label()->str() : "") + ") of " +
           programOf(actor).name()->str();
  }

  /// Runs the actor's next command, unless it waits.
  Expected<bool> step(Actor &actor) {
    if (actor.command == 0) {
      if (std::ranges::any_of(listSentBefore(actor),
                              [](const Message *message) { return !message->received; }))
        return false;
      actor.sent[actor.runs[actor.run].getKey()].clear();
    }
    if (const fb::Command *command = findCommand(actor)) {
      SINTER_TRY(bool done, runCommand(actor, *command));
      if (!done)
        return false;
      ++actor.command;
    }
    if (actor.command == countCommands(programOf(actor))) {
      ++actor.run;
      actor.command = 0;
    }
    return true;
  }

  Expected<bool> runCommand(Actor &actor, const fb::Command &command) {
    if (const fb::Send *send = command.action_as_Send()) {
      Message &message = all.emplace_back(Message{send->source()->bytes(), send->channel(), false,
                                                  actor.rank, actor.command, &programOf(actor)});
      messages[makeKey(actor.rank, findRankOfStage(root, send->stage(), actor.rank),
                       send->channel())]
          .push_back(&message);
      actor.sent[actor.runs[actor.run].getKey()].push_back(&message);
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
    if (message.channel != receive.channel())
      return bad(describe(actor) + " receives over channel " + std::to_string(receive.channel()) +
                 " what rank " + std::to_string(message.sender) + " sends behind channel " +
                 std::to_string(message.channel));
    if (message.bytes != receive.out()->bytes())
      return bad(describe(actor) + " receives " + std::to_string(receive.out()->bytes()) +
                 " bytes, of which rank " + std::to_string(message.sender) + " sends " +
                 std::to_string(message.bytes));
    message.received = true;
    queue.pop_front();
    return true;
  }

  Key keyOf(const Actor &actor, const fb::Receive &receive) const {
    return makeKey(findRankOfStage(root, receive.stage(), actor.rank), actor.rank,
                   receive.channel());
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
    std::vector<Message *> before = listSentBefore(actor);
    for (const auto &[key, queue] : messages)
      for (const Message *message : queue)
        if (std::ranges::find(before, message) != before.end())
          return std::get<1>(key);
    if (const fb::Receive *receive = findCommand(actor)->action_as_Receive())
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
  std::map<uint32_t, StageLink> links; ///< on GPUs, of channels
  /// Of programs, whether the first one writes what the second one sends.
  mutable std::map<std::pair<const fb::Program *, const fb::Program *>, bool> written;
  std::vector<Actor> actors;
  std::vector<Meeting> meetings;
  std::deque<Message> all;
  std::map<Key, std::deque<Message *>> messages; ///< under way
};

} // namespace

Expected<void> verifyRanks(const Executable &executable, const std::vector<RankRuns> &runs) {
  return RanksVerifier(executable, runs).run();
}

Expected<void> verifyEntries(const Executable &executable,
                             const std::vector<std::string> &entries) {
  std::vector<RankRuns> runs;
  for (uint64_t place = 0; place < countPlaces(executable.getRoot()); ++place) {
    RankRuns &own = runs.emplace_back();
    if (const fb::Program *preprocess = findPreprocess(executable, place))
      own.push_back({{preprocess->name()->str()}});
    for (const std::string &entry : entries)
      for (int round = 0; round < 2; ++round) {
        std::vector<PlannedRun> &part = own.emplace_back();
        for (const EntryPass &pass : listPasses(executable, place, entry))
          part.push_back({pass.name});
      }
  }
  return verifyRanks(executable, runs);
}

} // namespace sinter::runtime
