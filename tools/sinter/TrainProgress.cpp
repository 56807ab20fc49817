#include "tools/sinter/TrainProgress.h"
#include "tools/cli/Output.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;

TrainProgress::TrainProgress(uint64_t firstStep, uint64_t steps, double flops, DType dtype,
                             DeviceLimits &limits)
    : firstStep(firstStep), steps(steps), flops(flops), dtype(dtype), limits(limits),
      terminal(isatty(STDERR_FILENO)) {}

TrainProgress::~TrainProgress() {
  if (drawn)
    std::fputc('\n', stderr);
}

/// "45 s", "3:20", "2:05:00".
static std::string formatDuration(double seconds) {
  auto whole = static_cast<long long>(std::ceil(seconds));
  char text[48];
  if (whole < 60)
    std::snprintf(text, sizeof text, "%lld s", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  return text;
}

void TrainProgress::show(const runtime::StepRecord &record) {
  constexpr auto kRedraw = std::chrono::milliseconds(100);
  constexpr auto kLine = std::chrono::seconds(5);
  smoothed += (record.stepMs - smoothed) * (smoothed == 0 ? 1 : 0.05);
  Clock::time_point now = Clock::now();
  uint64_t done = record.step + 1;
  bool must =
      record.step == firstStep || done == steps || (!terminal && record.validationLoss.has_value());
  if (!must && now - shown < (terminal ? kRedraw : std::chrono::milliseconds(kLine)))
    return;
  shown = now;
  char text[256];
  int length =
      std::snprintf(text, sizeof text, "step %llu/%llu  loss %.4f  %.0f tokens/s",
                    static_cast<unsigned long long>(done), static_cast<unsigned long long>(steps),
                    record.loss, record.tokensPerSecond);
  std::string line(text, std::max(length, 0));
  // Of a graph that was given as text nobody knows which operations are useful.
  if (flops > 0)
    line +=
        "  MFU " + formatNumber(100 * limits.getMfu(dtype, 1e3 * flops / record.stepMs), 0) + " %";
  if (record.validationLoss)
    line += "  validation loss " + formatNumber(*record.validationLoss, 4);
  if (record.skipped)
    line += "  (skipped: a gradient overflowed)";
  // What evaluation and saving took up to now, they will take again.
  double seconds = std::chrono::duration<double>(now - begin).count();
  uint64_t here = done - firstStep;
  double perStep = here > 20 ? seconds / double(here) : smoothed * 1e-3;
  line += done == steps ? "  " + formatDuration(seconds)
                        : "  ETA " + formatDuration(perStep * double(steps - done));
  if (!terminal) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  constexpr size_t kWidth = 20;
  std::string bar(kWidth * done / std::max<uint64_t>(steps, 1), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), line.c_str());
  std::fflush(stderr);
  drawn = true;
}

void TrainProgress::clear() {
  if (drawn)
    std::fputs("\r\033[K", stderr);
  drawn = false;
}

void TrainProgress::note(const std::string &text) {
  clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}
