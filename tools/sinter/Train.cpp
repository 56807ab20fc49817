//===- Train.cpp - `sinter train` -------------------------------------------===//

#include "runtime/Base/AtomicFile.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Train/TrainStates.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/RankTable.h"
#include "tools/sinter/Report.h"
#include "tools/sinter/TrainFlags.h"
#include "tools/sinter/TrainProgress.h"
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

namespace {
using TrainCommandOptions = CommandOptions<TrainOptions>;

std::atomic<bool> stopRequested = false;

/// From here on the first SIGTERM or SIGINT, or SIGUSR1, which mpirun passes on, asks the run to
/// save after a step and stop; a second one ends the process as ever. Ranks say nothing of it: they
/// get SIGTERM when one of them was killed, too.
void catchSignals(bool isRank) {
  struct sigaction action = {};
  action.sa_handler = [](int) { stopRequested = true; };
  if (!isRank)
    action.sa_handler = [](int) {
      static constexpr std::string_view kText =
          "\nsinter: stopping after the next step; a second signal stops at once\n";
      [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
      stopRequested = true;
    };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1})
    sigaction(signal, &action, nullptr);
}
} // namespace

/// What a run came to.
static nlohmann::ordered_json summarize(TrainRun &run, const TrainResult &result) {
  const TrainOptions &options = run.getOptions();
  nlohmann::ordered_json summary = {{"out", options.out},
                                    {"steps", result.steps},
                                    {"stopped", result.stopped},
                                    {"seconds", result.seconds},
                                    {"compile_ms", run.getCompileMs()},
                                    {"parameters", run.getParameters()},
                                    {"flops_per_step", run.getFlops()},
                                    {"peak_bytes", result.peakBytes},
                                    {"planned_bytes", run.getTrainer().getMemory().getPeak()}};
  TrainCurves curves = readTrainCurves(options.getLog());
  if (!curves.loss.empty())
    summary["loss"] = curves.loss.back().second;
  if (!curves.validationLoss.empty())
    summary["val_loss"] = curves.validationLoss.back().second;
  if (result.ranks) {
    summary["ranks"] = describeRanks(*result.ranks, result.tracedSteps);
    summary["slowest_rank"] = result.ranks->slowest;
  }
  return summary;
}

static void print(const nlohmann::ordered_json &summary, bool asJson) {
  if (asJson) {
    printJson(summary);
    return;
  }
  std::string steps = std::to_string(summary["steps"].get<uint64_t>());
  std::string out = summary["out"];
  if (summary["stopped"].get<bool>()) {
    std::error_code ignored;
    bool hasEnded = fs::exists(fs::path(out) / runtime::modelFile, ignored);
    std::printf("Stopped after %s steps; --resume goes on from there. Until then %s is %s.\n",
                steps.c_str(), out.c_str(),
                hasEnded ? "the model that it was when the run ended before"
                         : "the model of its newest checkpoint");
    return;
  }
  std::string loss;
  if (summary.contains("loss"))
    loss = ", loss " + formatNumber(summary["loss"], 4);
  if (summary.contains("val_loss"))
    loss += ", validation loss " + formatNumber(summary["val_loss"], 4);
  std::printf("%s steps%s, peak memory %s. The model is %s; %s shows how it went.\n", steps.c_str(),
              loss.c_str(), formatBytes(summary["peak_bytes"].get<uint64_t>()).c_str(), out.c_str(),
              (fs::path(out) / "report.html").c_str());
}

/// What each rank was at in the last steps.
static Section describeRanksOf(const TrainResult &result) {
  std::vector<std::vector<std::string>> rows = makeRankRows(*result.ranks, result.tracedSteps);
  Section section{"Ranks, a step of the last " + std::to_string(result.tracedSteps) +
                      "; the slowest is rank " + std::to_string(result.ranks->slowest),
                  std::move(rows.front()),
                  {}};
  section.rows.assign(rows.begin() + 1, rows.end());
  return section;
}

