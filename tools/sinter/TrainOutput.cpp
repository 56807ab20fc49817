#include "tools/sinter/TrainOutput.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainLog.h"
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

Expected<void> sinter::cli::makeOutputDirectory(const std::string &directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error))
    return fail("--out " + directory, "the directory cannot be made: " + error.message(),
                "choose another");
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return fail("--out " + directory, "it cannot be written to", "choose another");
  // A run's own weights come with checkpoints; whether these are of this run is asked later.
  std::optional<std::string> weights = findWeights(directory);
  if (weights && runtime::CheckpointFolder(fs::path(directory) / "checkpoints").list().empty())
    return fail("--out " + directory,
                "it holds the weights of a model, " + *weights +
                    ", and no checkpoint of a run that wrote them",
                "choose another, or move them away");
  return {};
}

/// A config.json for weights in float32. Where it names the type that they were in before, other
/// programs would round to that what was learned.
static std::string withStoredType(const std::string &config) {
  auto json = nlohmann::ordered_json::parse(config);
  bool changed = false;
  for (const char *key : {"dtype", "torch_dtype"})
    if (auto type = json.find(key); type != json.end() && *type != "float32") {
      *type = "float32";
      changed = true;
    }
  return changed ? json.dump(2) + "\n" : config;
}

Expected<void> sinter::cli::writeDescription(const PreparedRun &run, const std::string &directory) {
  for (const auto &[name, content] : run.files) {
    std::string written = name == "config.json" ? withStoredType(content) : content;
    SINTER_CHECK(writeFileAtomically((fs::path(directory) / name).string(),
                                     std::as_bytes(std::span(written))));
  }
  return {};
}

Report sinter::cli::makeTrainReport(const std::string &title, const std::string &log,
                                    const PreparedRun &run, const runtime::TrainMemory &memory,
                                    const CLI::App &command) {
  TrainCurves curves = readTrainCurves(log);
  Report report;
  report.title = title;
  if (!curves.loss.points.empty()) {
    auto [firstStep, firstLoss] = curves.loss.points.front();
    report.summary = "Loss from " + formatNumber(firstLoss, 3) + " to " +
                     formatNumber(curves.loss.points.back().second, 3);
    if (!curves.validationLoss.points.empty())
      report.summary +=
          ", validation loss " + formatNumber(curves.validationLoss.points.back().second, 3);
    if (firstStep > 0)
      report.summary += "; the log begins at step " + formatNumber(firstStep, 0);
  }
  report.charts = {
      {"Loss, nats a token", "step", "", {thinOut(curves.loss), curves.validationLoss}},
      {"Learning rate", "step", "", {thinOut(curves.learningRate)}},
      {"Gradient norm, before clipping", "step", "", {thinOut(curves.gradNorm)}},
      {"Throughput", "step", "tokens/s", {thinOut(curves.throughput)}},
      {"Memory", "step", "B", {thinOut(curves.memory)}},
  };
  auto metadata = [&](const char *key) {
    return std::string(run.compiled.executable->metadata(key).value_or(""));
  };
  Section model{"Model", {}, {}};
  model.rows = {{"type", metadata("model_type")},
                {"parameters", formatCount(double(run.parameters))},
                {"vocabulary", metadata("vocab_size")},
                {"compute type", metadata("dtype")},
                {"useful FLOPs of a step", formatCount(run.flops)},
                {"training data", run.data.fingerprint},
                {"parameters and optimizer", formatBytes(memory.session.state)},
                {"planned memory", formatBytes(memory.peak())}};
  Section options{"Options", {}, {}};
  for (const CLI::Option *option : command.get_options()) {
    std::string name = option->get_name(), value = option->get_default_str();
    if (option->count() != 0) {
      value.clear();
      for (const std::string &part : option->results())
        value += (value.empty() ? "" : " ") + part;
    }
    if (!value.empty() && option->get_name() != "--help,-h")
      options.rows.push_back({name, value});
  }
  report.sections = {std::move(model), std::move(options)};
  return report;
}
