//===- Profile.cpp - `sinter profile`: where the time went ------------------===//

#include "sinter/Profile.h"
#include "tools/cli/Checks.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Limits.h"
#include "tools/sinter/ModelFlags.h"
#include "tools/sinter/RankTable.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ProfileCommandOptions : CommandOptions<ProfileOptions> {
  Repetition repetition;
};

using Rows = std::vector<runtime::ProfileRow>;
} // namespace

static void print(const Rows &rows, double totalNs, int64_t runs, bool stages) {
  std::vector<std::string> heading = {"op", "layer",       "count",   "ms",
                                      "%",  "roofline ms", "GFLOP/s", "GB/s"};
  if (stages)
    heading.insert(heading.begin(), "stage");
  Table table(heading, stages ? 3 : 2);
  auto addRow = [&](const std::string &stage, std::vector<std::string> row) {
    if (stages)
      row.insert(row.begin(), stage);
    table.addRow(std::move(row));
  };
  for (const runtime::ProfileRow &row : rows)
    addRow(row.stage, {row.label, row.layer, std::to_string(row.count / runs),
                       formatNumber(row.measuredNs * 1e-6 / runs, 4),
                       formatNumber(100.0 * row.measuredNs / totalNs, 1),
                       formatNumber(row.rooflineNs * 1e-6 / runs, 4),
                       formatNumber(row.measuredNs ? double(row.flops) / row.measuredNs : 0, 1),
                       formatNumber(row.measuredNs ? double(row.bytes) / row.measuredNs : 0, 1)});
  addRow("", {"total", "", "", formatNumber(totalNs * 1e-6 / runs, 4), "100.0", "", "", ""});
  table.print();
}

static nlohmann::json describe(const Rows &rows, double totalNs, int64_t runs, bool stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const runtime::ProfileRow &row : rows) {
    list.push_back({{"op", row.label},
                    {"layer", row.layer},
                    {"count", row.count / runs},
                    {"ms", row.measuredNs * 1e-6 / runs},
                    {"fraction", row.measuredNs / totalNs},
                    {"roofline_ms", row.rooflineNs * 1e-6 / runs},
                    {"flops", row.flops / runs},
                    {"bytes", row.bytes / runs}});
    if (stages)
      list.back()["stage"] = row.stage;
  }
  return list;
}

static Expected<void> runProfile(const ProfileCommandOptions &options) {
  SINTER_TRY(ProfileResult result, profile(options.model, options, options.repetition));
  bool training = options.isTraining();
  if (!options.json) {
    if (training)
      print(result.stages, result.totalNs, result.runs, true);
    if (training && options.by != "stage")
      std::printf("\n");
    if (options.by != "stage")
      print(result.rows, result.totalNs, result.runs, training);
    if (result.ranks)
      printRanks(*result.ranks, result.runs);
    printLimits(result.limits, result.limitsAreMeasured);
    for (const std::string &alternative : result.alternatives)
      std::printf("chosen: %s\n", alternative.c_str());
    return {};
  }
  nlohmann::json object = {{"mode", options.mode.mode},
                           {"runs", result.runs},
                           {"ms", result.totalNs * 1e-6 / result.runs},
                           {"limits", describeLimits(result.limits, result.limitsAreMeasured)},
                           {"rows", describe(result.rows, result.totalNs, result.runs, training)}};
  if (result.ranks)
    object["ranks"] = describeRanks(*result.ranks, result.runs);
  if (!result.alternatives.empty())
    object["alternatives"] = result.alternatives;
  if (training)
    object["stages"] = describe(result.stages, result.totalNs, result.runs, true);
  printJson(object);
  return {};
}

void sinter::cli::addProfile(CLI::App &program) {
  CLI::App *command = addCommand(program, "profile",
                                 "Measured time per op and layer against the roofline, of a "
                                 "model or of a graph with one entry (.mlir)");
  auto options = std::make_shared<ProfileCommandOptions>();
  addStepModeFlags(*command, *options);
  addRankFlags(*command, *options);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(wholeNumber(1, 1 << 16));
  command
      ->add_option("--by", options->by, "what makes a row: op, layer, both or (train) stage alone")
      ->check(CLI::IsMember({"op", "layer", "both", "stage"}));
  command->add_option("--trace", options->trace, "Chrome/Perfetto trace to write");
  command->callback([options, command] {
    options->given = listGiven(*command);
    finish(runOnRanks(*options, [&] { return runProfile(*options); }));
  });
}