/// The report on a run from its log: curves, the model's facts, the options of `command`, and where
/// it came to an end what its ranks were at.
static Report makeReport(const std::string &name, TrainRun &run, const CLI::App &command,
                         const TrainResult *result) {
  TrainCurves curves = readTrainCurves(run.getOptions().getLog());
  runtime::TrainMemory memory = run.getTrainer().getMemory();
  Report report;
  report.title = "Training of " + name;
  if (!curves.loss.empty()) {
    auto [firstStep, firstLoss] = curves.loss.front();
    report.summary = "Loss from " + formatNumber(firstLoss, 3) + " to " +
                     formatNumber(curves.loss.back().second, 3);
    if (!curves.validationLoss.empty())
      report.summary += ", validation loss " + formatNumber(curves.validationLoss.back().second, 3);
    if (firstStep > 0)
      report.summary += "; the log begins at step " + formatNumber(firstStep, 0);
  }
  auto draw = [](const char *name, TrainCurves::Points points) {
    return thinOut({name, std::move(points), false});
  };
  report.charts = {
      {"Loss, nats a token",
       "step",
       "",
       {draw("training", curves.loss), {"validation", curves.validationLoss, true}}},
      {"Learning rate", "step", "", {draw("learning rate", curves.learningRate)}},
      {"Gradient norm, before clipping", "step", "", {draw("gradient norm", curves.gradNorm)}},
      {"Throughput", "step", "tokens/s", {draw("tokens/s", curves.throughput)}},
      {"Memory", "step", "B", {draw("peak", curves.memory)}},
  };
  auto metadata = [&](const char *key) {
    return std::string(run.getExecutable().metadata(key).value_or(""));
  };
  Section model{"Model", {}, {}};
  model.rows = {{"type", metadata("model_type")},
                {"parameters", formatCount(double(run.getParameters()))},
                {"vocabulary", metadata("vocab_size")},
                {"compute type", metadata("dtype")},
                {"useful FLOPs of a step", formatCount(run.getFlops())},
                {"training data", run.getFingerprint()},
                {"parameters and optimizer", formatBytes(memory.session.state)},
                {"planned memory", formatBytes(memory.getPeak())}};
  Section options{"TrainCommandOptions", {}, {}};
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
  if (result && result->ranks)
    report.sections.insert(report.sections.begin(), describeRanksOf(*result));
  return report;
}

static Expected<void> runTrain(TrainCommandOptions &options, const CLI::App &command) {
  if (options.out.empty())
    return fail("`out`", "it is empty", "name a folder");
  catchSignals(options.communicator != nullptr);
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  std::optional<TrainProgress> progress;
  Observer &observer = options.observer;
  observer.stop = &stopRequested;
  observer.onWarning = [&, warn = observer.onWarning](const Error &warning) {
    if (progress)
      progress->clear();
    warn(warning);
  };
  options.given = listGiven(command);
  options.onStep = [&](const runtime::StepRecord &record) {
    if (progress)
      progress->show(record);
  };
  SINTER_TRY(std::unique_ptr<TrainRun> run, TrainRun::prepare(std::move(model), options));
  DeviceLimits limits(run->getExecutable(), getThreads(options));
  SINTER_CHECK(run->begin());
  runtime::Trainer &trainer = run->getTrainer();
  if (!isFirstRank())
    return run->run().map([](const TrainResult &) {});
  progress.emplace(trainer.getNextStep(), options.steps, run->getFlops(), run->getProductType(),
                   limits);
  if (trainer.getNextStep() != 0)
    progress->note("going on from step " + std::to_string(trainer.getNextStep()));
  auto shown = [](const std::string &value) { return value.empty() ? "not set" : value; };
  for (const runtime::OptionChange &change : trainer.getChanges())
    progress->note("from here on --" + std::string(FlagName(change.name).text) + " is " +
                   shown(change.is) + ", it was " + shown(change.was));
  Expected<TrainResult> result = run->run();
  progress.reset();
  // How it went is worth seeing above all where it went wrong.
  std::string page =
      renderReport(makeReport(options.model, *run, command, result ? &*result : nullptr));
  Expected<void> reported = writeFileAtomically((fs::path(options.out) / "report.html").string(),
                                                std::as_bytes(std::span(page)));
  if (result) {
    print(summarize(*run, *result), options.json);
    return reported;
  }
  if (!reported)
    observer.warn(reported.error());
  return tl::unexpected(std::move(result).error());
}

