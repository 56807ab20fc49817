#include "runtime/Session/RanksVerifier.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/StepPlan.h"
#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

constexpr uint64_t kMicrobatches = 4;

/// Two stages that send activations on and gradients back, in slots of two lines each.
struct Pipeline : Parts {
  Pipeline() {
    grid = {{"pipeline", 2}};
    metadata = {{"leaves", "1"}};
    stages = {{0, 128, 2}, {0, 128, 1}};
    stateBytes = 128;
    programs = {program("accumulate.0.forward", 0, {fill(mine, 1), send(1, 0, mine)}),
                program("accumulate.1.forward", 1, {receive(0, 0, theirs), send(0, 1, mine)}),
                program("accumulate.0.backward", 0, {receive(1, 1, theirs)}),
                program("update.0.forward", 0, {}), program("update.1.forward", 1, {})};
  }

  static Program program(std::string name, uint32_t stage, std::vector<Command> commands) {
    Program result;
    result.name = std::move(name);
    result.stage = stage;
    result.commands = std::move(commands);
    return result;
  }

  std::vector<Command> &commandsOf(const std::string &name) {
    return std::ranges::find(programs, name, &Program::name)->commands;
  }

  /// What is wrong, or empty.
  std::string verify() const {
    auto executable = load();
    if (!executable)
      return "not loaded: " + executable.error().message();
    auto verified = verifySteps(**executable, kMicrobatches, /*validation=*/false);
    return verified ? "" : verified.error().why;
  }

  fb::Slice mine = slice(Space::State, 0, 64), theirs = slice(Space::State, 64, 64);
};

TEST(RanksVerifierTest, AcceptsWhatFits) {
  EXPECT_EQ(Pipeline().verify(), "");
  EXPECT_TRUE(verifySteps(**smallModel().load(), kMicrobatches, false)) << "no pipeline";
}

TEST(RanksVerifierTest, FindsWhatIsNeverSent) {
  Pipeline pipeline;
  pipeline.commandsOf("accumulate.1.forward").pop_back();
  EXPECT_EQ(pipeline.verify(),
            "rank 0 at command 0 (receive) of accumulate.0.backward waits for rank 1, rank 1 at "
            "command 0 (receive) of accumulate.1.forward waits for rank 0, and so forever");
  // Once, the one that it waits for is at its end.
  pipeline = Pipeline();
  pipeline.commandsOf("update.0.forward").push_back(receive(1, 7, pipeline.theirs));
  EXPECT_EQ(pipeline.verify(),
            "rank 0 at command 0 (receive) of update.0.forward waits for rank 1, rank 1 at command "
            "0 (receive) of accumulate.1.forward waits for rank 0, and so forever");
}

TEST(RanksVerifierTest, FindsWhatIsNeverReceived) {
  Pipeline pipeline;
  pipeline.commandsOf("update.1.forward").push_back(send(0, 7, pipeline.mine));
  EXPECT_EQ(pipeline.verify(), "rank 1 at command 0 (send) of update.1.forward waits for rank 0, "
                               "which has nothing left to do");
  pipeline = Pipeline();
  // Of another slot each, nobody waits for them.
  pipeline.stages[0].slots = 64;
  pipeline.commandsOf("accumulate.0.forward").push_back(send(1, 7, pipeline.theirs));
  EXPECT_NE(pipeline.verify().find("waits for rank 1"), std::string::npos);
}

TEST(RanksVerifierTest, FindsOtherSizes) {
  Pipeline pipeline;
  pipeline.commandsOf("accumulate.0.backward") = {receive(1, 1, slice(Space::State, 64, 32))};
  EXPECT_EQ(pipeline.verify(), "rank 0 at command 0 (receive) of accumulate.0.backward receives 32 "
                               "bytes, of which rank 1 sends 64");
}

TEST(RanksVerifierTest, FindsCirclesOfWaits) {
  // The first stage waits for the gradient of what it has not sent yet.
  Pipeline pipeline;
  pipeline.commandsOf("accumulate.0.forward") = {receive(1, 1, pipeline.theirs),
                                                 send(1, 0, pipeline.mine)};
  pipeline.commandsOf("accumulate.0.backward") = {fill(pipeline.mine, 0)};
  EXPECT_EQ(pipeline.verify(),
            "rank 0 at command 0 (receive) of accumulate.0.forward waits for rank 1, rank 1 at "
            "command 0 (receive) of accumulate.1.forward waits for rank 0, and so forever");
}

