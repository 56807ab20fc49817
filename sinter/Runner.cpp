#include "sinter/Runner.h"
#include "runtime/Memory/ProcessMemory.h"
#include <algorithm>

using namespace sinter;

Expected<Runner> Runner::open(const Model &model, const RunOptions &options,
                              std::vector<std::string> entries, int64_t chunk,
                              int64_t maxSequence) {
  Runner runner;
  SINTER_TRY(runner.loaded, load(model, options, entries, chunk, maxSequence));
  runtime::BindOptions session;
  session.threads = static_cast<unsigned>(getThreads(options));
  session.programs = std::move(entries);
  session.communicator = options.communicator;
  session.onWarning = [&](const Error &warning) { options.observer.warn(warning); };
  if (runner.loaded.weights) {
    runner.source = std::make_unique<WeightFilesSource>(*runner.loaded.weights);
    session.weights = runner.source.get();
  } else {
    session.seed = options.seed;
  }
  Progress progress(options.observer, "preprocessing weights", 0);
  bool onCpu = runner.getExecutable().isForCpu();
  session.progress = [&](uint64_t done, uint64_t) {
    progress.advance(done);
    runner.held = std::max(runner.held, onCpu ? runtime::readProcessMemory().anonymous : 0);
  };
  SINTER_TRY(runner.bound, runtime::Session::bind(runner.loaded.executable, session));
  return runner;
}

uint64_t Runner::getPeakBytes() const {
  return std::max(held, runtime::measureHeld(bound->getMemory(), !loaded.executable->isForCpu()));
}

uint64_t Runner::getPlannedBytes() const {
  runtime::MemoryUse use = bound->getMemory();
  return use.getPeak() + runtime::predictProcessMemory(*loaded.executable, use);
}

Expected<int64_t> Runner::getChunk(const std::string &entry) const {
  SINTER_TRY(size_t program, bound->program(entry));
  SINTER_TRY(runtime::TensorView tokens, bound->input(program, "tokens", DType::I32));
  if (tokens.shape.size() != 2 || tokens.shape[1] < 1)
    return fail(loaded.executable->getName(), "its 'tokens' are no rows",
                "compile the model again");
  return tokens.shape[1];
}

Expected<void> Runner::step(const std::string &entry, std::span<const int32_t> tokens,
                            std::span<const int32_t> start, std::span<const int32_t> count) {
  SINTER_TRY(size_t program, bound->program(entry));
  auto set = [&](const char *name, std::span<const int32_t> values) -> Expected<void> {
    SINTER_TRY(runtime::TensorView view, bound->input(program, name, DType::I32));
    if (view.bytes.size() != values.size_bytes())
      return fail(loaded.executable->getName(),
                  std::string("its '") + name + "' has another size than its batch",
                  "compile the model again");
    std::ranges::copy(values, view.as<int32_t>().begin());
    return {};
  };
  SINTER_CHECK(set("tokens", tokens));
  SINTER_CHECK(set("start", start));
  SINTER_CHECK(set("count", count));
  return bound->run(program);
}

Expected<std::span<const float>> Runner::getLogits(const std::string &entry) const {
  SINTER_TRY(size_t program, bound->program(entry));
  SINTER_TRY(runtime::TensorView view, bound->output(program, "logits", DType::F32));
  return std::span<const float>(view.as<float>());
}
