// Ranks on GPUs that are not there, one each: threads of this process, with the fake's NCCL.
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Collective/Watch.h"
#include "runtime/Session/Session.h"
#include "test/cuda/FakeCuda.h"
#include "test/support/Environment.h"
#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>
#include <nccl.h>
#include <numeric>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fake::FakeCuda;
using fake::FakeOptions;
using fb::Space;
using sinter::test::Variable;

namespace {

constexpr size_t kRanks = 4;
constexpr uint64_t kCount = 8, kBytes = kCount * 4;

// On a grid of 2 x 2 every kind of collective, along either axis and along both, in two streams:
//
//   0   part = all_slice all, waits for it         | y = part, sum, halves, waits for them
//   1   all = all_gather x along both | halves = all_to_all x along tensor | sum = all_reduce x
Parts makeParts(const std::string &device) {
  Parts parts;
  parts.device = device;
  parts.grid = {{"data", 2}, {"tensor", 2}};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "run";
  run.inputBytes = kBytes;
  run.outputBytes = 3 * kBytes;
  fb::Slice x = slice(Space::Input, 0, kBytes), y = slice(Space::Output, 0, 3 * kBytes);
  run.inputs = {{"x", fb::DType::F32, {int64_t(kCount)}, x}};
  run.outputs = {{"y", fb::DType::F32, {3 * int64_t(kCount)}, y}};
  constexpr uint64_t place = 64;
  fb::Slice all = slice(Space::Arena, 0, kRanks * kBytes),
            halves = slice(Space::Arena, 256, kBytes), sum = slice(Space::Arena, 320, kBytes),
            part = slice(Space::Arena, 384, kBytes);
  run.arenaBytes = 384 + place;
  auto out = [&](uint64_t i) { return slice(Space::Output, i * kBytes, kBytes); };
  run.commands = {collective(fb::CollectiveKind::AllGather, {0, 1}, x, all),
                  collective(fb::CollectiveKind::AllToAll, {1}, x, halves),
                  collective(fb::CollectiveKind::AllReduce, {0}, x, sum),
                  collective(fb::CollectiveKind::AllSlice, {1, 0}, all, part),
                  copy(part, out(0)),
                  copy(sum, out(1)),
                  copy(halves, out(2))};
  for (size_t i : {0, 1, 2})
    run.commands[i].stream = 1;
  run.commands[3].waits = {0};
  run.commands[5].waits = {2};
  return parts;
}

// The same with a stream for each axis, and one for both.
Parts makePartsOfAxes() {
  Parts parts = makeParts("cuda:sm_90");
  std::vector<Parts::Command> &commands = parts.programs.front().commands;
  commands[1].stream = 2;
  commands[2].stream = 3;
  commands[6].waits = {1};
  return parts;
}

/// What a rank gives the program in a run, and what it makes of it.
float numberOf(size_t rank, size_t run, size_t i) { return float(100 * rank + 10 * run + i); }

std::vector<float> expectedOf(size_t rank, size_t run) {
  size_t data = rank / 2, tensor = rank % 2;
  std::vector<float> y;
  // Of what ranks gather in the order of (data, tensor), the place of (tensor, data).
  for (size_t i = 0; i < kCount; ++i)
    y.push_back(numberOf(tensor * 2 + data, run, i));
  for (size_t i = 0; i < kCount; ++i)
    y.push_back(numberOf(tensor, run, i) + numberOf(2 + tensor, run, i));
  for (size_t peer = 0; peer < 2; ++peer)
    for (size_t i = 0; i < kCount / 2; ++i)
      y.push_back(numberOf(2 * data + peer, run, tensor * kCount / 2 + i));
  return y;
}

class NcclRanksTest : public ::testing::Test {
protected:
  void open(int devices, unsigned streamSeed = 0, const std::string &lastName = "") {
    gpu.reset();
    FakeOptions options;
    options.lastName = lastName;
    options.devices = devices;
    options.streamSeed = streamSeed;
    gpu = std::make_unique<FakeCuda>(options);
  }
  void TearDown() override {
    if (!gpu)
      return;
    for (const std::string &complaint : gpu->complaints())
      ADD_FAILURE() << complaint;
    EXPECT_EQ(gpu->statistics().allocated, 0u);
  }

