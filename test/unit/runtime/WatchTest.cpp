#include "runtime/Collective/Watch.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Collective/WatchLink.h"
#include "test/unit/runtime/TestExecutable.h"
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;

namespace {

/// What is said of another rank, and how soon.
class Verdicts {
public:
  Expected<std::unique_ptr<Watch>> start(Communicator &communicator, double timeout = 0.6) {
    WatchOptions options;
    options.timeout = std::chrono::duration<double>(timeout);
    options.onFailure = [this, rank = communicator.getRank()](const Error &error) {
      std::lock_guard lock(mutex);
      errors[rank] = error.message();
    };
    return Watch::start(communicator, std::move(options));
  }
  size_t count() {
    std::lock_guard lock(mutex);
    return errors.size();
  }
  std::map<size_t, std::string> errors; ///< by rank

private:
  std::mutex mutex;
};

bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Two commands of a program: one that computes, one that waits for others.
std::shared_ptr<const Executable> loadCommands(uint64_t predictedNs) {
  Parts parts;
  parts.grid = {{"data", 3}};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "train_step";
  run.arenaBytes = 128;
  fb::Slice source = slice(fb::Space::Arena, 0, 4), out = slice(fb::Space::Arena, 64, 12);
  run.commands = {fill(source, 1), collective(fb::CollectiveKind::AllGather, {0}, source, out)};
  run.commands[0].predictedNs = predictedNs;
  run.commands[0].layer = "model.layers.3";
  return parts.load().value();
}

TEST(WatchTest, SaysNothingOfRanksThatAreDone) {
  Verdicts verdicts;
  auto result = runThreadRanks(3, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto watch, verdicts.start(communicator));
    EXPECT_TRUE(communicator.progress);
    // One is longer at it than another may be silent.
    if (communicator.getRank() == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    return {};
  });
  EXPECT_TRUE(result);
  EXPECT_TRUE(verdicts.errors.empty());
}

TEST(WatchTest, TellsOthersOfAnError) {
  for (size_t failing : {0, 2}) {
    Verdicts verdicts;
    auto executable = loadCommands(0);
    auto result = runThreadRanks(3, [&](Communicator &communicator) -> Expected<void> {
      SINTER_TRY(auto watch, verdicts.start(communicator));
      communicator.progress->setExecutable(executable);
      communicator.progress->beginStep(7);
      communicator.progress->beginCommand(0, 0);
      if (communicator.getRank() == failing) {
        EXPECT_FALSE(watch->end({"weights", "are not there", "put them there"}));
        return {};
      }
      auto met = communicator.barrier();
      EXPECT_FALSE(met);
      EXPECT_TRUE(watch->end(met.error()));
      return {};
    });
    EXPECT_TRUE(result);
    EXPECT_EQ(verdicts.errors.size(), 2u);
    EXPECT_FALSE(verdicts.errors.contains(failing));
    for (const auto &[rank, error] : verdicts.errors) {
      EXPECT_TRUE(error.starts_with("rank " + std::to_string(failing) + " on ")) << error;
      EXPECT_TRUE(contains(error, "has ended with an error at step 7, command 0 of train_step "
                                  "(fill, model.layers.3): weights: are not there; put them there"))
          << error;
    }
  }
}

TEST(WatchTest, SameErrorIsSaidOnce) {
  Verdicts verdicts;
  std::atomic<int> said = 0;
  auto result = runThreadRanks(4, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto watch, verdicts.start(communicator));
    if (!watch->end({"book.txt", "is not there", ""}))
      ++said;
    return {};
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(said, 1);
  EXPECT_TRUE(verdicts.errors.empty());
}

TEST(WatchTest, FindsAStuckRank) {
  for (size_t stuck : {0, 1}) {
    Verdicts verdicts;
    auto executable = loadCommands(1000);
    auto begin = std::chrono::steady_clock::now();
    auto result = runThreadRanks(3, [&](Communicator &communicator) -> Expected<void> {
      SINTER_TRY(auto watch, verdicts.start(communicator));
      communicator.progress->setExecutable(executable);
      communicator.progress->beginStep(12);
      communicator.progress->beginCommand(0, communicator.getRank() == stuck ? 0 : 1);
      if (communicator.getRank() != stuck) {
        auto met = communicator.barrier();
        EXPECT_FALSE(met);
        EXPECT_TRUE(watch->end(met.error()));
        return {};
      }
      // It computes until it hears of it.
      while (verdicts.count() < 3 &&
             std::chrono::steady_clock::now() < begin + std::chrono::seconds(30))
        continue;
      return {};
    });
    EXPECT_TRUE(result);
    // The stuck rank hears of it, too.
    EXPECT_EQ(verdicts.errors.size(), 3u);
    for (const auto &[rank, error] : verdicts.errors) {
      EXPECT_TRUE(error.starts_with("rank " + std::to_string(stuck) + " on ")) << error;
      EXPECT_TRUE(contains(error, "is stuck for ")) << error;
      EXPECT_TRUE(contains(error, "at step 12, command 0 of train_step (fill, model.layers.3)"))
          << error;
    }
  }
}

TEST(WatchTest, LongCommandsAreNotStuck) {
  Verdicts verdicts;
  auto executable = loadCommands(1'000'000'000);
  auto result = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto watch, verdicts.start(communicator));
    communicator.progress->setExecutable(executable);
    communicator.progress->beginCommand(0, 0);
    auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(1200))
      continue;
    return communicator.barrier();
  });
  EXPECT_TRUE(result);
  EXPECT_TRUE(verdicts.errors.empty());
}

