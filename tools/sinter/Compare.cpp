//===- Compare.cpp - `sinter compare`: designs side by side -----------------===//

#include "runtime/Base/AtomicFile.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Report.h"
#include "tools/sinter/TextPlot.h"
#include "tools/sinter/TrainFlags.h"
#include "tools/sinter/TrainProgress.h"
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

namespace {
struct CompareCommandOptions : CommandOptions<TrainOptions> {
  std::vector<std::string> models;
  std::string html;
};

/// One model's run.
struct TrainedModel {
  std::string name;
  int64_t parameters = 0;
  double flops = 0, stepMs = 0, tokensPerSecond = 0, mfu = 0, seconds = 0;
  uint64_t peakBytes = 0;
  double loss = 0; ///< mean of the last tenth of the steps
  std::optional<double> validationLoss;
  Curve losses, validationLosses, overTime;
};
} // namespace

/// The mean of the last tenth of a curve: a single step's loss says more about its batch.
static double getLastMean(const Curve &curve) {
  size_t count = std::max<size_t>(1, curve.points.size() / 10);
  double sum = 0;
  for (size_t i = curve.points.size() - count; i < curve.points.size(); ++i)
    sum += curve.points[i].second;
  return sum / double(count);
}

static double getMedian(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

static Expected<TrainedModel> trainOne(const Model &model, const std::string &name,
                                       TrainOptions options) {
  TrainedModel outcome;
  outcome.name = name;
  for (Curve *curve : {&outcome.losses, &outcome.validationLosses, &outcome.overTime})
    curve->name = name;
  outcome.validationLosses.marked = true;
  std::vector<double> times;
  double elapsedMs = 0;
  std::optional<TrainProgress> progress;
  options.onStep = [&](const runtime::StepRecord &record) {
    times.push_back(record.stepMs);
    outcome.losses.points.emplace_back(double(record.step), record.loss);
    outcome.overTime.points.emplace_back(elapsedMs * 1e-3, record.loss);
    elapsedMs += record.stepMs;
    if (record.validationLoss) {
      outcome.validationLoss = record.validationLoss;
      outcome.validationLosses.points.emplace_back(double(record.step), *record.validationLoss);
    }
    progress->show(record);
  };
  SINTER_TRY(std::unique_ptr<TrainRun> run, TrainRun::prepare(model, options));
  SINTER_CHECK(run->begin());
  outcome.parameters = run->getParameters();
  outcome.flops = run->getFlops();
  std::fprintf(stderr, "%s: %s parameters\n", name.c_str(),
               formatCount(double(outcome.parameters)).c_str());
  DeviceLimits limits(run->getExecutable(), getThreads(options));
  progress.emplace(0, options.steps, outcome.flops, run->getProductType(), limits);
  SINTER_TRY(TrainResult result, run->run());
  progress.reset();
  outcome.stepMs = getMedian(times);
  double tokens = double(options.batch * options.chunk * options.training.accumulate);
  outcome.tokensPerSecond = 1e3 * tokens / outcome.stepMs;
  outcome.mfu = limits.getMfu(run->getProductType(), 1e3 * outcome.flops / outcome.stepMs);
  outcome.seconds = elapsedMs * 1e-3;
  outcome.peakBytes = result.peakBytes;
  outcome.loss = getLastMean(outcome.losses);
  return outcome;
}

static constexpr const char *kCompareHeading[] = {"model",       "parameters", "FLOPs/step",
                                                  "step ms",     "tokens/s",   "MFU",
                                                  "peak memory", "loss",       "val. loss"};

static std::vector<std::string> makeRow(const TrainedModel &outcome) {
  return {outcome.name,
          formatCount(double(outcome.parameters)),
          formatCount(outcome.flops),
          formatNumber(outcome.stepMs),
          formatNumber(outcome.tokensPerSecond, 0),
          formatNumber(100 * outcome.mfu, 0) + " %",
          formatBytes(outcome.peakBytes),
          formatNumber(outcome.loss, 4),
          outcome.validationLoss ? formatNumber(*outcome.validationLoss, 4) : "-"};
}

static nlohmann::ordered_json describe(const TrainedModel &outcome) {
  nlohmann::ordered_json object = {{"model", outcome.name},
                                   {"parameters", outcome.parameters},
                                   {"flops_per_step", outcome.flops},
                                   {"step_ms", outcome.stepMs},
                                   {"tokens_per_second", outcome.tokensPerSecond},
                                   {"mfu", outcome.mfu},
                                   {"seconds", outcome.seconds},
                                   {"peak_bytes", outcome.peakBytes},
                                   {"loss", outcome.loss}};
  if (outcome.validationLoss)
    object["val_loss"] = *outcome.validationLoss;
  return object;
}

static Chart makeLossChart(const std::vector<TrainedModel> &outcomes) {
  Chart chart{"Training loss", "step", "", {}};
  for (const TrainedModel &outcome : outcomes)
    chart.curves.push_back(thinOut(outcome.losses));
  return chart;
}

static std::string renderPage(const CompareCommandOptions &options,
                              std::vector<TrainedModel> outcomes) {
  Report report;
  report.title = std::to_string(outcomes.size()) + " models side by side";
  report.summary = std::to_string(options.steps) +
                   " steps each, on the same tokens in the same order, from the same seed";
  Chart losses = makeLossChart(outcomes), overTime{"Training loss", "second", "", {}};
  Chart validation{"Validation loss", "step", "", {}};
  Section table{"At the end", {std::begin(kCompareHeading), std::end(kCompareHeading)}, {}};
  for (TrainedModel &outcome : outcomes) {
    table.rows.push_back(makeRow(outcome));
    overTime.curves.push_back(thinOut(std::move(outcome.overTime)));
    validation.curves.push_back(std::move(outcome.validationLosses));
  }
  report.charts = {std::move(losses), std::move(overTime), std::move(validation)};
  report.sections = {std::move(table)};
  return renderReport(report);
}

/// Short names that tell the models apart: the file's, unless two have the same.
static std::vector<std::string> chooseNames(const std::vector<std::string> &paths) {
  std::vector<std::string> names;
  for (const std::string &path : paths) {
    fs::path trimmed =
        fs::path(path).has_filename() ? fs::path(path) : fs::path(path).parent_path();
    names.push_back(trimmed.extension() == ".json" ? trimmed.stem() : trimmed.filename());
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? names : paths;
}

static Expected<void> runCompare(CompareCommandOptions &options) {
  // All of them are opened before the first is trained: a mistake in the last is found at once.
  std::vector<Model> models;
  int64_t shortest = INT64_MAX;
  for (const std::string &path : options.models) {
    SINTER_TRY(Model model, Model::open(path, options.observer));
    SINTER_CHECK(model.requireDescription("give the model itself"));
    shortest = std::min(shortest, getDefaultSequence(model));
    models.push_back(std::move(model));
  }
  if (options.chunk == 0)
    options.chunk = shortest;
  for (const Model &model : models)
    SINTER_CHECK(makeTrainRequest(model, options, options.chunk, false));
  std::vector<std::string> names = chooseNames(options.models);
  std::vector<TrainedModel> outcomes;
  for (size_t i = 0; i < models.size(); ++i) {
    SINTER_TRY(TrainedModel outcome, trainOne(models[i], names[i], options));
    outcomes.push_back(std::move(outcome));
  }
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const TrainedModel &outcome : outcomes)
      list.push_back(describe(outcome));
    printJson(nlohmann::ordered_json{{"steps", options.steps}, {"models", list}});
  } else {
    Table table({std::begin(kCompareHeading), std::end(kCompareHeading)});
    for (const TrainedModel &outcome : outcomes)
      table.addRow(makeRow(outcome));
    table.print();
    std::printf("\n%s", renderTextPlot(makeLossChart(outcomes)).c_str());
  }
  if (options.html.empty())
    return {};
  std::string page = renderPage(options, std::move(outcomes));
  return writeFileAtomically(options.html, std::as_bytes(std::span(page)));
}

