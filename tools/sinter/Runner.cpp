#include "tools/sinter/Runner.h"
#include "runtime/Memory/ProcessMemory.h"
#include "tools/sinter/Output.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::cli;

Expected<Runner> Runner::open(const ModelOptions &options, std::vector<std::string> entries,
                              int64_t chunk, int64_t capacity) {
  SINTER_TRY(Model model, openModel(options));
  return open(std::move(model), options, std::move(entries), chunk, capacity);
}

Expected<Runner> Runner::open(Model model, const ModelOptions &options,
                              std::vector<std::string> entries, int64_t chunk, int64_t capacity) {
  Runner runner;
  if (model.isExecutable) {
    SINTER_TRY(runner.loaded, runtime::Executable::open(options.model));
    SINTER_CHECK(checkCompiled(*runner.loaded, options));
    SINTER_TRY(std::optional<WeightFiles> files, openWeights(*runner.loaded, model.path));
    if (files)
      runner.files = std::make_unique<WeightFiles>(std::move(*files));
  } else {
    SINTER_TRY(CompileRequest request, makeRequest(model, options, entries, chunk, capacity));
    SINTER_TRY(Compiled compiled, compileCached(request, options));
    runner.milliseconds = compiled.compileMs;
    runner.loaded = std::move(compiled.executable);
    if (model.weights)
      runner.files = std::make_unique<WeightFiles>(std::move(*model.weights));
  }
  SINTER_CHECK(runner.bind(options, std::move(entries)));
  return runner;
}

Expected<void> Runner::bind(const ModelOptions &options, std::vector<std::string> entries) {
  runtime::SessionOptions session;
  session.threads = getThreads(options);
  session.programs = std::move(entries);
  if (files) {
    source = std::make_unique<WeightFilesSource>(*files);
    session.weights = source.get();
  } else {
    session.seed = options.seed;
  }
  Progress progress("preparing weights", 1);
  session.progress = [&](uint64_t done, uint64_t) {
    progress.advance(done);
    held = std::max(held, loaded->isForCpu() ? runtime::readProcessMemory().anonymous : 0);
  };
  SINTER_TRY(bound, runtime::Session::bind(loaded, session));
  return {};
}

uint64_t Runner::getPeakBytes() const {
  return std::max(held, runtime::measureHeld(bound->memory(), !loaded->isForCpu()));
}

uint64_t Runner::getPlannedBytes() const {
  runtime::MemoryUse use = bound->memory();
  return use.peak() +
         (loaded->isForCpu() ? runtime::otherBytes(use, loaded->flatbuffer().size()) : 0);
}

Expected<int64_t> Runner::getChunk(const std::string &entry) const {
  SINTER_TRY(size_t program, bound->program(entry));
  SINTER_TRY(runtime::TensorView tokens, bound->input(program, "tokens", DType::I32));
  if (tokens.shape.size() != 2 || tokens.shape[1] < 1)
    return fail(loaded->name(), "its 'tokens' are no rows", "compile the model again");
  return tokens.shape[1];
}

Expected<void> Runner::step(const std::string &entry, std::span<const int32_t> tokens,
                            std::span<const int32_t> start, std::span<const int32_t> count) {
  SINTER_TRY(size_t program, bound->program(entry));
  auto set = [&](const char *name, std::span<const int32_t> values) -> Expected<void> {
    SINTER_TRY(runtime::TensorView view, bound->input(program, name, DType::I32));
    if (view.bytes.size() != values.size_bytes())
      return fail(loaded->name(), std::string("its '") + name + "' has another size than its batch",
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
