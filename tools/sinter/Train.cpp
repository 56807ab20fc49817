//===- Train.cpp - `sinter train` -------------------------------------------===//

#include "runtime/Base/AtomicFile.h"
#include "runtime/Train/TrainStates.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainLog.h"
#include "tools/sinter/TrainOutput.h"
#include "tools/sinter/TrainProgress.h"
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

namespace {
struct TrainCommandOptions : TrainRunOptions {
  const CLI::App *command = nullptr;
  std::string log;
  int64_t keep = 3;
  bool resume = false;

  std::string getLog() const { return log.empty() ? (fs::path(out) / "log.jsonl").string() : log; }
};

std::atomic<bool> stopRequested = false;

/// From here on the first SIGTERM or SIGINT asks the run to save after a step and stop; a second
/// one ends the process as ever.
void catchSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    static constexpr std::string_view kText =
        "\nsinter: stopping after the next step; a second signal stops at once\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    stopRequested = true;
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGTERM, SIGINT})
    sigaction(signal, &action, nullptr);
}
} // namespace

/// What a run came to.
static nlohmann::ordered_json summarize(const TrainCommandOptions &options, const PreparedRun &run,
                                        const runtime::TrainResult &result,
                                        runtime::Trainer &trainer) {
  nlohmann::ordered_json summary = {{"out", options.out},
                                    {"steps", result.steps},
                                    {"stopped", result.stopped},
                                    {"seconds", result.seconds},
                                    {"compile_ms", run.compiled.compileMs},
                                    {"parameters", run.parameters},
                                    {"flops_per_step", run.flops},
                                    {"peak_bytes", trainer.peakBytes()},
                                    {"planned_bytes", trainer.memory().peak()}};
  TrainCurves curves = readTrainCurves(options.getLog());
  if (!curves.loss.points.empty())
    summary["loss"] = curves.loss.points.back().second;
  if (!curves.validationLoss.points.empty())
    summary["val_loss"] = curves.validationLoss.points.back().second;
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

static Expected<void> train(TrainCommandOptions &options, PreparedRun &run) {
  runtime::ThreadPool pool(static_cast<unsigned>(getThreads(options)));
  DeviceLimits limits(*run.compiled.executable, getThreads(options));
  runtime::TrainOptions &train = run.options;
  train.session.pool = &pool;
  train.keep = static_cast<uint64_t>(options.keep);
  train.resume = options.resume;
  train.stop = &stopRequested;
  train.model = (fs::path(options.out) / runtime::modelFile).string();
  std::optional<TrainLog> log;
  std::optional<TrainProgress> progress;
  auto warn = [&](const Error &error) {
    std::string text = "sinter: warning: " + error.message();
    progress ? progress->note(text) : void(std::fprintf(stderr, "%s\n", text.c_str()));
  };
  train.onWarning = warn;
  train.onStep = [&](const runtime::StepRecord &record) {
    if (log)
      if (auto written = log->append(record); !written) {
        warn(written.error());
        log.reset();
      }
    progress->show(record);
  };
  SINTER_TRY(auto trainer,
             runtime::Trainer::create(run.compiled.executable, run.data.streams, train));
  SINTER_CHECK(writeDescription(run, options.out));
  SINTER_TRY(log, TrainLog::open(options.getLog(), trainer->nextStep()));
  progress.emplace(trainer->nextStep(), train.schedule.steps, run.flops, run.productType, limits);
  if (trainer->nextStep() != 0)
    progress->note("going on from step " + std::to_string(trainer->nextStep()));
  auto shown = [](const std::string &value) { return value.empty() ? "not set" : value; };
  for (const runtime::OptionChange &change : trainer->changes())
    progress->note("from here on " + change.name + " is " + shown(change.is) + ", it was " +
                   shown(change.was));
  log->note(trainer->changes());
  Expected<runtime::TrainResult> result = trainer->run();
  progress.reset();
  // How it went is worth seeing above all where it went wrong.
  std::string page = renderReport(makeTrainReport("Training of " + options.model, options.getLog(),
                                                  run, trainer->memory(), *options.command));
  Expected<void> reported = writeFileAtomically((fs::path(options.out) / "report.html").string(),
                                                std::as_bytes(std::span(page)));
  if (result) {
    print(summarize(options, run, *result, *trainer), options.json);
    return reported;
  }
  if (!reported)
    warn(reported.error());
  return tl::unexpected(std::move(result).error());
}

static Expected<void> run(TrainCommandOptions &options) {
  catchSignals();
  SINTER_TRY(Model model, openModel(options));
  SINTER_TRY(auto executable, adoptExecutable(*options.command, options, model));
  SINTER_CHECK(makeOutputDirectory(options.out));
  SINTER_TRY(auto prepared, prepareRun(std::move(model), options, std::move(executable)));
  return train(options, *prepared);
}

static constexpr char kFooter[] = R"(
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
  CLI::App *command = program.add_subcommand("train", "Trains a model on text or token ids");
  auto options = std::make_shared<TrainCommandOptions>();
  options->command = command;
  addModel(*command, *options);
  addTrainRunOptions(*command, *options);
  const char *group = "Output";
  command
      ->add_option("--out", options->out,
                   "where the model, its checkpoints and the report are written")
      ->group(group)
      ->type_name("DIR")
      ->required();
  command->add_option("--log", options->log, "one JSON object a step (default: log.jsonl in --out)")
      ->group(group)
      ->type_name("FILE");
  command
      ->add_option("--save-every", options->saveEvery,
                   "steps between checkpoints; 0: only at the end and when stopped")
      ->group(group)
      ->type_name("N")
      ->capture_default_str()
      ->check(wholeNumber(0, int64_t(1) << 40));
  command->add_option("--keep", options->keep, "checkpoints that stay, the newest; 0: all")
      ->group(group)
      ->type_name("N")
      ->capture_default_str()
      ->check(wholeNumber(0, 1 << 30));
  command
      ->add_flag("--resume", options->resume,
                 "go on from the newest whole checkpoint in --out, or begin where there is none")
      ->group(group);
  command->get_option("--json")->group(group);
  command->footer(kFooter);
  command->callback([options] { finish(run(*options)); });
}