  static Expected<std::unique_ptr<Session>> bind(Communicator &communicator,
                                                 const std::string &device = "cuda:sm_90") {
    return bind(communicator, makeParts(device));
  }

  static Expected<std::unique_ptr<Session>> bind(Communicator &communicator, const Parts &parts) {
    BindOptions options;
    options.threads = 1;
    options.communicator = &communicator;
    SINTER_TRY(auto executable, parts.load());
    return Session::bind(executable, options);
  }

  static Expected<std::vector<float>> run(Session &session, size_t rank, size_t number) {
    SINTER_TRY(size_t program, session.program("run"));
    SINTER_TRY(TensorView x, session.input(program, "x", DType::F32));
    for (size_t i = 0; i < kCount; ++i)
      x.as<float>()[i] = numberOf(rank, number, i);
    SINTER_CHECK(session.run(program));
    SINTER_TRY(TensorView y, session.output(program, "y", DType::F32));
    return std::vector<float>(y.as<float>().begin(), y.as<float>().end());
  }

  static Expected<void> runSome(Session &session, size_t rank, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      SINTER_TRY(std::vector<float> y, run(session, rank, i));
      EXPECT_EQ(y, expectedOf(rank, i));
    }
    return {};
  }

  std::unique_ptr<FakeCuda> gpu;
};

// Whether NCCL begins collectives in one order or each waits for the one before: else ranks that
// the fake lets begin in other orders would wait for each other for ever.
TEST_F(NcclRanksTest, AxesMayHaveStreamsOfTheirOwn) {
  for (const char *ordered : {"1", "0"})
    for (unsigned seed : {0u, 1u, 2u, 3u}) {
      SCOPED_TRACE(ordered + (", seed " + std::to_string(seed)));
      Variable order("NCCL_LAUNCH_ORDER_IMPLICIT", ordered);
      open(kRanks, seed);
      auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
        SINTER_TRY(auto session, bind(communicator, makePartsOfAxes()));
        return runSome(*session, communicator.getRank(), 5);
      });
      EXPECT_TRUE(done) << done.error().message();
    }
}

// What one axis gathers another one sends on, which nothing tells to wait.
TEST_F(NcclRanksTest, AMissingWaitBetweenTheStreamsOfAxesIsFound) {
  Variable order("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  Parts parts = makePartsOfAxes();
  std::vector<Parts::Command> &commands = parts.programs.front().commands;
  commands[1] = collective(fb::CollectiveKind::AllToAll, {1}, slice(Space::Arena, 0, kBytes),
                           slice(Space::Arena, 256, kBytes));
  commands[1].stream = 2;
  for (bool waits : {true, false}) {
    commands[1].waits = waits ? std::vector<uint32_t>{0} : std::vector<uint32_t>{};
    open(kRanks, /*streamSeed=*/1);
    auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
      SINTER_TRY(auto session, bind(communicator, parts));
      for (size_t i = 0; i < 3; ++i)
        SINTER_CHECK(run(*session, communicator.getRank(), i));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    std::vector<std::string> complaints = gpu->complaints();
    EXPECT_EQ(complaints.empty(), waits);
    if (!complaints.empty())
      EXPECT_NE(complaints.front().find("use the same memory on two streams"), std::string::npos);
    gpu.reset();
  }
}

// The first run waits for each command, the second is captured, all others replay the graph.
TEST_F(NcclRanksTest, MoveBytesAsProcessorsDo) {
  for (const std::string device : {"", "cuda:sm_90"})
    for (unsigned seed : {0u, 1u, 2u}) {
      SCOPED_TRACE(device + ", seed " + std::to_string(seed));
      open(kRanks, seed);
      auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
        SINTER_TRY(auto session, bind(communicator, device));
        return runSome(*session, communicator.getRank(), 5);
      });
      EXPECT_TRUE(done) << done.error().message();
      if (device.empty())
        continue;
      EXPECT_EQ(gpu->statistics().collectives, kRanks * 5 * 3);
      EXPECT_EQ(gpu->statistics().graphs, kRanks * 4);
      EXPECT_EQ(gpu->calls("ncclCommSplit"), kRanks * 2);
    }
}

