//===- Profile.cpp - `sinter profile`: where the time went ------------------===//

#include "runtime/Trace/Trace.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Measure.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ProfileOptions : StepModeOptions {
  Repetition repetition;
  std::string trace;
  std::string by = "op";
};

/// Steps that were run with a trace.
struct Traced {
  explicit Traced(size_t events) : trace(events) {}

  runtime::Trace trace;
  std::vector<double> milliseconds; ///< of every step
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
                       formatNumber(row.predictedNs * 1e-6 / runs, 4),
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
                    {"roofline_ms", row.predictedNs * 1e-6 / runs},
                    {"flops", row.flops / runs},
                    {"bytes", row.bytes / runs}});
    if (stages)
      list.back()["stage"] = row.stage;
  }
  return list;
}

/// Prints where the time of the traced steps went.
static Expected<void> report(const ProfileOptions &options, const Traced &traced,
                             const runtime::Executable &executable) {
  bool training = options.isTraining();
  runtime::ProfileBy by;
  by.label = options.by == "op" || options.by == "both";
  by.layer = options.by == "layer" || options.by == "both";
  by.stage = training;
  Rows rows = runtime::profile(traced.trace, executable, by), stages;
  if (training)
    stages =
        runtime::profile(traced.trace, executable, {.label = false, .layer = false, .stage = true});
  auto totalNs = static_cast<double>(runtime::measuredTime(traced.trace));
  auto runs = static_cast<int64_t>(traced.milliseconds.size());
  if (!options.trace.empty())
    SINTER_CHECK(runtime::writeChromeTrace(options.trace, traced.trace, executable));
  if (!options.json) {
    if (training)
      print(stages, totalNs, runs, true);
    if (training && options.by != "stage")
      std::printf("\n");
    if (options.by != "stage")
      print(rows, totalNs, runs, training);
    return {};
  }
  double wall = 0;
  for (double time : traced.milliseconds)
    wall += time / runs;
  nlohmann::json result = {{"mode", options.mode.mode},
                           {"runs", runs},
                           {"ms", totalNs * 1e-6 / runs},
                           {"wall_ms", wall},
                           {"rows", describe(rows, totalNs, runs, training)}};
  if (training)
    result["stages"] = describe(stages, totalNs, runs, true);
  printJson(result);
  return {};
}

static Expected<void> profileTraining(const ProfileOptions &options, const Model &model) {
  const Repetition &repetition = options.repetition;
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  size_t events = 0;
  for (auto [program, times] : getStepPrograms(run->executable(), options.step.training.accumulate))
    events += (program->commands()->size() + 1) * times;
  Traced traced(events * repetition.iterations);
  runtime::Session &session = run->trainer->session();
  SINTER_TRY(traced.milliseconds,
             measureTraining(*run->trainer, repetition, [&] { session.setTrace(&traced.trace); }));
  session.setTrace(nullptr);
  return report(options, traced, run->executable());
}

static Expected<void> run(ProfileOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  SINTER_CHECK(completeOptions(model, options));
  if (options.isTraining())
    return profileTraining(options, model);
  if (options.by == "stage")
    return fail("--by stage", "only a training step has stages", "add --mode train");
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(std::move(model), options, {mode.mode}, mode.getChunk(),
                                         mode.getCapacity(options.capacity)));
  const fb::Program &program = *runner.executable().program(mode.mode);
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  int64_t steps = mode.mode == "decode" ? 1 : (mode.sequence + chunk - 1) / chunk;
  Traced traced((program.commands()->size() + 1) * steps * options.repetition.iterations);
  SINTER_TRY(traced.milliseconds, measure(runner, mode, options.repetition, options.seed,
                                          [&] { runner.session().setTrace(&traced.trace); }));
  runner.session().setTrace(nullptr);
  return report(options, traced, runner.executable());
}

void sinter::cli::addProfile(CLI::App &program) {
  CLI::App *command =
      program.add_subcommand("profile", "Measured time per op and layer against the roofline");
  auto options = std::make_shared<ProfileOptions>();
  addStepModeOptions(*command, *options);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(CLI::Range(1, 1 << 16));
  command
      ->add_option("--by", options->by, "what makes a row: op, layer, both or (train) stage alone")
      ->check(CLI::IsMember({"op", "layer", "both", "stage"}));
  command->add_option("--trace", options->trace, "Chrome/Perfetto trace to write");
  command->callback([options] { finish(run(*options)); });
}
