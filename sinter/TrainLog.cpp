#include "sinter/TrainLog.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Json.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

using namespace sinter;
namespace fs = std::filesystem;
using nlohmann::json;

/// Calls `visit` with every line of a log that is whole, as text and as an object. A pipe has none:
/// what went into it is gone, and reading would wait for ever.
template <typename Visit> static void visitLines(const std::string &path, Visit &&visit) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    json object = parseJson(line);
    if (!stream.eof() && object.is_object() && object.contains("step") &&
        object["step"].is_number_unsigned())
      visit(line, object);
  }
}

Expected<TrainLog> TrainLog::open(const std::string &path, uint64_t first) {
  SINTER_TRY(std::optional<int> stream, openStream(path));
  if (!stream) {
    std::string kept;
    if (first != 0)
      visitLines(path, [&](const std::string &line, const json &object) {
        if (object["step"].get<uint64_t>() < first)
          kept += line + "\n";
      });
    SINTER_CHECK(writeFileAtomically(path, std::as_bytes(std::span(kept))));
  }
  std::FILE *file = stream ? ::fdopen(*stream, "a") : std::fopen(path.c_str(), "a");
  if (!file)
    return fail(path, std::strerror(errno), "give `log` a file that can be written");
  return TrainLog(path, file);
}

static double round3(double value) { return std::round(value * 1e3) / 1e3; }

Expected<void> TrainLog::append(const runtime::StepRecord &record) {
  nlohmann::ordered_json line = {
      {"step", record.step},
      {"loss", record.loss},
      {"grad_norm", record.gradNorm},
      {"lr", record.learningRate},
      {"tokens", record.tokens},
      {"step_ms", round3(record.stepMs)},
      {"tokens_per_second", round3(record.tokensPerSecond)},
      {"peak_bytes", record.peakBytes},
  };
  if (record.validationLoss)
    line["val_loss"] = *record.validationLoss;
  if (record.lossScale)
    line["loss_scale"] = *record.lossScale;
  if (record.skipped)
    line["skipped"] = true;
  for (const runtime::OptionChange &change : std::exchange(changed, {}))
    line["changed"][change.name] = {{"was", change.was}, {"is", change.is}};
  std::string text = writeJson(line) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0)
    return fail(path, std::strerror(errno), "the run goes on without a log");
  return {};
}

TrainCurves sinter::readTrainCurves(const std::string &path) {
  TrainCurves curves;
  const std::pair<TrainCurves::Points *, const char *> keys[] = {
      {&curves.loss, "loss"},         {&curves.validationLoss, "val_loss"},
      {&curves.learningRate, "lr"},   {&curves.gradNorm, "grad_norm"},
      {&curves.memory, "peak_bytes"}, {&curves.throughput, "tokens_per_second"},
  };
  visitLines(path, [&](const std::string &, const json &object) {
    for (auto [curve, key] : keys)
      if (object.contains(key) && object[key].is_number())
        curve->emplace_back(object["step"].get<double>(), object[key].get<double>());
  });
  return curves;
}