static constexpr char kCompareFooter[] = R"(
Each model is trained with the same options on the same tokens in the same order, nothing is kept.
"loss" is the mean of the last tenth of the steps, "val. loss" the last evaluation's; FLOPs and MFU
are those of sinter train --help; step ms is the median. The training losses are plotted below the
table, from where the first eighth of the steps leaves them.

Example:
  sinter compare mha.json gqa.json mqa.json --data book.txt --steps 500 --batch 16 --seq 128
      --lr 1e-3 --html compare.html)";

void sinter::cli::addCompare(CLI::App &program) {
  CLI::App *command =
      addCommand(program, "compare", "Trains several models under the same conditions");
  auto options = std::make_shared<CompareCommandOptions>();
  command
      ->add_option("MODELS", options->models,
                   "config.json files (random weights) or Hugging Face directories")
      ->required();
  addTrainFlags(*command, *options, options->json);
  // A comparison is of what was not trained on.
  options->data.validationSplit = 0.1;
  command->get_option("--val-split")
      ->description("instead: evaluate on this part at the end of --data and do not train on it")
      ->default_str("0.1");
  const char *group = "Output";
  command
      ->add_option("--html", options->html,
                   "a page with the curves of losses, over steps and seconds, and the table")
      ->group(group)
      ->type_name("FILE");
  command->get_option("--json")->group(group);
  command->footer(kCompareFooter);
  command->callback([options] { finish(runCompare(*options)); });
}