TEST_F(NcclRanksTest, TracedRunsAreTheSame) {
  open(kRanks);
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto session, bind(communicator));
    Trace trace(64);
    session->setTrace(&trace);
    return runSome(*session, communicator.getRank(), 2);
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(NcclRanksTest, NeedAGpuEach) {
  open(3);
  std::atomic<int> refused = 0;
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    auto session = bind(communicator);
    EXPECT_FALSE(session);
    std::string error = session.error().message();
    EXPECT_TRUE(error.starts_with("rank 3: would share a GPU with rank 0 on ")) << error;
    EXPECT_NE(error.find("; start as many ranks on a machine as it has GPUs"), std::string::npos);
    ++refused;
    return {};
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(refused, int(kRanks));
}

TEST_F(NcclRanksTest, NeedGpusOfOneKind) {
  open(kRanks, 0, "Other GPU");
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    auto session = bind(communicator);
    EXPECT_FALSE(session);
    EXPECT_EQ(session.error().message(),
              "rank 3: runs on Other GPU, and rank 0 on Fake GPU, which need not give the same "
              "bits; give all ranks GPUs of one kind");
    return {};
  });
  EXPECT_TRUE(done);
}

TEST_F(NcclRanksTest, SayWhatNcclSays) {
  open(kRanks);
  gpu->failCall("ncclCommInitRankConfig", ncclSystemError);
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto session, bind(communicator));
    ADD_FAILURE() << "rank " << communicator.getRank() << " goes on";
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().message().starts_with(
      "NCCL, ncclCommInitRankConfig: unhandled system error; see which rank has ended"))
      << done.error().message();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

// Two stages, of two ranks each: the second one adds nothing and sends x back, or first what it had
// before, and the first one has it twice in flight.
Parts makeStages(bool sendsFirst) {
  Parts parts;
  parts.device = "cuda:sm_90";
  parts.grid = {{"pipeline", 2}, {"data", 2}};
  parts.stages = {{0, 2 * kBytes, 2}, {0, 2 * kBytes, 1}};
  parts.stateBytes = 2 * kBytes;
  fb::Slice mine = slice(Space::State, 0, kBytes), theirs = slice(Space::State, kBytes, kBytes),
            outside = slice(Space::Input, 0, kBytes), y = slice(Space::Output, 0, kBytes);
  auto add = [&](const std::string &name, uint32_t stage, std::vector<Parts::Command> commands) {
    Parts::Program &program = parts.programs.emplace_back();
    program.name = name;
    program.stage = stage;
    program.commands = std::move(commands);
    return &program;
  };
  Parts::Program *forward = add("run.0.forward", 0, {copy(outside, mine), send(1, 0, mine)});
  forward->inputBytes = kBytes;
  forward->inputs = {{"x", fb::DType::F32, {int64_t(kCount)}, outside}};
  if (sendsFirst)
    add("run.1.forward", 1, {copy(theirs, mine), send(0, 1, mine), receive(0, 0, theirs)});
  else
    add("run.1.forward", 1, {receive(0, 0, theirs), copy(theirs, mine), send(0, 1, mine)});
  Parts::Program *backward = add("run.0.backward", 0, {receive(1, 1, theirs), copy(theirs, y)});
  backward->outputBytes = kBytes;
  backward->outputs = {{"y", fb::DType::F32, {int64_t(kCount)}, y}};
  return parts;
}

