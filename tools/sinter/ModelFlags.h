//===- ModelFlags.h - What every command understands ------------*- C++ -*-===//
#pragma once

#include "sinter/RunOptions.h"
#include "sinter/StepMode.h"
#include "tools/cli/Flags.h"
#include "tools/cli/Output.h"
#include "tools/cli/RunOnRanks.h"

namespace sinter::cli {

/// Options of the library with what the command line adds to them.
template <typename Options> struct CommandOptions : Options {
  CommandOptions() {
    this->observer = terminal.observe();
    this->compilesApart = true;
  }
  CommandOptions(const CommandOptions &) = delete;

  std::string model; ///< directory, .gguf, config.json, .mlir or .sinter file
  bool json = false; ///< one object instead of tables

private:
  Terminal terminal;
};

/// Adds the positional MODEL to a command.
void addModel(CLI::App &command, std::string &model);

/// Adds the options that every command takes.
void addCommonFlags(CLI::App &command, RunOptions &options, bool &json);

/// Adds the options that say how to compile and run, whatever the model and the work.
void addRunFlags(CLI::App &command, RunOptions &options, bool &json);

/// Adds the options that say who runs on the ranks of a grid.
void addRankFlags(CLI::App &command, RunOptions &options);

/// The options of RunOptions that any step may have.
void addStepFlags(CLI::App &command, RunOptions &options);

/// Does a command's work on the ranks that its options ask for, which are given `words` beside what
/// this command was; runOnRanks of RunOnRanks.h. Fails where those options are not valid.
Expected<void> runOnRanks(RunOptions &options, const std::string &model,
                          const std::function<Expected<void>()> &work,
                          RankControl control = RankControl::None,
                          std::vector<std::string> words = {});

template <typename Options>
Expected<void>
runOnRanks(CommandOptions<Options> &options, const std::function<Expected<void>()> &work,
           RankControl control = RankControl::None, std::vector<std::string> words = {}) {
  return runOnRanks(options, options.model, work, control, std::move(words));
}

/// Adds MODEL and all of RunOptions that any step may have.
template <typename Options>
void addModelFlags(CLI::App &command, CommandOptions<Options> &options) {
  addModel(command, options.model);
  addRunFlags(command, options, options.json);
  addStepFlags(command, options);
}

/// Adds the options of a training step, and of who shares it.
inline void addTrainingFlags(CLI::App &command, RunOptions &options) {
  addOptions(command, options.training);
  addOptions<RunOptions>(command, options,
                         {"zero", "pipeline_schedule", "stages", "microbatches", "memory_budget"});
}

/// Adds MODEL, its options, --mode and those of a training step.
template <typename Options>
void addStepModeFlags(CLI::App &command, CommandOptions<Options> &options) {
  addModelFlags(command, options);
  addOptions(command, options.mode);
  addTrainingFlags(command, options);
}

} // namespace sinter::cli