TEST(WatchTest, WithoutAProcessorIsNotStuck) {
  Verdicts verdicts;
  auto executable = loadCommands(1000);
  auto result = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto watch, verdicts.start(communicator));
    communicator.progress->setExecutable(executable);
    communicator.progress->beginCommand(0, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return communicator.barrier();
  });
  EXPECT_TRUE(result);
  EXPECT_TRUE(verdicts.errors.empty());
}

TEST(RankProgressTest, SaysWhereARankIs) {
  RankProgress progress;
  EXPECT_EQ(progress.read().text, "before its first step");
  EXPECT_FALSE(progress.read().busy);
  progress.beginCommand(0, 1);
  EXPECT_EQ(progress.read().text, "before its first step"); // of no executable that is known
  progress.setExecutable(loadCommands(5000));
  EXPECT_EQ(progress.read().text, "at command 1 of train_step (collective, layer.0)");
  EXPECT_FALSE(progress.read().busy); // it waits for others
  progress.beginStep(3);
  progress.beginCommand(0, 0);
  EXPECT_EQ(progress.read().text, "at step 3, command 0 of train_step (fill, model.layers.3)");
  EXPECT_EQ(progress.read().busy, std::chrono::nanoseconds(5000));
  EXPECT_EQ(progress.read().begun, 2u);
  progress.endProgram();
  EXPECT_EQ(progress.read().text, "at step 3");
  progress.beginCommand(9, 9);
  EXPECT_EQ(progress.read().text, "at step 3");
}

/// Two ends of a connection, of which one is a plain socket.
struct Connection {
  Connection() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    one = WatchLink(ends[0]);
    other = WatchLink(ends[1]);
  }
  void write(std::string_view text) {
    EXPECT_EQ(::send(other.getDescriptor(), text.data(), text.size(), 0), ssize_t(text.size()));
  }
  WatchLink one, other;
};

TEST(WatchLinkTest, CarriesMessages) {
  Connection connection;
  WatchMessage alive{WatchMessage::Alive};
  alive.begun = uint64_t(1) << 63;
  alive.busy = 0.25;
  alive.where = "step 3\n\"quoted\"";
  WatchMessage verdict{WatchMessage::Verdict};
  verdict.error = {"rank 1", "is silent", "look"};
  verdict.ended = 4;
  connection.other.send(alive);
  connection.other.send(verdict);
  std::vector<WatchMessage> messages = connection.one.receive();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].begun, alive.begun);
  EXPECT_EQ(messages[0].busy, alive.busy);
  EXPECT_EQ(messages[0].where, alive.where);
  EXPECT_EQ(messages[1].kind, WatchMessage::Verdict);
  EXPECT_EQ(messages[1].error.message(), "rank 1: is silent; look");
  EXPECT_EQ(messages[1].ended, 4u);
  connection.other = WatchLink();
  EXPECT_TRUE(connection.one.receive().empty());
  EXPECT_FALSE(connection.one.isOpen());
}

TEST(WatchLinkTest, CarriesTheLastMessageOfARankThatEnds) {
  auto waitFor = [](const WatchLink &link) {
    pollfd entry = {link.getDescriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, /*milliseconds=*/20'000), 1);
  };
  auto done = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    std::vector<RankHost> hosts(2, {"host", "machine"});
    SINTER_TRY(std::vector<WatchLink> links,
               connectRanks(communicator, hosts, std::chrono::seconds(20)));
    WatchLink link = std::move(links.back());
    if (communicator.getRank() == 0) {
      waitFor(link); // what comes is not read
      link.send(WatchMessage{WatchMessage::Alive});
      link.send(WatchMessage{WatchMessage::Verdict});
      return {};
    }
    // The first message is not acknowledged at once.
    int off = 0;
    EXPECT_EQ(::setsockopt(link.getDescriptor(), IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off), 0);
    link.send(WatchMessage{WatchMessage::Alive});
    std::vector<WatchMessage> messages;
    while (link.isOpen()) {
      waitFor(link);
      std::ranges::move(link.receive(), std::back_inserter(messages));
    }
    EXPECT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages.back().kind, WatchMessage::Verdict);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST(WatchLinkTest, PartsOfALineWaitForTheRest) {
  Connection connection;
  connection.write("{\"kind\":");
  EXPECT_TRUE(connection.one.receive().empty());
  EXPECT_TRUE(connection.one.isOpen());
  connection.write("3}\n");
  ASSERT_EQ(connection.one.receive().size(), 1u);
}

TEST(WatchLinkTest, ClosesOnNonsense) {
  for (const char *line : {"\n", "hello\n", "[]\n", "{}\n", "{\"kind\":4}\n", "{\"kind\":-1}\n",
                           "{\"kind\":\"0\"}\n", "{\"kind\":1e300}\n"}) {
    Connection connection;
    connection.write(line);
    EXPECT_TRUE(connection.one.receive().empty());
    EXPECT_FALSE(connection.one.isOpen()) << line;
  }
  Connection connection;
  connection.write(std::string(100'000, 'x')); // a line without an end
  EXPECT_TRUE(connection.one.receive().empty());
  EXPECT_FALSE(connection.one.isOpen());
}

TEST(WatchLinkTest, WrongTypesAreAsIfAbsent) {
  Connection connection;
  connection.write("{\"kind\":0,\"begun\":\"x\",\"busy\":[],\"where\":7,\"ended\":-1}\n");
  std::vector<WatchMessage> messages = connection.one.receive();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].begun, 0u);
  EXPECT_FALSE(messages[0].busy);
  EXPECT_EQ(messages[0].where, "");
  EXPECT_FALSE(messages[0].ended);
}

} // namespace