TEST(RanksVerifierTest, FindsMemoryThatIsNotFreeInTime) {
  // The second stage writes again what the first takes only after all microbatches.
  Pipeline pipeline;
  pipeline.commandsOf("accumulate.1.forward").push_back(send(0, 2, pipeline.theirs));
  for (uint64_t i = 0; i < kMicrobatches; ++i)
    pipeline.commandsOf("update.0.forward").push_back(receive(1, 2, pipeline.theirs));
  EXPECT_EQ(pipeline.verify(),
            "rank 0 at command 0 (receive) of accumulate.0.backward waits for rank 1, rank 1 at "
            "command 0 (receive) of accumulate.1.forward waits for rank 0, and so forever");
  pipeline.stages[1].slots = kMicrobatches;
  EXPECT_EQ(pipeline.verify(), "");
}

TEST(RanksVerifierTest, FindsOtherCollectives) {
  using enum fb::CollectiveKind;
  fb::Slice all = slice(Space::State, 0, 128);
  Pipeline pipeline;
  pipeline.commandsOf("update.0.forward") = {collective(AllGather, {0}, pipeline.mine, all)};
  EXPECT_EQ(pipeline.verify().find("not loaded"), 0u) << "they overlap";
  fb::Slice part = slice(Space::State, 0, 32), parts = slice(Space::State, 64, 64);
  pipeline.commandsOf("update.0.forward") = {collective(AllGather, {0}, part, parts)};
  EXPECT_EQ(pipeline.verify(),
            "rank 0 at command 0 (collective) of update.0.forward waits for rank 1, rank 1 at "
            "command 0 (receive) of accumulate.1.forward waits for rank 0, and so forever");
  pipeline.commandsOf("update.1.forward") = {
      collective(AllToAll, {0}, pipeline.mine, pipeline.theirs)};
  EXPECT_EQ(pipeline.verify(), "rank 0 at command 0 (collective) of update.0.forward runs "
                               "AllGather of 32 bytes, where rank 1 runs AllToAll of 64");
  pipeline.commandsOf("update.1.forward") = {collective(AllGather, {0}, part, parts)};
  EXPECT_EQ(pipeline.verify(), "");
}

//===----------------------------------------------------------------------===//
// GPUs, where a link is a queue
//===----------------------------------------------------------------------===//

struct GpuPipeline : Pipeline {
  GpuPipeline() { device = "cuda:sm_90"; }

  fb::Slice first = slice(Space::State, 0, 32), second = slice(Space::State, 32, 32);
  fb::Slice third = slice(Space::State, 64, 32), fourth = slice(Space::State, 96, 32);
};

TEST(RanksVerifierOfGpus, AcceptsWhatFits) { EXPECT_EQ(GpuPipeline().verify(), ""); }

TEST(RanksVerifierOfGpus, FindsAnotherOrder) {
  GpuPipeline pipeline;
  pipeline.commandsOf("accumulate.0.forward") = {send(1, 0, pipeline.first),
                                                 send(1, 2, pipeline.second)};
  std::vector<Parts::Command> &forward = pipeline.commandsOf("accumulate.1.forward");
  forward = {receive(0, 2, pipeline.fourth), receive(0, 0, pipeline.third),
             send(0, 1, pipeline.mine)};
  EXPECT_EQ(pipeline.verify(),
            "rank 1 at command 0 (receive) of accumulate.1.forward receives over "
            "channel 2 what rank 0 sends behind channel 0");
  std::swap(forward[0], forward[1]);
  EXPECT_EQ(pipeline.verify(), "");
  // A processor has a queue for each channel.
  std::swap(forward[0], forward[1]);
  pipeline.device = "";
  EXPECT_EQ(pipeline.verify(), "");
}