class StagesOnGpus : public NcclRanksTest {
protected:
  /// Runs microbatches by 1F1B; the first stage has two of them in flight.
  static Expected<void> run(Communicator &communicator, size_t microbatches, bool meets = true,
                            bool sendsFirst = false) {
    BindOptions options;
    options.threads = 1;
    options.communicator = &communicator;
    SINTER_TRY(auto executable, makeStages(sendsFirst).load());
    SINTER_TRY(auto session, Session::bind(executable, options));
    if (communicator.getRank() >= 2) {
      SINTER_TRY(size_t forward, session->program("run.1.forward"));
      for (size_t i = 0; i < microbatches; ++i)
        SINTER_CHECK(session->run(forward));
      return meets ? communicator.barrier() : Expected<void>();
    }
    auto goForward = [&](size_t i) -> Expected<void> {
      SINTER_TRY(size_t program, session->program("run.0.forward", i % 2));
      SINTER_TRY(TensorView x, session->input(program, "x", DType::F32));
      for (size_t j = 0; j < kCount; ++j)
        x.as<float>()[j] = numberOf(communicator.getRank(), i, j);
      return session->run(program);
    };
    SINTER_CHECK(goForward(0));
    for (size_t i = 0; i < microbatches; ++i) {
      if (i + 1 < microbatches)
        SINTER_CHECK(goForward(i + 1));
      SINTER_TRY(size_t program, session->program("run.0.backward", i % 2));
      SINTER_CHECK(session->run(program));
      SINTER_TRY(TensorView y, session->output(program, "y", DType::F32));
      for (size_t j = 0; j < kCount; ++j)
        EXPECT_EQ(y.as<float>()[j], !sendsFirst ? numberOf(communicator.getRank(), i, j)
                                    : i == 0    ? 0
                                                : numberOf(communicator.getRank(), i - 1, j));
    }
    return communicator.barrier(); // all have what was sent
  }
};

TEST_F(StagesOnGpus, SendWhileTheyComputeOn) {
  for (unsigned seed : {0u, 1u, 2u}) {
    SCOPED_TRACE(seed);
    open(kRanks, seed);
    auto done = runThreadRanks(
        kRanks, [](Communicator &communicator) { return run(communicator, /*microbatches=*/6); });
    EXPECT_TRUE(done) << done.error().message();
    // A message of each link, and one when it is opened, on either of its ranks.
    EXPECT_EQ(gpu->statistics().collectives, kRanks * 2 * (6 + 1));
    EXPECT_EQ(gpu->calls("ncclCommSplit"), kRanks * 2);
  }
}

// Neither waits for the other one to receive, nor for a connection to it.
TEST_F(StagesOnGpus, MayBothSendFirst) {
  open(kRanks, /*streamSeed=*/1);
  auto done = runThreadRanks(kRanks, [](Communicator &communicator) {
    return run(communicator, /*microbatches=*/4, /*meets=*/true, /*sendsFirst=*/true);
  });
  EXPECT_TRUE(done) << done.error().message();
}

// Whose last send nobody receives is told as soon as it is known.
TEST_F(StagesOnGpus, DoNotWaitForARankThatHasEnded) {
  open(kRanks);
  std::atomic<int> told = 0;
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    if (communicator.getRank() == 2) {
      // It has computed one microbatch, and its session is gone before it says so.
      auto own = run(communicator, 1, /*meets=*/false);
      EXPECT_TRUE(own) << own.error().message();
      return fail("weights", "are not there", "");
    }
    auto more = run(communicator, 4);
    EXPECT_FALSE(more);
    EXPECT_NE(more.error().message().find("has ended with an error"), std::string::npos)
        << more.error().message();
    ++told;
    return {};
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(told, 3);
}

