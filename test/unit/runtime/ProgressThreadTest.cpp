// Collectives of a processor beside its other commands.
#include "runtime/Device/Cpu/ProgressThread.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Session/Session.h"
#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

std::atomic<int> used = 0;
std::atomic<bool> waitedInVain = false;

// Rank 0, whose number it is given, goes on when rank 1 has used what both have gathered.
void hold(void *const *slices, int64_t, int64_t) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (*static_cast<const float *>(slices[0]) == 0 && used == 0)
    if (std::chrono::steady_clock::now() > end) {
      waitedInVain = true;
      return;
    }
}
void use(void *const *slices, int64_t, int64_t) {
  std::memcpy(slices[1], slices[0], 2 * sizeof(float));
  ++used;
}

//   0   hold                  | y = use all, waits for it
//   1   all = all_gather x
Parts makeParts() {
  Parts parts;
  parts.kernels = {"hold", "use"};
  parts.grid = {{"data", 2}};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "run";
  run.inputBytes = 4;
  run.outputBytes = 8;
  run.arenaBytes = 64;
  fb::Slice x = slice(Space::Input, 0, 4), y = slice(Space::Output, 0, 8),
            all = slice(Space::Arena, 0, 8);
  run.inputs = {{"x", fb::DType::F32, {1}, x}};
  run.outputs = {{"y", fb::DType::F32, {2}, y}};
  run.commands = {launch(0, 1, {x}), collective(fb::CollectiveKind::AllGather, {0}, x, all),
                  launch(1, 1, {all, y}, "use", "", {fb::DType::F32})};
  run.commands[1].stream = 1;
  run.commands[2].waits = {1};
  return parts;
}

Expected<std::unique_ptr<Session>> bind(Communicator &communicator) {
  BindOptions options;
  options.threads = 1;
  options.communicator = &communicator;
  options.kernels["hold"] = hold;
  options.kernels["use"] = use;
  SINTER_TRY(auto executable, makeParts().load());
  return Session::bind(executable, options);
}

// In one thread rank 0 would wait for rank 1, and rank 1 for what rank 0 sends.
TEST(ProgressThreadTest, CollectivesRunBesideCommands) {
  waitedInVain = false;
  auto done = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto session, bind(communicator));
    SINTER_TRY(size_t program, session->program("run"));
    SINTER_TRY(TensorView x, session->input(program, "x", DType::F32));
    SINTER_TRY(TensorView y, session->output(program, "y", DType::F32));
    for (int run = 0; run < 20; ++run) {
      SINTER_CHECK(communicator.barrier());
      used = 0;
      SINTER_CHECK(communicator.barrier());
      x.as<float>()[0] = float(communicator.getRank() * (run + 1));
      SINTER_CHECK(session->run(program));
      EXPECT_EQ(y.as<float>()[0], 0);
      EXPECT_EQ(y.as<float>()[1], float(run + 1));
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_FALSE(waitedInVain);
}

// Who waits for a collective that fails does not wait forever, nor does the next command begin.
TEST(ProgressThreadTest, FailsWithItsCollective) {
  used = 0;
  auto done = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    SINTER_TRY(auto session, bind(communicator));
    SINTER_TRY(size_t program, session->program("run"));
    SINTER_TRY(TensorView x, session->input(program, "x", DType::F32));
    x.as<float>()[0] = 1;
    if (communicator.getRank() == 1)
      return fail("weights", "are not there", "");
    Expected<void> ran = session->run(program);
    EXPECT_FALSE(ran);
    EXPECT_EQ(ran.error().message(), "rank 1: has ended with an error; see what it says");
    return {};
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(used, 0);
}

} // namespace
