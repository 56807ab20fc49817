//===- Bench.cpp - `sinter bench`: how fast ---------------------------------===//

#include "tools/sinter/Commands.h"
#include "tools/sinter/Measure.h"
#include "tools/sinter/Output.h"
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct BenchOptions : ModelOptions {
  ModeOptions mode;
  Repetition repetition;
};
} // namespace

static Expected<void> run(BenchOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (!model.isExecutable)
    options.mode.limitDefaults(model.spec);
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(std::move(model), options, {mode.mode}, mode.getChunk(),
                                         mode.getCapacity(options.capacity)));
  SINTER_TRY(std::vector<double> times, measure(runner, mode, options.repetition, options.seed));
  std::ranges::sort(times);
  double median = times[times.size() / 2];

  const fb::Program &program = *runner.executable().program(mode.mode);
  uint64_t flops = 0, bytes = 0, predictedNs = 0;
  for (const fb::Command *command : *program.commands()) {
    flops += command->flops();
    bytes += command->bytes();
    predictedNs += command->predicted_ns();
  }
  SINTER_TRY(int64_t batch, runner.executable().metadataNumber("batch"));
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  int64_t tokens = mode.mode == "decode" ? 1 : mode.sequence;
  int64_t steps = (tokens + chunk - 1) / chunk;
  double tokensPerSecond = 1e3 * batch * tokens / median;
  runtime::MemoryUse memory = runner.session().memory();
  nlohmann::json result = {
      {"mode", mode.mode},
      {"target", options.target},
      {"dtype", runner.executable().metadata("dtype").value_or("f32")},
      {"threads", getThreads(options)},
      {"batch", batch},
      {"seq", mode.mode == "decode" ? 1 : mode.sequence},
      {"context", mode.mode == "decode" ? mode.context : 0},
      {"iterations", times.size()},
      {"tokens_per_second", tokensPerSecond},
      {"ms_min", times.front()},
      {"ms_median", median},
      {"ms_max", times.back()},
      {"compile_ms", runner.compileMs()},
      {"peak_bytes", memory.peak()},
      {"resident_bytes", memory.resident()},
      {"arena_bytes", program.arena_bytes()},
      {"arena_lower_bound_bytes", program.arena_lower_bound()},
      {"flops", flops * steps},
      {"bytes", bytes * steps},
      {"roofline_fraction", predictedNs * steps * 1e-6 / median},
  };
  if (options.json) {
    std::printf("%s\n", result.dump().c_str());
    return {};
  }
  Table table({"", ""});
  table.addRow({"mode", mode.mode + ", " + result["dtype"].get<std::string>()});
  table.addRow({"tokens/s", formatNumber(tokensPerSecond, 1)});
  table.addRow({"ms (min, median, max)", formatNumber(times.front(), 3) + ", " +
                                             formatNumber(median, 3) + ", " +
                                             formatNumber(times.back(), 3)});
  table.addRow({"GFLOP/s", formatNumber(flops * steps / median * 1e-6, 1)});
  table.addRow({"GB/s", formatNumber(bytes * steps / median * 1e-6, 1)});
  table.addRow(
      {"of the roofline", formatNumber(100 * predictedNs * steps * 1e-6 / median, 1) + " %"});
  table.addRow({"compile ms", formatNumber(runner.compileMs(), 1)});
  table.addRow({"peak memory", formatBytes(memory.peak())});
  table.addRow({"arena", formatBytes(program.arena_bytes())});
  table.print();
  return {};
}

void sinter::cli::addBench(CLI::App &program) {
  CLI::App *command = program.add_subcommand("bench", "Measures a step: medians after a warm-up");
  auto options = std::make_shared<BenchOptions>();
  addModelOptions(*command, *options);
  addModeOptions(*command, options->mode);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--warmup", options->repetition.warmup, "repetitions before those")
      ->check(CLI::Range(0, 1 << 20));
  command->callback([options] { finish(run(*options)); });
}
