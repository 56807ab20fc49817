#include "sinter/Bench.h"
#include <algorithm>

using namespace sinter;

/// Fills in what follows from the repetitions' times and what they run, on `tokens` each.
/// @param usefulFlops of a training step; 0: those of the programs' commands
static void complete(BenchResult &result, const runtime::Executable &executable,
                     const ProgramRuns &runs, int64_t tokens, double usefulFlops) {
  std::ranges::sort(result.milliseconds);
  DeviceLimits device(executable, result.threads);
  result.limits = device.all();
  result.limitsAreMeasured = device.areMeasured();
  result.holder = device.getHolder();
  result.target = executable.metadata("target").value_or("cpu");
  result.dtype = executable.metadata("dtype").value_or("f32");
  uint64_t flops = 0;
  double least = 0;
  for (const fb::Program *program : runs) {
    for (const fb::Command *command : *program->commands()) {
      flops += command->flops();
      result.bytes += command->bytes();
      result.predictedMs += 1e-6 * double(command->predicted_ns());
      least += 1e3 * leastSeconds(runtime::workOf(*command), result.limits);
    }
    result.arenaBytes = std::max(result.arenaBytes, program->arena_bytes());
    result.arenaLowerBoundBytes =
        std::max(result.arenaLowerBoundBytes, program->arena_lower_bound());
  }
  result.flops = usefulFlops != 0 ? usefulFlops : double(flops);
  // A step that is faster found operands nearer than values of their sizes are taken to lie.
  result.rooflineFraction = std::min(least / result.getMedian(), 1.0);
  result.tokensPerSecond = 1e3 * double(tokens) / result.getMedian();
}

static Expected<BenchResult> benchTraining(const Model &model, const StepModeOptions &options,
                                           const Repetition &repetition) {
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  BenchResult result;
  SINTER_TRY(result.milliseconds, measureTraining(*run->trainer, options.observer, repetition));
  int64_t accumulate = options.training.accumulate;
  result.compileMs = run->compileMs;
  result.peakBytes = run->trainer->getPeakBytes();
  result.plannedBytes = run->trainer->getMemory().getPeak();
  result.threads = getThreads(options);
  result.batch = options.batch;
  result.sequence = options.mode.sequence;
  SINTER_TRY(ProgramRuns runs, getOwnStepRuns(run->getExecutable(), options));
  complete(result, run->getExecutable(), runs, accumulate * result.batch * result.sequence,
           double(accumulate) * getUsefulFlops(model.spec, result.batch, result.sequence));
  return result;
}

Expected<BenchResult> sinter::bench(const Model &model, StepModeOptions options,
                                    const Repetition &repetition) {
  SINTER_CHECK(completeOptions(model, options));
  if (options.isTraining())
    return benchTraining(model, options, repetition);
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(model, options, {mode.mode}, mode.getChunk(),
                                         mode.getMaxSequence(options.maxSequence)));
  BenchResult result;
  SINTER_TRY(result.milliseconds, measure(runner, options, repetition));
  SINTER_TRY(result.batch, runner.getExecutable().metadataNumber("batch"));
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  bool decodes = mode.mode == "decode";
  result.threads = getThreads(options);
  result.sequence = decodes ? 1 : mode.sequence;
  result.context = decodes ? mode.context : 0;
  result.compileMs = runner.getCompileMs();
  result.peakBytes = runner.getPeakBytes();
  result.plannedBytes = runner.getPlannedBytes();
  size_t rank = options.communicator ? options.communicator->getRank() : 0;
  ProgramRuns own = getEntryRuns(runner.getExecutable(), mode.mode, rank), runs;
  for (int64_t step = 0; step < (result.sequence + chunk - 1) / chunk; ++step)
    runs.insert(runs.end(), own.begin(), own.end());
  complete(result, runner.getExecutable(), runs, result.batch * result.sequence, 0);
  if (decodes)
    result.weightLoads = DeviceLimits(runner.getExecutable(), result.threads)
                             .measureLoads(runner.getSession().getWeights());
  return result;
}
