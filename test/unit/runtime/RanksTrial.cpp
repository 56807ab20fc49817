//===- RanksTrial.cpp - A program for ranks to fail in ----------------------===//
//
//   RanksTrial [--ranks N] [--steps N] [--fault none|stuck|error|program] [--faulty RANK]
//              [--step S] [--timeout SECONDS] [--pids FOLDER]
//
// Each step computes for a millisecond and adds over all ranks. What the faulty rank does at step
// S: its kernel never ends, it ends with an error; or it has another program from the start. FOLDER
// gets each rank's process id, and a file `fault` at that moment.
//
//===----------------------------------------------------------------------===//

#include "runtime/Collective/RankProgress.h"
#include "runtime/Session/Session.h"
#include "test/unit/runtime/TestExecutable.h"
#include "tools/cli/OneLine.h"
#include "tools/cli/RunOnRanks.h"
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {
struct Options {
  int64_t ranks = 0, threads = 1;
  uint64_t steps = 1'000'000, faultyStep = 100;
  size_t faulty = 1;
  double timeout = 3.5;
  std::string fault = "none", folder;
  Observer observer;
  Communicator *communicator = nullptr;
};

std::atomic<bool> stuck = false;

void compute(void *const *, int64_t, int64_t) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (stuck || std::chrono::steady_clock::now() < end)
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

Parts makeProgram(size_t ranks) {
  Parts parts;
  parts.grid = {{"data", ranks}};
  parts.kernels = {"compute"};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "train_step";
  run.arenaBytes = 32768;
  fb::Slice part = slice(Space::Arena, 0, 16384), sum = slice(Space::Arena, 16384, 16384);
  run.commands = {fill(part, 0), launch(0, 1, {part}, "matmul", "model.layers.3", {fb::DType::F32}),
                  collective(fb::CollectiveKind::AllReduce, {0}, part, sum)};
  return parts;
}
} // namespace

static Expected<void> run(const Options &options) {
  Communicator *communicator = options.communicator;
  bool isFaulty = communicator && communicator->getRank() == options.faulty;
  Parts parts = makeProgram(communicator ? communicator->size() : 1);
  if (isFaulty && options.fault == "program")
    ++parts.seed;
  SINTER_TRY(auto executable, parts.load());
  BindOptions binding;
  binding.threads = static_cast<unsigned>(options.threads);
  binding.communicator = communicator;
  binding.kernels["compute"] = compute;
  SINTER_TRY(auto session, Session::bind(executable, binding));
  SINTER_TRY(size_t program, session->program("train_step"));
  if (!options.folder.empty()) {
    std::string name = std::to_string(communicator ? communicator->getRank() : 0);
    std::ofstream(options.folder + "/" + name) << ::getpid() << "\n";
  }
  for (uint64_t step = 0; step < options.steps; ++step) {
    if (communicator && communicator->progress)
      communicator->progress->beginStep(step);
    bool fails = isFaulty && step == options.faultyStep;
    if (fails && !options.folder.empty())
      std::ofstream(options.folder + "/fault") << "now\n";
    if (fails && options.fault == "error")
      return fail("step " + std::to_string(step), "the loss is nan", "look at the data");
    stuck = fails && options.fault == "stuck";
    SINTER_CHECK(session->run(program));
  }
  std::printf("%llu steps\n", static_cast<unsigned long long>(options.steps));
  return {};
}

int main(int argc, char **argv) {
  CLI::App app("A program for ranks to fail in.");
  Options options;
  app.add_option("--ranks", options.ranks);
  app.add_option("--steps", options.steps);
  app.add_option("--fault", options.fault);
  app.add_option("--faulty", options.faulty);
  app.add_option("--step", options.faultyStep);
  app.add_option("--timeout", options.timeout);
  app.add_option("--pids", options.folder);
  CLI11_PARSE(app, argc, argv);
  cli::RankedCommand command;
  command.options.ranks = options.ranks;
  command.options.rankTimeout = options.timeout;
  command.observer = &options.observer;
  command.communicator = &options.communicator;
  command.threads = &options.threads;
  Expected<void> result = cli::runOnRanks(command, [&] { return run(options); });
  if (result)
    return 0;
  std::fprintf(stderr, "%ssinter: %s\n", cli::rankPrefix().c_str(),
               cli::describeError(result.error()).c_str());
  return 1;
}
