#include "sinter/Measure.h"
#include <chrono>
#include <random>

using namespace sinter;

Expected<std::vector<double>> sinter::measure(Runner &runner, const StepModeOptions &options,
                                              const Repetition &repetition,
                                              const std::function<void()> &beforeCounted) {
  const ModeOptions &mode = options.mode;
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  SINTER_TRY(int64_t batch, runner.getExecutable().metadataNumber("batch"));
  SINTER_TRY(int64_t vocabulary, runner.getExecutable().metadataNumber("vocab_size"));
  SINTER_TRY(int64_t maxSequence, runner.getExecutable().metadataNumber("max_seq"));
  int64_t needed = mode.mode == "decode" ? mode.context + 1 : mode.sequence;
  if (needed > maxSequence)
    return fail("`mode` " + mode.mode,
                std::to_string(needed) + " positions do not fit the executable's " +
                    std::to_string(maxSequence),
                "use a smaller `seq` or `context`, or compile with a larger `max_seq`");
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<int32_t> anyToken(0, static_cast<int32_t>(vocabulary - 1));
  std::vector<int32_t> tokens(batch * chunk), start(batch), count(batch);
  for (int32_t &token : tokens)
    token = anyToken(random);

  // Caches that were never written to are one page of zeros, which is read faster than memory is.
  SINTER_CHECK(runner.getSession().clearState());
  // A decode step reads the cache up to mode.context; a prefill starts from nothing, chunk by
  // chunk.
  int64_t first = mode.mode == "decode" ? mode.context : 0;
  int64_t total = mode.mode == "decode" ? 1 : mode.sequence;
  std::vector<double> milliseconds;
  Progress progress(options.observer, "measuring " + mode.mode,
                    repetition.warmup + repetition.iterations);
  for (int64_t i = 0; i < repetition.warmup + repetition.iterations; ++i) {
    SINTER_CHECK(options.observer.checkStop("measuring"));
    if (i == repetition.warmup)
      beforeCounted();
    auto begin = std::chrono::steady_clock::now();
    for (int64_t at = 0; at < total; at += chunk) {
      std::ranges::fill(start, static_cast<int32_t>(first + at));
      std::ranges::fill(count, static_cast<int32_t>(std::min(chunk, total - at)));
      SINTER_CHECK(runner.step(mode.mode, tokens, start, count));
    }
    double elapsed =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (i >= repetition.warmup)
      milliseconds.push_back(elapsed);
    progress.advance(i + 1);
  }
  return milliseconds;
}

Expected<std::vector<double>> sinter::measureTraining(runtime::Trainer &trainer,
                                                      const Observer &observer,
                                                      const Repetition &repetition,
                                                      const std::function<void()> &beforeCounted) {
  std::vector<double> milliseconds;
  Progress progress(observer, "measuring train", repetition.warmup + repetition.iterations);
  for (int64_t i = 0; i < repetition.warmup + repetition.iterations; ++i) {
    SINTER_CHECK(observer.checkStop("measuring"));
    if (i == repetition.warmup)
      beforeCounted();
    SINTER_TRY(runtime::StepRecord record, trainer.step());
    if (i >= repetition.warmup)
      milliseconds.push_back(record.stepMs);
    progress.advance(i + 1);
  }
  return milliseconds;
}
