//===- SharedRun.h - A kept model that ranks train together -----*- C++ -*-===//
#pragma once

#include "runtime/Checkpoint/BoxFiles.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Train/TrainStates.h"
#include "test/e2e/TrainedModel.h"
#include "test/support/ValueOf.h"
#include "gtest/gtest.h"
#include <atomic>
#include <map>

namespace sinter {

/// For the names of tests.
inline void PrintTo(DType type, std::ostream *out) { *out << nameOf(type); }

} // namespace sinter

namespace sinter::test {

/// How ranks share a run.
struct Layout {
  std::string grid;
  int64_t zero = 0;
  std::string schedule = ""; ///< of a pipeline

  auto operator<=>(const Layout &) const = default;
};

inline std::string describe(const Layout &layout) {
  return layout.grid + ", zero " + std::to_string(layout.zero) + " " + layout.schedule;
}

/// A model's training, with dropout, in microbatches of one row.
class SharedRun {
public:
  static constexpr uint64_t kSteps = 3; ///< of a run, where nothing else is said

  /// On a processor, or on GPUs of a `target`.
  /// @param sizes none: the model's own, and its weights; else random ones.
  SharedRun(const std::string &name, DType type, uint64_t microbatches = 8,
            const std::string &target = "", std::optional<OtherSizes> sizes = {})
      : model(sizes ? TrainedModel(name, *sizes) : TrainedModel(name)), microbatches(microbatches) {
    options = model.options();
    options.batch = 1;
    options.computeType = type;
    options.training.dropout = 0.1;
    options.training.accumulate = static_cast<int64_t>(microbatches);
    if (!target.empty())
      options.target = target;
  }

  std::shared_ptr<const runtime::Executable> compile(const Layout &layout) {
    std::shared_ptr<const runtime::Executable> &known = executables[layout];
    if (known)
      return known;
    CompileOptions changed = options;
    changed.grid = layout.grid;
    changed.zero = layout.zero;
    changed.pipelineSchedule = layout.schedule;
    return known = model.compile(changed);
  }

  /// Trains in `directory`, on from where a run is there, for so many steps of the schedule's.
  std::vector<runtime::StepRecord>
  train(const Layout &layout, const std::filesystem::path &directory, uint64_t steps = kSteps) {
    auto executable = compile(layout);
    size_t ranks = runtime::countRanks(executable->getRoot());
    std::vector<std::vector<runtime::StepRecord>> records(ranks);
    std::atomic<bool> stop = false;
    auto run = [&](runtime::Communicator *communicator, size_t rank) -> Expected<void> {
      runtime::TrainOptions run = model.trainOptions(/*threads=*/1, /*learningRate=*/1e-2);
      run.schedule.steps = kSteps;
      run.accumulate = microbatches;
      run.seed = 5;
      run.session.communicator = communicator;
      run.directory = directory.string();
      run.resume = true;
      run.stop = &stop;
      run.onStep = [&, rank](const runtime::StepRecord &record) {
        records[rank].push_back(record);
        if (rank == 0)
          stop = record.step + 1 == steps;
      };
      SINTER_TRY(auto trainer,
                 runtime::Trainer::create(executable, {model.tokens(), std::nullopt}, run));
      SINTER_TRY(runtime::TrainResult result, trainer->run());
      EXPECT_EQ(result.steps, steps);
      return {};
    };
    Expected<void> done =
        ranks == 1 ? run(nullptr, 0)
                   : runtime::runThreadRanks(ranks, [&](runtime::Communicator &communicator) {
                       return run(&communicator, communicator.getRank());
                     });
    EXPECT_TRUE(done) << done.error().message();
    for (const auto &own : records)
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(own[i].loss, records[0][i].loss);
        EXPECT_EQ(own[i].gradNorm, records[0][i].gradNorm);
      }
    return records[0];
  }

  /// All bytes of the states in the checkpoint behind the last step, whoever wrote them.
  std::vector<std::byte> statesIn(const std::filesystem::path &directory, uint64_t steps = kSteps) {
    std::filesystem::path checkpoint =
        runtime::CheckpointFolder(directory / "checkpoints").at(steps);
    auto model = valueOf(runtime::BoxFiles::open(checkpoint, runtime::modelFile));
    auto optimizer = valueOf(runtime::BoxFiles::open(checkpoint, runtime::optimizerFile));
    std::vector<std::byte> all;
    for (const runtime::HeldState &state : runtime::describeStates(*compile({}), 0)) {
      const TensorToWrite &tensor = state.part.tensor;
      std::vector<std::byte> bytes(state.getBox().getElements() * sizeOf(tensor.dtype));
      auto read = (state.parameter ? model : optimizer)
                      .read(tensor.name, tensor.dtype, tensor.shape, state.getBox(), bytes);
      EXPECT_TRUE(read) << read.error().message();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  TrainedModel model;
  uint64_t microbatches;
  CompileOptions options;
  std::map<Layout, std::shared_ptr<const runtime::Executable>> executables;
};

/// The loss and the gradient norm of each step.
inline std::vector<double> numbersOf(const std::vector<runtime::StepRecord> &records) {
  std::vector<double> numbers;
  for (const runtime::StepRecord &record : records)
    numbers.insert(numbers.end(), {record.loss, record.gradNorm});
  return numbers;
}

} // namespace sinter::test