/// Looks for the layout that the options ask for, and starts a rank for each device. Ranks are told
/// what was found: each might find another.
static Expected<std::vector<std::string>> findLayout(TrainCommandOptions &options) {
  if (options.where.layout.empty()) {
    bool hasDevices = options.where.devices != 0;
    if (hasDevices || !options.where.cluster.empty())
      return fail(hasDevices ? "`devices`" : "`cluster`", "is what `layout` auto is to use",
                  "add `layout` auto, or give a `grid`");
    return {};
  }
  if (runtime::findLaunchedRank()) {
    if (options.grid.empty())
      return fail("`layout` auto", "a layout is chosen before ranks start",
                  "give the `grid` that sinter plan finds, or `devices` without mpirun");
    return {};
  }
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_CHECK(chooseLayout(options, model));
  if (options.grid.empty())
    return {};
  SINTER_TRY(size_t ranks, runtime::countRanks(options.grid));
  if (options.ranks == 0)
    options.ranks = static_cast<int64_t>(ranks);
  return std::vector<std::string>{"--grid", options.grid, "--zero", std::to_string(options.zero)};
}

static constexpr char kTrainFooter[] = R"(
How it goes:
  The model is compiled into one training step, with its memory laid out beforehand.
  --out DIR ends as a Hugging Face directory: model.safetensors (float32), config.json, the
  tokenizer's files; DIR/report.html draws loss, learning rate, gradient norm, throughput and memory
  from the log. SIGTERM and SIGINT save a checkpoint and exit with status 0, and until
  the run has ended other commands take DIR's weights from the newest one; a run that is killed goes
  on from its last whole checkpoint with --resume, and gives the same bits as one that was never
  stopped, also with another number of threads: the step is always compiled as for two cores, since
  what is fused, and with it the order of some sums, follows the number of cores.

  A line of --log: {"step", "loss", "grad_norm", "lr", "tokens", "step_ms", "tokens_per_second",
  "peak_bytes"}, and "val_loss" where it was evaluated; in float16 "loss_scale", that the step's
  gradients were computed with, and "skipped" where one overflowed; where a run was resumed with
  another schedule "changed", what each option was and is. Steps count from 0; the loss is that of
  the parameters before the update. The log of a resumed run goes on in the same file.
  "peak_bytes" is measured: the most that the process held of memory that no file holds, or that was
  taken of a GPU's; what is planned is "planned_bytes" of --json and of sinter plan.

  MFU is useful operations a second over those that this machine's multiply-adds do at most, which
  is measured at the start (a GPU's by its data sheet). With n tokens a step, W elements in all weight matrices with the head, and V pairs of a query and a key
  that it sees, for each of h heads of width d in each layer, a step has 3 * (2 n W + 4 V h d summed
  over layers) useful operations; what is recomputed to save memory does not count.

Examples:
  sinter train config.json --data book.txt --out run --steps 2000 --batch 16 --seq 128
      trains from random weights; a model without a tokenizer reads bytes
  sinter train gpt2/ --data 'corpus-*.txt' --val-split 0.1 --eval-every 100 --lr 1e-4 --out tuned
      goes on from a Hugging Face directory, on several files, a tenth kept to evaluate on
  sinter train config.json --data tokens.bin --out run --steps 20000 --warmup 500 --schedule cosine
      --min-lr 3e-5 --accumulate 8 --save-every 200 --memory-budget 8GiB
  sinter train config.json --data tokens.bin --out run ... --resume
      the same command and --resume: goes on after a stop or a kill. --lr, --min-lr, --warmup,
      --schedule, --decay-fraction, --adamw-lr and --steps may be others than before: the steps that
      are left follow the schedule that these make, counted from step 0)";

void sinter::cli::addTrain(CLI::App &program) {
  CLI::App *command = addCommand(program, "train", "Trains a model on text or token ids");
  auto options = std::make_shared<TrainCommandOptions>();
  addModel(*command, options->model);
  addTrainFlags(*command, *options, options->json);
  addRankFlags(*command, *options);
  addOptions(*command, options->where);
  addOptions<TrainOptions>(*command, *options, {"out", "log", "save_every", "keep", "resume"});
  command->get_option("--out")->required();
  command->get_option("--json")->group("Output");
  command->footer(kTrainFooter);
  command->callback([options, command] {
    Expected<std::vector<std::string>> layout = findLayout(*options);
    finish(layout.map([](const auto &) {}));
    finish(runOnRanks(
        *options, [&] { return runTrain(*options, *command); }, RankControl::StopsSoftly, *layout));
  });
}
