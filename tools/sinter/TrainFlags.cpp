#include "tools/sinter/TrainFlags.h"

using namespace sinter;
using namespace sinter::cli;

void sinter::cli::addTrainFlags(CLI::App &command, TrainOptions &options, bool &json) {
  addOptions(command, options.data);
  command.get_option("--data")->required();
  command.get_option("--val-split")->excludes(command.get_option("--val-data"));
  addOptions(command, options,
             {"steps", "batch", "seq", "seed", "eval_every", "lr", "adamw_lr", "min_lr", "warmup",
              "schedule", "decay_fraction", "scale_lr_from_batch"});
  command.get_option("--batch")->description("rows that are computed at a time (default: 8)");
  command.get_option("--seq")->description(
      "tokens of a row (default: 256, or as many as the model has positions)");
  command.get_option("--seed")->description(
      "of random initial weights, the data's order and dropout (default: 0)");
  for (const char *name : {"--batch", "--seq", "--seed"})
    command.get_option(name)->group("Run");
  addTrainingFlags(command, options);
  addRunFlags(command, options, json);
  for (const char *name : {"--target", "--threads", "--dtype"})
    command.get_option(name)->group("Machine");
}

std::string sinter::cli::formatCount(double count) {
  const char *units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(units)) {
    count /= 1000;
    ++unit;
  }
  return formatNumber(count, unit == 0 ? 0 : 1) + units[unit];
}
