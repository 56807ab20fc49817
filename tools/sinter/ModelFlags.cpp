#include "tools/sinter/ModelFlags.h"

using namespace sinter;
using namespace sinter::cli;

void cli::addModel(CLI::App &command, std::string &model) {
  command
      .add_option("MODEL", model,
                  "Hugging Face directory, .gguf, config.json (random weights), MLIR text (.mlir) "
                  "or .sinter executable")
      ->required();
}

void cli::addCommonFlags(CLI::App &command, RunOptions &options, bool &json) {
  addOptions(command, options, {"target", "threads", "dtype"});
  command.add_flag("--json", json, "print one machine-readable object");
}

void cli::addRunFlags(CLI::App &command, RunOptions &options, bool &json) {
  addCommonFlags(command, options, json);
  addOptions(command, options,
             {"tf32", "tune", "grid", "reduce", "forbid_gather", "no_cache", "disable_pass",
              "load_pass_plugin", "add_pass"});
}

void cli::addRankFlags(CLI::App &command, RunOptions &options) {
  addOptions(command, options, {"ranks", "rank_timeout"});
}

void cli::addStepFlags(CLI::App &command, RunOptions &options) {
  addOptions<RunOptions>(command, options,
                         {"cache_dtype", "weights", "weights_group", "activations", "quantize_head",
                          "seed", "batch", "max_seq"});
}

Expected<void> cli::runOnRanks(RunOptions &options, const std::string &model,
                               const std::function<Expected<void>()> &work, RankControl control,
                               std::vector<std::string> words) {
  RankedCommand command;
  if (!options.grid.empty() || !model.ends_with(".sinter"))
    command.options.grid = options.grid;
  command.options.ranks = options.ranks;
  command.options.rankTimeout = options.rankTimeout;
  command.observer = &options.observer;
  command.communicator = &options.communicator;
  command.threads = &options.threads;
  command.control = control;
  command.words = std::move(words);
  return runOnRanks(std::move(command), work);
}
