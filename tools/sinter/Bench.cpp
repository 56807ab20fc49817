//===- Bench.cpp - `sinter bench`: how fast ---------------------------------===//

#include "sinter/Bench.h"
#include "tools/cli/Checks.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Limits.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct BenchCommandOptions : CommandOptions<StepModeOptions> {
  Repetition repetition;
};
} // namespace

static void report(const BenchCommandOptions &options, const BenchResult &result) {
  double median = result.getMedian();
  nlohmann::json object = {
      {"mode", options.mode.mode},
      {"target", result.target},
      {"dtype", result.dtype},
      {"threads", result.threads},
      {"batch", result.batch},
      {"seq", result.sequence},
      {"context", result.context},
      {"iterations", result.milliseconds.size()},
      {"tokens_per_second", result.tokensPerSecond},
      {"ms_min", result.milliseconds.front()},
      {"ms_median", median},
      {"ms_max", result.milliseconds.back()},
      {"compile_ms", result.compileMs},
      {"peak_bytes", result.peakBytes},
      {"planned_bytes", result.plannedBytes},
      {"arena_bytes", result.arenaBytes},
      {"arena_lower_bound_bytes", result.arenaLowerBoundBytes},
      {"flops", static_cast<uint64_t>(result.flops)},
      {"bytes", result.bytes},
      {"limits", describeLimits(result.limits, result.limitsAreMeasured)},
      {"held_in", result.holder},
      {"roofline_fraction", result.rooflineFraction},
  };
  if (result.weightLoads > 0)
    object["weight_loads_gb_per_s"] = 1e-9 * result.weightLoads;
  if (options.isTraining())
    object["accumulate"] = options.training.accumulate;
  if (options.json) {
    printJson(object);
    return;
  }
  Table table({"", ""});
  table.addRow({"mode", options.mode.mode + ", " + result.dtype});
  table.addRow({"tokens/s", formatNumber(result.tokensPerSecond, 1)});
  table.addRow({"ms (min, median, max)", formatNumber(result.milliseconds.front(), 3) + ", " +
                                             formatNumber(median, 3) + ", " +
                                             formatNumber(result.milliseconds.back(), 3)});
  table.addRow({"GFLOP/s", formatNumber(result.flops / median * 1e-6, 1)});
  std::string rate = formatNumber(double(result.bytes) / median * 1e-6, 1);
  if (result.weightLoads > 0)
    rate += ", plain loads of the weights " + formatNumber(1e-9 * result.weightLoads, 1);
  table.addRow({"GB/s", rate});
  table.addRow({"of the roofline", formatNumber(100 * result.rooflineFraction, 1) + " %"});
  table.addRow({"compile ms", formatNumber(result.compileMs, 1)});
  table.addRow({"peak memory", formatBytes(result.peakBytes)});
  table.addRow({"planned memory", formatBytes(result.plannedBytes)});
  table.addRow({"arena", formatBytes(result.arenaBytes)});
  table.print();
  printLimits(result.limits, result.limitsAreMeasured);
}

static Expected<void> runBench(const BenchCommandOptions &options) {
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(BenchResult result, bench(model, options, options.repetition));
  report(options, result);
  return {};
}

void sinter::cli::addBench(CLI::App &program) {
  CLI::App *command = addCommand(program, "bench", "Measures a step: medians after a warm-up");
  auto options = std::make_shared<BenchCommandOptions>();
  addStepModeFlags(*command, *options);
  addRankFlags(*command, *options);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(wholeNumber(1, 1 << 20));
  command->add_option("--warmup", options->repetition.warmup, "repetitions before those")
      ->check(wholeNumber(0, 1 << 20));
  command->callback([options, command] {
    options->given = listGiven(*command);
    finish(runOnRanks(*options, [&] { return runBench(*options); }));
  });
}