// What goes back is another link: it may be received before what was sent forward first.
TEST(RanksVerifierOfGpus, FindsCirclesOfWaits) {
  GpuPipeline pipeline;
  pipeline.commandsOf("accumulate.1.forward") = {send(0, 1, pipeline.mine),
                                                 receive(0, 0, pipeline.theirs)};
  EXPECT_EQ(pipeline.verify(), "");
  pipeline = GpuPipeline();
  pipeline.commandsOf("accumulate.0.forward") = {receive(1, 1, pipeline.theirs),
                                                 send(1, 0, pipeline.mine)};
  pipeline.commandsOf("accumulate.0.backward") = {fill(pipeline.mine, 0)};
  EXPECT_NE(pipeline.verify().find("and so forever"), std::string::npos) << pipeline.verify();
}

TEST(RanksVerifierOfGpus, FindsStatesThatAreNotFreeInTime) {
  // Every microbatch writes again what is received only behind them all.
  GpuPipeline pipeline;
  fb::Slice weight = slice(Space::State, 0, 64);
  pipeline.stateBytes = 384;
  pipeline.mine = slice(Space::State, 128, 64);
  pipeline.theirs = slice(Space::State, 192, 64);
  pipeline.stages = {{128, 128, 2}, {128, 128, 1}};
  pipeline.commandsOf("accumulate.0.forward") = {fill(weight, 1), send(1, 0, pipeline.mine)};
  pipeline.commandsOf("accumulate.1.forward") = {receive(0, 0, pipeline.theirs),
                                                 send(0, 1, pipeline.mine)};
  pipeline.commandsOf("accumulate.0.backward") = {receive(1, 1, pipeline.theirs)};
  pipeline.programs.push_back(Pipeline::program("share.0.forward", 0, {send(1, 2, weight)}));
  pipeline.programs.push_back(Pipeline::program("update.1.backward", 1, {receive(0, 2, weight)}));
  EXPECT_NE(pipeline.verify().find("at command 0 (fill) of accumulate.0.forward waits for rank 1"),
            std::string::npos)
      << pipeline.verify();
}

