//===- Profile.cpp - `sinter profile`: where the time went ------------------===//

#include "runtime/Trace/Trace.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Measure.h"
#include "tools/sinter/Output.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ProfileOptions : ModelOptions {
  ModeOptions mode;
  Repetition repetition;
  std::string trace;
  std::string by = "op";
};
} // namespace

static void print(const std::vector<runtime::ProfileRow> &rows, double totalNs, int64_t runs) {
  Table table({"op", "layer", "count", "ms", "%", "roofline ms", "GFLOP/s", "GB/s"}, 2);
  for (const runtime::ProfileRow &row : rows)
    table.addRow({row.label, row.layer, std::to_string(row.count / runs),
                  formatNumber(row.measuredNs * 1e-6 / runs, 4),
                  formatNumber(100.0 * row.measuredNs / totalNs, 1),
                  formatNumber(row.predictedNs * 1e-6 / runs, 4),
                  formatNumber(row.measuredNs ? double(row.flops) / row.measuredNs : 0, 1),
                  formatNumber(row.measuredNs ? double(row.bytes) / row.measuredNs : 0, 1)});
  table.addRow({"total", "", "", formatNumber(totalNs * 1e-6 / runs, 4), "100.0", "", "", ""});
  table.print();
}

static Expected<void> run(ProfileOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (!model.isExecutable)
    options.mode.limitDefaults(model.spec);
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(std::move(model), options, {mode.mode}, mode.getChunk(),
                                         mode.getCapacity(options.capacity)));
  const fb::Program &program = *runner.executable().program(mode.mode);
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  int64_t steps = mode.mode == "decode" ? 1 : (mode.sequence + chunk - 1) / chunk;
  runtime::Trace trace((program.commands()->size() + 1) * steps * options.repetition.iterations);
  SINTER_TRY(std::vector<double> times, measure(runner, mode, options.repetition, options.seed,
                                                [&] { runner.session().setTrace(&trace); }));
  runner.session().setTrace(nullptr);

  auto by = options.by == "op"      ? runtime::ProfileBy::Label
            : options.by == "layer" ? runtime::ProfileBy::Layer
                                    : runtime::ProfileBy::LabelAndLayer;
  std::vector<runtime::ProfileRow> rows = runtime::profile(trace, runner.executable(), by);
  auto totalNs = static_cast<double>(runtime::measuredTime(trace));
  auto runs = static_cast<int64_t>(times.size());
  if (!options.trace.empty())
    SINTER_CHECK(runtime::writeChromeTrace(options.trace, trace, runner.executable()));
  if (!options.json) {
    print(rows, totalNs, runs);
    return {};
  }
  nlohmann::json list = nlohmann::json::array();
  for (const runtime::ProfileRow &row : rows)
    list.push_back({{"op", row.label},
                    {"layer", row.layer},
                    {"count", row.count / runs},
                    {"ms", row.measuredNs * 1e-6 / runs},
                    {"fraction", row.measuredNs / totalNs},
                    {"roofline_ms", row.predictedNs * 1e-6 / runs},
                    {"flops", row.flops / runs},
                    {"bytes", row.bytes / runs}});
  double wall = 0;
  for (double time : times)
    wall += time / runs;
  nlohmann::json result = {{"mode", mode.mode},
                           {"runs", runs},
                           {"ms", totalNs * 1e-6 / runs},
                           {"wall_ms", wall},
                           {"rows", list}};
  std::printf("%s\n", result.dump().c_str());
  return {};
}

void sinter::cli::addProfile(CLI::App &program) {
  CLI::App *command =
      program.add_subcommand("profile", "Measured time per op and layer against the roofline");
  auto options = std::make_shared<ProfileOptions>();
  addModelOptions(*command, *options);
  addModeOptions(*command, options->mode);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(CLI::Range(1, 1 << 16));
  command->add_option("--by", options->by, "what makes a row: op, layer or both")
      ->check(CLI::IsMember({"op", "layer", "both"}));
  command->add_option("--trace", options->trace, "Chrome/Perfetto trace to write");
  command->callback([options] { finish(run(*options)); });
}