// As a program without stages has left it, or a person.
TEST_F(StagesOnGpus, AreRefusedWhereNcclKeepsTheOrderOfAllLinks) {
  Variable order("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  open(kRanks);
  auto done =
      runThreadRanks(kRanks, [](Communicator &communicator) { return run(communicator, 2); });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("NCCL_LAUNCH_ORDER_IMPLICIT: is 1, with which the stages "
                                        "of a pipeline may wait for each other for ever"),
            std::string::npos)
      << done.error().message();
}

TEST_F(StagesOnGpus, SayWhatNcclSaysOfASend) {
  open(kRanks);
  gpu->failCall("ncclSend", ncclSystemError, /*after=*/1);
  auto done =
      runThreadRanks(kRanks, [](Communicator &communicator) { return run(communicator, 2); });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("NCCL, ncclSend: unhandled system error"),
            std::string::npos)
      << done.error().message();
}

// As ranks do in which something else goes wrong: the others would wait in a kernel forever.
TEST_F(NcclRanksTest, DoNotWaitForARankThatHasEnded) {
  for (size_t runs : {0, 3}) {
    open(kRanks);
    std::atomic<int> told = 0;
    auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
      SINTER_TRY(auto session, bind(communicator));
      SINTER_CHECK(communicator.barrier());
      SINTER_CHECK(runSome(*session, communicator.getRank(), runs));
      SINTER_CHECK(communicator.barrier()); // all have what rank 2 sent
      if (communicator.getRank() == 2)
        return fail("weights", "are not there", "");
      auto y = run(*session, communicator.getRank(), runs);
      EXPECT_FALSE(y);
      EXPECT_NE(y.error().message().find("rank 2: has ended with an error"), std::string::npos)
          << y.error().message();
      ++told;
      return {};
    });
    EXPECT_FALSE(done);
    EXPECT_EQ(told, 3);
    EXPECT_EQ(gpu->calls("ncclCommAbort"), 3 * 3u);
  }
}

// The rank that computes and does not come is named by the ranks' watch, within its limits.
TEST_F(NcclRanksTest, NameARankThatDoesNotCome) {
  open(kRanks);
  auto begin = std::chrono::steady_clock::now();
  std::atomic<size_t> told = 0;
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    WatchOptions options;
    options.timeout = std::chrono::duration<double>(0.6);
    options.onFailure = [&](const Error &error) {
      EXPECT_TRUE(error.message().starts_with("rank 1 on ")) << error.message();
      EXPECT_NE(error.message().find("is stuck for "), std::string::npos) << error.message();
      ++told;
    };
    SINTER_TRY(auto watch, Watch::start(communicator, options));
    SINTER_TRY(auto session, bind(communicator));
    SINTER_CHECK(runSome(*session, communicator.getRank(), 3));
    if (communicator.getRank() == 1) {
      communicator.progress->beginCommand(0, 4); // a copy
      while (told < kRanks && std::chrono::steady_clock::now() < begin + std::chrono::seconds(30))
        continue;
      return {};
    }
    auto y = run(*session, communicator.getRank(), 3);
    EXPECT_FALSE(y);
    EXPECT_NE(y.error().message().find("rank 1 on "), std::string::npos) << y.error().message();
    EXPECT_TRUE(watch->end(y.error()));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(told, kRanks);
}

TEST_F(NcclRanksTest, SayWhatNcclFindsWhileTheyWait) {
  open(kRanks);
  auto done = runThreadRanks(kRanks, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto session, bind(communicator));
    SINTER_CHECK(runSome(*session, communicator.getRank(), 3));
    SINTER_CHECK(communicator.barrier());
    if (communicator.getRank() == 3)
      gpu->breakCommunication(3, ncclRemoteError);
    SINTER_CHECK(runSome(*session, communicator.getRank(), 4));
    ADD_FAILURE() << "rank " << communicator.getRank() << " goes on";
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find(
                "NCCL, a collective: remote process exited or there was a network error"),
            std::string::npos)
      << done.error().message();
}

} // namespace