TEST(RanksVerifierOfGpus, FindsChannelsThatAreNoLink) {
  GpuPipeline pipeline;
  pipeline.commandsOf("update.0.forward").push_back(send(1, 7, pipeline.mine));
  EXPECT_EQ(pipeline.verify(), "channel 7 of update.0.forward has one end only");
  pipeline = GpuPipeline();
  pipeline.commandsOf("update.1.forward").push_back(receive(0, 1, pipeline.theirs));
  EXPECT_EQ(pipeline.verify(), "channel 1 of accumulate.1.forward is between stages 1 and 0, "
                               "elsewhere between 1 and 1");
  pipeline = GpuPipeline();
  pipeline.programs.push_back(
      Pipeline::program("preprocess.0.forward", 0, {send(1, 0, pipeline.mine)}));
  EXPECT_EQ(pipeline.verify(), "channel 0 of preprocess.0.forward is of weights, which GPUs do not "
                               "send each other");
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Three stages that hand a line on, and the last one's to all.
struct Inference : Parts {
  Inference() {
    grid = {{"pipeline", 3}};
    stages = {{0, 128, 1}, {0, 128, 1}, {0, 128, 1}};
    stateBytes = 128;
    for (const std::string entry : {"prefill", "decode"})
      for (Program &program : makePasses(entry))
        programs.push_back(std::move(program));
    auto weights = Pipeline::program("preprocess.1.forward", 1, {fill(theirs, 0)});
    programs.push_back(std::move(weights));
  }

  std::vector<Program> makePasses(const std::string &entry) const {
    auto make = [&](const std::string &pass, uint32_t stage, std::vector<Command> commands) {
      return Pipeline::program(entry + "." + pass, stage, std::move(commands));
    };
    return {make("0.forward", 0, {fill(mine, 1), send(1, 0, mine)}),
            make("1.forward", 1, {receive(0, 0, theirs), send(2, 1, mine)}),
            make("2.forward", 2, {receive(1, 1, theirs), send(0, 2, mine), send(1, 3, mine)}),
            make("1.backward", 1, {receive(2, 3, theirs)}),
            make("0.backward", 0, {receive(2, 2, theirs)})};
  }

  std::vector<Command> &commandsOf(const std::string &name) {
    return std::ranges::find(programs, name, &Program::name)->commands;
  }

  /// What is wrong where a session plans its memory, or empty.
  std::string verify(std::vector<std::string> entries = {"prefill", "decode"}) const {
    auto executable = load();
    if (!executable)
      return "not loaded: " + executable.error().message();
    BindOptions options;
    options.programs = std::move(entries);
    auto predicted = predictMemory(*executable, options);
    return predicted ? "" : predicted.error().why;
  }

  fb::Slice mine = slice(Space::State, 0, 64), theirs = slice(Space::State, 64, 64);
};

TEST(RanksVerifierOfInference, AcceptsWhatFits) {
  EXPECT_EQ(Inference().verify(), "");
  EXPECT_EQ(Inference().verify({}), "") << "all entries";
}

TEST(RanksVerifierOfInference, LooksAtBoundEntriesAlone) {
  Inference inference;
  inference.commandsOf("decode.0.backward").clear();
  EXPECT_EQ(inference.verify({"prefill"}), "");
  EXPECT_NE(inference.verify({"decode"}), "");
  EXPECT_NE(inference.verify({}), "");
  EXPECT_EQ(inference.verify({"decode.2.forward"}), "") << "not an entry, but a part of one";
}

TEST(RanksVerifierOfInference, FindsWhatIsNeverSent) {
  Inference inference;
  inference.commandsOf("prefill.2.forward").pop_back();
  EXPECT_EQ(inference.verify(),
            "rank 0 at command 0 (receive) of prefill.0.backward waits for rank 2, rank 2 at "
            "command 0 (receive) of prefill.2.forward waits for rank 1, rank 1 at command 0 "
            "(receive) of prefill.1.backward waits for rank 2, and so forever");
}

TEST(RanksVerifierOfInference, FindsWhatIsNeverReceived) {
  // Nobody writes it again, but the session waits for it behind the entry.
  Inference inference;
  inference.commandsOf("prefill.2.forward").push_back(send(0, 9, inference.theirs));
  EXPECT_NE(inference.verify().find("rank 2 at command 0 (receive) of prefill.2.forward waits for"),
            std::string::npos)
      << inference.verify();
  inference = Inference();
  inference.commandsOf("preprocess.1.forward").push_back(send(0, 9, inference.theirs));
  EXPECT_NE(inference.verify().find("waits for"), std::string::npos) << inference.verify();
}

TEST(RanksVerifierOfInference, FindsOtherSizesAndChannels) {
  Inference inference;
  inference.commandsOf("decode.1.forward")[0] = receive(0, 0, slice(Space::State, 64, 32));
  EXPECT_EQ(inference.verify(), "rank 1 at command 0 (receive) of decode.1.forward receives 32 "
                                "bytes, of which rank 0 sends 64");
  inference = Inference();
  inference.commandsOf("decode.1.forward")[0] = receive(0, 5, inference.theirs);
  EXPECT_NE(inference.verify().find("waits for"), std::string::npos) << inference.verify();
}

TEST(RanksVerifierOfInference, FindsOtherCollectives) {
  using enum fb::CollectiveKind;
  Inference inference;
  fb::Slice part = slice(Space::State, 0, 16), parts = slice(Space::State, 64, 48);
  for (const char *name : {"decode.0.backward", "decode.1.backward", "decode.2.forward"})
    inference.commandsOf(name).push_back(collective(AllGather, {0}, part, parts));
  EXPECT_EQ(inference.verify(), "");
  inference.commandsOf("decode.1.backward").back() =
      collective(AllToAll, {0}, slice(Space::State, 0, 48), parts);
  EXPECT_NE(inference.verify().find("(collective) of decode."), std::string::npos)
      << inference.verify();
  inference.commandsOf("decode.1.backward").pop_back();
  EXPECT_NE(inference.verify().find("waits for rank 1"), std::string::npos) << inference.verify();
}

TEST(RanksVerifierOfInference, FindsCirclesOfWaits) {
  Inference inference;
  std::swap(inference.commandsOf("prefill.1.forward"), inference.commandsOf("prefill.1.backward"));
  EXPECT_NE(inference.verify().find("and so forever"), std::string::npos) << inference.verify();
}

} // namespace
