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
inline void addModel(CLI::App &command, std::string &model) {
  command
      .add_option("MODEL", model,
                  "Hugging Face directory, .gguf, config.json (random weights), MLIR text (.mlir) "
                  "or .sinter executable")
      ->required();
}

/// Adds the options that every command takes.
inline void addCommonFlags(CLI::App &command, RunOptions &options, bool &json) {
  addOptions(command, options, {"target", "threads", "dtype"});
  command.add_flag("--json", json, "print one machine-readable object");
}

/// Adds the options that say how to compile and run, whatever the model and the work.
inline void addRunFlags(CLI::App &command, RunOptions &options, bool &json) {
  addCommonFlags(command, options, json);
  addOptions(command, options,
             {"tf32", "tune", "grid", "reduce", "no_cache", "disable_pass", "load_pass_plugin",
              "add_pass"});
}

/// Adds the options that say who runs on the ranks of a grid.
inline void addRankFlags(CLI::App &command, RunOptions &options) {
  addOptions(command, options, {"ranks", "rank_timeout"});
}

/// Does a command's work on the ranks that its options ask for; runOnRanks of RunOnRanks.h.
template <typename Options>
Expected<void> runOnRanks(CommandOptions<Options> &options,
                          const std::function<Expected<void>()> &work, bool stopsSoftly = false) {
  // The other options have defaults that the command's own work sets first.
  Expected<void> valid;
  RunOptions::visit(static_cast<RunOptions &>(options), [&](const OptionInfo &info, auto &value) {
    if (valid && (info.id == "ranks" || info.id == "rank_timeout"))
      valid = checkOption(info, value);
  });
  SINTER_CHECK(valid);
  RankedCommand command;
  if (!options.grid.empty() || !options.model.ends_with(".sinter"))
    command.options.grid = options.grid;
  command.options.ranks = options.ranks;
  command.options.timeout = options.rankTimeout;
  command.observer = &options.observer;
  command.communicator = &options.communicator;
  command.threads = &options.threads;
  command.stopsSoftly = stopsSoftly;
  return runOnRanks(std::move(command), work);
}

/// Adds MODEL and all of RunOptions that any step may have.
template <typename Options>
void addModelFlags(CLI::App &command, CommandOptions<Options> &options) {
  addModel(command, options.model);
  addRunFlags(command, options, options.json);
  addOptions<RunOptions>(
      command, options,
      {"cache_dtype", "weights", "weights_group", "quantize_head", "seed", "batch", "max_seq"});
}

/// Adds MODEL, its options, --mode and those of a training step.
template <typename Options>
void addStepModeFlags(CLI::App &command, CommandOptions<Options> &options) {
  addModelFlags(command, options);
  addOptions(command, options.mode);
  addOptions(command, options.training);
  addOptions<RunOptions>(command, options, {"zero", "memory_budget"});
}

} // namespace sinter::cli
