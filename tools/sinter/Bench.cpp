//===- Bench.cpp - `sinter bench`: how fast ---------------------------------===//

#include "tools/sinter/Commands.h"
#include "tools/sinter/DeviceLimits.h"
#include "tools/sinter/Measure.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct BenchOptions : StepModeOptions {
  Repetition repetition;
};

/// What a command measured, and what it was measured on.
struct Measured {
  const runtime::Executable &executable;
  std::vector<double> milliseconds = {};
  double compileMs = 0;
  uint64_t peakBytes = 0, plannedBytes = 0;
  int64_t batch = 1, sequence = 1, context = 0;
  int64_t tokens = 0; ///< of all slots or rows, that one repetition takes
  /// The programs of a repetition, and how often each runs.
  std::vector<std::pair<const fb::Program *, int64_t>> programs = {};
  double usefulFlops = 0; ///< of a training step; 0: those of the programs' commands
};
} // namespace

static void report(const BenchOptions &options, Measured &measured) {
  std::vector<double> &times = measured.milliseconds;
  std::ranges::sort(times);
  double median = times[times.size() / 2];
  DeviceLimits device(measured.executable, getThreads(options));
  runtime::Limits limits = device.all();
  uint64_t flops = 0, bytes = 0, arena = 0, bound = 0;
  double least = 0;
  for (auto [program, count] : measured.programs) {
    for (const fb::Command *command : *program->commands()) {
      flops += command->flops() * count;
      bytes += command->bytes() * count;
      least += 1e3 * double(count) * leastSeconds(runtime::workOf(*command), limits);
    }
    arena = std::max(arena, program->arena_bytes());
    bound = std::max(bound, program->arena_lower_bound());
  }
  if (measured.usefulFlops != 0)
    flops = static_cast<uint64_t>(measured.usefulFlops);
  // A step that is faster found operands nearer than values of their sizes are taken to lie.
  double share = std::min(least / median, 1.0);
  double tokensPerSecond = 1e3 * measured.tokens / median;
  nlohmann::json result = {
      {"mode", options.mode.mode},
      {"target", measured.executable.metadata("target").value_or("cpu")},
      {"dtype", measured.executable.metadata("dtype").value_or("f32")},
      {"threads", getThreads(options)},
      {"batch", measured.batch},
      {"seq", measured.sequence},
      {"context", measured.context},
      {"iterations", times.size()},
      {"tokens_per_second", tokensPerSecond},
      {"ms_min", times.front()},
      {"ms_median", median},
      {"ms_max", times.back()},
      {"compile_ms", measured.compileMs},
      {"peak_bytes", measured.peakBytes},
      {"planned_bytes", measured.plannedBytes},
      {"arena_bytes", arena},
      {"arena_lower_bound_bytes", bound},
      {"flops", flops},
      {"bytes", bytes},
      {"limits", device.describe()},
      {"held_in", device.getHolder()},
      {"roofline_fraction", share},
  };
  if (options.isTraining())
    result["accumulate"] = options.step.training.accumulate;
  if (options.json) {
    printJson(result);
    return;
  }
  Table table({"", ""});
  table.addRow({"mode", options.mode.mode + ", " + result["dtype"].get<std::string>()});
  table.addRow({"tokens/s", formatNumber(tokensPerSecond, 1)});
  table.addRow({"ms (min, median, max)", formatNumber(times.front(), 3) + ", " +
                                             formatNumber(median, 3) + ", " +
                                             formatNumber(times.back(), 3)});
  table.addRow({"GFLOP/s", formatNumber(flops / median * 1e-6, 1)});
  table.addRow({"GB/s", formatNumber(bytes / median * 1e-6, 1)});
  table.addRow({"of the roofline", formatNumber(100 * share, 1) + " %"});
  table.addRow({"compile ms", formatNumber(measured.compileMs, 1)});
  table.addRow({"peak memory", formatBytes(measured.peakBytes)});
  table.addRow({"planned memory", formatBytes(measured.plannedBytes)});
  table.addRow({"arena", formatBytes(arena)});
  table.print();
  std::printf("%s\n", device.print().c_str());
}

static Expected<void> benchTraining(const BenchOptions &options, const Model &model) {
  const Repetition &repetition = options.repetition;
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  Measured measured{run->executable()};
  SINTER_TRY(measured.milliseconds, measureTraining(*run->trainer, repetition));
  int64_t accumulate = options.step.training.accumulate;
  measured.compileMs = run->compileMs;
  measured.peakBytes = run->trainer->peakBytes();
  measured.plannedBytes = run->trainer->memory().peak();
  measured.batch = options.batch;
  measured.sequence = options.mode.sequence;
  measured.tokens = accumulate * measured.batch * measured.sequence;
  measured.programs = getStepPrograms(run->executable(), accumulate);
  measured.usefulFlops =
      double(accumulate) * getUsefulFlops(model.spec, measured.batch, measured.sequence);
  report(options, measured);
  return {};
}

static Expected<void> run(BenchOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  SINTER_CHECK(completeOptions(model, options));
  if (options.isTraining())
    return benchTraining(options, model);
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(std::move(model), options, {mode.mode}, mode.getChunk(),
                                         mode.getCapacity(options.capacity)));
  Measured measured{runner.executable()};
  SINTER_TRY(measured.milliseconds, measure(runner, mode, options.repetition, options.seed));
  SINTER_TRY(measured.batch, runner.executable().metadataNumber("batch"));
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  bool decodes = mode.mode == "decode";
  measured.sequence = decodes ? 1 : mode.sequence;
  measured.context = decodes ? mode.context : 0;
  measured.tokens = measured.batch * measured.sequence;
  measured.programs = {
      {runner.executable().program(mode.mode), (measured.sequence + chunk - 1) / chunk}};
  measured.compileMs = runner.compileMs();
  measured.peakBytes = runner.getPeakBytes();
  measured.plannedBytes = runner.getPlannedBytes();
  report(options, measured);
  return {};
}

void sinter::cli::addBench(CLI::App &program) {
  CLI::App *command = program.add_subcommand("bench", "Measures a step: medians after a warm-up");
  auto options = std::make_shared<BenchOptions>();
  addStepModeOptions(*command, *options);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(wholeNumber(1, 1 << 20));
  command->add_option("--warmup", options->repetition.warmup, "repetitions before those")
      ->check(wholeNumber(0, 1 << 20));
  command->callback([options] { finish(run(*options)); });
}
