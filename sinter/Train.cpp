#include "sinter/Train.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/Json.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Train/TrainStates.h"
#include "sinter/FitMemory.h"
#include "sinter/Ranks.h"
#include "sinter/StepMode.h"
#include "sinter/TextModel.h"
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

using namespace sinter;
namespace fs = std::filesystem;

std::string TrainOptions::getLog() const {
  return log.empty() && !out.empty() ? (fs::path(out) / "log.jsonl").string() : log;
}

/// The factor of scaleFromBatch.
static Expected<double> getRateFactor(const TrainOptions &options) {
  std::string_view text = options.scaleFromBatch;
  if (text.empty())
    return 1.0;
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view rule = text.substr(0, colon),
                   number = text.substr(std::min(colon + 1, text.size()));
  uint64_t reference = 0;
  auto [rest, status] = std::from_chars(number.data(), number.data() + number.size(), reference);
  if ((rule != "linear" && rule != "sqrt") || status != std::errc() || reference == 0 ||
      rest != number.data() + number.size())
    return fail("`scale_lr_from_batch` " + options.scaleFromBatch, "is not of the form RULE:N",
                "write linear:32 or sqrt:32, for a rate that was found for 32 rows a step");
  uint64_t rows =
      static_cast<uint64_t>(options.batch) * static_cast<uint64_t>(options.training.accumulate);
  return runtime::scaleLearningRate(
      1, rule == "linear" ? runtime::BatchScaling::Linear : runtime::BatchScaling::Sqrt, rows,
      reference);
}

/// The learning rate where nothing says another.
static constexpr double kLearningRate = 3e-4;

/// Fails where a learning rate is given that the optimizer does not ask for.
static Expected<void> checkRates(const TrainOptions &options) {
  const TrainingOptions &step = options.training;
  if (options.schedule != "wsd" && options.decayFraction != TrainOptions().decayFraction)
    return fail("`decay_fraction`", "is of `schedule` wsd, not of " + options.schedule,
                "leave it out, or choose that schedule");
  if (options.schedule == "constant" && options.minimum != 0)
    options.observer.note("`schedule` constant has no floor; `min_lr` is not looked at");
  if (options.adamwRate && step.optimizer != "muon")
    return fail("`adamw_lr`", "is of `optimizer` muon, not of " + step.optimizer,
                "leave it out, or give `lr`");
  if (options.adamwRate && !(*options.adamwRate >= 0 && std::isfinite(*options.adamwRate)))
    return fail("`adamw_lr` " + writeOption(*options.adamwRate), "is not a number from 0 up",
                "give 3e-4, for example");
  if (options.adamwRate && options.learningRate.value_or(kLearningRate) == 0)
    return fail("`adamw_lr`", "follows `lr`, which is 0", "give `lr` a number above 0");
  if (step.optimizer != "adafactor" || !step.relativeStep)
    return {};
  const std::pair<const char *, bool> given[] = {
      {"`lr`", options.learningRate.has_value()},
      {"`min_lr`", options.minimum != 0},
      {"`warmup`", options.warmup != 0},
      {"`schedule`", options.schedule != "constant"},
      {"`scale_lr_from_batch`", !options.scaleFromBatch.empty()}};
  for (const auto &[name, isGiven] : given)
    if (isGiven)
      return fail(name, "adafactor takes relative steps, which ask for no learning rate",
                  "add `relative_step` false, or leave it out");
  return {};
}

static Expected<runtime::LearningRateSchedule> makeSchedule(const TrainOptions &options) {
  SINTER_CHECK(checkRates(options));
  SINTER_TRY(double factor, getRateFactor(options));
  runtime::LearningRateSchedule schedule;
  SINTER_TRY(schedule.kind, runtime::parseScheduleKind(options.schedule));
  schedule.learningRate = options.learningRate.value_or(kLearningRate) * factor;
  schedule.minimum = options.minimum * factor;
  schedule.warmup = static_cast<uint64_t>(options.warmup);
  schedule.steps = static_cast<uint64_t>(options.steps);
  schedule.decayFraction = options.decayFraction;
  if (options.training.optimizer == "adafactor" && options.training.relativeStep) {
    schedule.kind = runtime::ScheduleKind::Relative;
    schedule.learningRate = OptimizerOptions::largestRelativeStep;
  }
  SINTER_CHECK(schedule.check());
  return schedule;
}

/// What resuming may find changed: the learning rate of the steps that are left.
static std::map<std::string, std::string>
describeSchedule(const TrainOptions &options, const runtime::LearningRateSchedule &schedule) {
  auto write = [](double value) { return writeJson(nlohmann::json(value)); };
  bool decaysLate = schedule.kind == runtime::ScheduleKind::Wsd;
  return {{"schedule", options.schedule},
          {"lr", write(schedule.learningRate)},
          {"adamw_lr", options.adamwRate ? write(*options.adamwRate) : ""},
          {"min_lr", write(schedule.minimum)},
          {"warmup", std::to_string(schedule.warmup)},
          {"steps", std::to_string(schedule.steps)},
          {"decay_fraction", decaysLate ? write(schedule.decayFraction) : ""}};
}

/// Fails where the data do not fill one step, before the compiler has been asked for anything.
static Expected<void> checkData(const TrainOptions &options, const OpenData &data) {
  runtime::BatchOptions batch;
  batch.batch = static_cast<uint64_t>(options.batch);
  batch.sequence = static_cast<uint64_t>(options.chunk);
  batch.order = options.data.order == "shuffled" ? runtime::DataOrder::Shuffled
                                                 : runtime::DataOrder::Sequential;
  auto accumulate = static_cast<uint64_t>(options.training.accumulate);
  SINTER_CHECK(runtime::BatchReader(data.streams.train, batch).check(accumulate));
  if (data.streams.validation)
    SINTER_CHECK(data.streams.validation->require(
        batch.sequence + 1, "one row of " + std::to_string(batch.sequence) + " tokens to evaluate",
        "give more data, or a smaller `seq`"));
  return {};
}

/// Makes the directory; fails where nothing could be written to it at the end, and where it holds
/// weights that no run of ours has left: they would be written over.
static Expected<void> makeOutputDirectory(const std::string &directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error))
    return fail("`out` " + directory, "the directory cannot be made: " + error.message(),
                "choose another");
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return fail("`out` " + directory, "it cannot be written to", "choose another");
  // A run's own weights come with checkpoints; whether these are of this run is asked later.
  std::optional<std::string> weights = findWeights(directory);
  if (weights && runtime::CheckpointFolder(fs::path(directory) / "checkpoints").list().empty())
    return fail("`out` " + directory,
                "it holds the weights of a model, " + *weights +
                    ", and no checkpoint of a run that wrote them",
                "choose another, or move them away");
  return {};
}

static runtime::DataOrder getOrder(const TrainOptions &options) {
  return options.data.order == "shuffled" ? runtime::DataOrder::Shuffled
                                          : runtime::DataOrder::Sequential;
}

/// The options of the trainer, without what the model and its data bring.
static Expected<runtime::TrainOptions> makeTrainerOptions(const TrainOptions &options) {
  runtime::TrainOptions run;
  SINTER_TRY(run.schedule, makeSchedule(options));
  run.accumulate = static_cast<uint64_t>(options.training.accumulate);
  double rate = options.learningRate.value_or(kLearningRate);
  run.adamwRate = options.adamwRate ? *options.adamwRate / rate : 1;
  run.order = getOrder(options);
  run.seed = options.seed;
  run.evaluateEvery = static_cast<uint64_t>(options.evaluateEvery);
  run.session.threads = static_cast<unsigned>(getThreads(options));
  run.session.communicator = options.communicator;
  run.directory = options.out;
  run.saveEvery = static_cast<uint64_t>(options.saveEvery);
  run.keep = static_cast<uint64_t>(options.keep);
  run.resume = options.resume;
  if (!options.out.empty())
    run.model = (fs::path(options.out) / runtime::modelFile).string();
  run.stop = options.observer.stop;
  run.adjustable = describeSchedule(options, run.schedule);
  return run;
}

/// The ids of the options of which a step that is made already must have the same.
static std::set<std::string, std::less<>> listGiven(const TrainOptions &options) {
  auto given = options.given;
  if (given.empty()) {
    given = listChanged(options);
    given.merge(listChanged(options.training));
  }
  return given;
}

Expected<void> TrainRun::adoptExecutable() {
  std::shared_ptr<const runtime::Executable> executable = std::move(model.executable);
  std::string name = model.path.string();
  if (!executable->program("train_step") && !executable->program("update"))
    return fail(name, "was not compiled for training", "compile the model with `entry` train");
  auto given = listGiven(options);
  // An executable for another device says so when it is bound.
  given.erase("target");
  auto find = [&](std::string_view id) { return executable->metadata(id); };
  SINTER_CHECK(adoptOptions<TrainingOptions>(options.training, find, given, name));
  SINTER_CHECK(adoptOptions<CompileOptions>(options, find, given, name));
  if (const auto *attachments = executable->getRoot().attachments())
    for (const fb::Attachment *file : *attachments)
      files[file->name()->str()].assign(reinterpret_cast<const char *>(file->content()->data()),
                                        file->content()->size());
  if (files.contains("model.mlir")) {
    SINTER_CHECK(readText(files["model.mlir"], name, model));
  } else if (files.contains("config.json")) {
    model.description = files["config.json"];
    SINTER_TRY(model.spec, parseModelSpec(model.description, name));
  } else {
    return fail(name, "it does not hold its model's config.json",
                "compile the model with `entry` train");
  }
  model.tokenizerFiles = getTokenizerFiles(*executable);
  SINTER_TRY(LoadedModel loaded, LoadedModel::open(executable, model.path));
  model.weights = std::move(loaded.weights);
  compiled.executable = std::move(executable);
  return {};
}

Expected<void> TrainRun::getExecutable(CompileRequest request) {
  bool validates = data->streams.validation.has_value();
  if (!compiled.executable) {
    files = request.contents.attachments;
    if (validates)
      request.options.entries.push_back("evaluate");
    SINTER_CHECK(
        checkBudget(MemoryPlanner(model, {options, options.chunk, trainerOptions, validates})));
    // One rank compiles, the others find it in the cache.
    bool waits = options.communicator && options.communicator->getRank() != 0;
    if (waits)
      SINTER_CHECK(options.communicator->barrier());
    SINTER_TRY(compiled, compileCached(request, options, model.path.string()));
    if (options.communicator && !waits)
      SINTER_CHECK(options.communicator->barrier());
  } else {
    request.graph = nullptr; // it cannot be compiled again
  }
  // The step, and beside it the copy that checkpoints are written from, the next step's tokens and
  // the process.
  SINTER_TRY(uint64_t budget, options.getBudget());
  SINTER_TRY(runtime::TrainMemory memory,
             fitBudget(std::move(request), options, budget, trainerOptions, validates, compiled));
  if (budget != 0 && memory.getPeak() > budget)
    return refuseBudget(options, memory);
  return {};
}

/// What resuming must find unchanged: all that the rest of the run depends on but the schedule.
std::map<std::string, std::string> TrainRun::identify() const {
  auto identity = describeStep(options, options.chunk);
  // Two models may have parameters of the same shapes and compute something else.
  if (auto text = files.find("model.mlir"); text != files.end())
    identity["the model's text"] = contentHash(std::as_bytes(std::span(text->second)));
  else
    for (auto &[key, value] : listModelKeys(files.at("config.json")))
      identity["the model's " + key] = std::move(value);
  identity["data"] = data->fingerprint;
  identity["order"] = options.data.order;
  if (data->endOfText)
    identity["document_end"] = std::to_string(*data->endOfText);
  identity["seed"] = std::to_string(options.seed);
  identity["dtype"] = compiled.executable->metadata("dtype").value_or("f32");
  return identity;
}

Expected<void> TrainRun::prepare() {
  SINTER_CHECK(resolveMicrobatches(options));
  if (model.isExecutable()) {
    SINTER_CHECK(adoptExecutable());
  } else if (model.text) {
    SINTER_CHECK(adoptStep(model, listGiven(options), options, options.chunk));
  }
  if (!options.out.empty())
    SINTER_CHECK(makeOutputDirectory(options.out));
  if (options.evaluateEvery != 0 && options.data.validationFiles.empty() &&
      options.data.validationSplit == 0)
    return fail("`eval_every` " + std::to_string(options.evaluateEvery),
                "there is nothing to evaluate on",
                "give `val_data` FILE, or `val_split` 0.1 for a part of `data`");
  if (options.chunk == 0)
    options.chunk = getDefaultSequence(model);
  SINTER_CHECK(options.training.check());
  SINTER_CHECK(options.getBudget());
  SINTER_CHECK(chooseTokenizer(options.data, model));
  SINTER_TRY(trainerOptions, makeTrainerOptions(options));
  SINTER_CHECK(checkOptions(options));
  SINTER_CHECK(checkOptions(options.data));
  CompileRequest request;
  if (!compiled.executable) {
    SINTER_TRY(request, makeTrainRequest(model, options, options.chunk, /*evaluate=*/false));
  }
  SINTER_TRY(data, openData(model, options.data, options.training.documentMask, options.observer));
  SINTER_CHECK(checkData(options, *data));
  trainerOptions.endOfText = data->endOfText;
  SINTER_CHECK(getExecutable(std::move(request)));
  if (data->asBytes)
    files.merge(makeByteTokenizer());
  std::string_view dtype = getExecutable().metadata("dtype").value_or("f32");
  // A processor widens f16 before it multiplies.
  bool narrow = dtype == "bf16" || (dtype == "f16" && !getExecutable().isForCpu());
  productType = narrow ? DType::BF16 : DType::F32;
  if (model.weights)
    trainerOptions.weights = &source.emplace(*model.weights);
  parameters = static_cast<int64_t>(countElements(model.getParameters()));
  flops = double(options.training.accumulate) *
          getUsefulFlops(model.spec, options.batch, options.chunk);
  trainerOptions.identity = identify();
  return {};
}

Expected<std::unique_ptr<TrainRun>> TrainRun::prepare(Model model, TrainOptions options) {
  std::unique_ptr<TrainRun> run(new TrainRun(std::move(model), std::move(options)));
  SINTER_CHECK(run->prepare());
  return run;
}

/// A config.json for weights in float32. Where it names the type that they were in before, other
/// programs would round to that what was learned; nor are they quantized any more.
static std::string withStoredType(const std::string &config) {
  auto json = parseOrderedJson(config);
  bool changed = json.erase("quantization_config") != 0;
  for (const char *key : {"dtype", "torch_dtype"})
    if (auto type = json.find(key); type != json.end() && *type != "float32") {
      *type = "float32";
      changed = true;
    }
  return changed ? writeJson(json, 2) + "\n" : config;
}

Expected<void> TrainRun::begin() {
  trainerOptions.onWarning = [this](const Error &warning) { options.observer.warn(warning); };
  trainerOptions.session.onWarning = trainerOptions.onWarning;
  trainerOptions.onStep = [this](const runtime::StepRecord &record) {
    if (log)
      if (auto written = log->append(record); !written) {
        options.observer.warn(written.error());
        log.reset();
      }
    endTracedStep(record);
    if (options.onStep)
      options.onStep(record);
  };
  SINTER_TRY(trainer, runtime::Trainer::create(compiled.executable, data->streams, trainerOptions));
  if (options.communicator)
    SINTER_CHECK(beginTrace());
  // What all ranks know the first one writes; the folder is its own by now.
  if (options.communicator && options.communicator->getRank() != 0)
    return {};
  if (!options.out.empty())
    for (const auto &[name, content] : files) {
      std::string written = name == "config.json" ? withStoredType(content) : content;
      SINTER_CHECK(writeFileAtomically((fs::path(options.out) / name).string(),
                                       std::as_bytes(std::span(written))));
    }
  if (std::string path = options.getLog(); !path.empty()) {
    SINTER_TRY(log, TrainLog::open(path, trainer->getNextStep()));
    log->note(trainer->getChanges());
  }
  return {};
}

/// The last steps of which it is told what ranks were at: so many at the most.
static constexpr int64_t kTracedSteps = 4;

Expected<void> TrainRun::beginTrace() {
  SINTER_TRY(ProgramRuns runs, getOwnStepRuns(*compiled.executable, options));
  size_t events = 0;
  for (const fb::Program *program : runs)
    events += program->commands()->size() + 1;
  trace.emplace(kTracedSteps * events);
  trainer->getSession().setTrace(&*trace);
  return {};
}

void TrainRun::endTracedStep(const runtime::StepRecord &record) {
  bool isLast = record.step + 1 == static_cast<uint64_t>(options.steps);
  if (!trace || ++tracedSteps < kTracedSteps || isLast)
    return;
  trace->clear();
  tracedSteps = 0;
}

/// The steps of a trace that are there from beginning to end, without evaluations between them, and
/// their number. A step ends with a run of `last`.
static std::pair<runtime::Trace, int64_t> takeSteps(const runtime::Trace &trace,
                                                    const runtime::Executable &executable,
                                                    std::string_view last) {
  runtime::Trace steps(trace.getEvents().size());
  std::vector<runtime::TraceEvent> step;
  int64_t count = 0;
  for (const runtime::TraceEvent &event : trace.getEvents()) {
    auto name = executable.getRoot().programs()->Get(event.program)->name()->string_view();
    if (name == "evaluate")
      continue;
    step.push_back(event);
    if (event.command != runtime::TraceEvent::wholeRun || name != last)
      continue;
    for (const runtime::TraceEvent &whole : std::exchange(step, {}))
      steps.add(whole);
    ++count;
  }
  return {std::move(steps), count};
}

Expected<void> TrainRun::reportRanks(TrainResult &result) const {
  if (!trace)
    return {};
  const runtime::Executable &executable = *compiled.executable;
  SINTER_TRY(ProgramRuns runs, getOwnStepRuns(executable, options));
  auto [steps, count] = takeSteps(*trace, executable, runs.back()->name()->string_view());
  if (count == 0)
    return {};
  SINTER_TRY(std::vector<runtime::Trace> traces,
             runtime::gatherTraces(*options.communicator, steps, shareClock()));
  result.ranks = runtime::reportRanks(traces, executable);
  result.tracedSteps = count;
  return {};
}

Expected<TrainResult> TrainRun::run() {
  SINTER_TRY(runtime::TrainResult done, trainer->run());
  TrainResult result = {done.steps, done.stopped, done.seconds, trainer->getPeakBytes(), {}, 0};
  SINTER_CHECK(reportRanks(result));
  return result;
}

Expected<void> sinter::chooseLayout(TrainOptions &options, const Model &model) {
  if (options.where.layout.empty())
    return {};
  PlannedStep step;
  static_cast<RunOptions &>(step) = options;
  step.mode.mode = "train";
  step.mode.sequence = options.chunk != 0 ? options.chunk : getDefaultSequence(model);
  step.saveEvery = options.saveEvery;
  step.validates = !options.data.validationFiles.empty() || options.data.validationSplit != 0;
  SINTER_TRY(auto chosen, chooseDevices(options.where, step));
  auto &[cluster, devices] = chosen;
  SINTER_TRY(std::vector<Layout> layouts, findLayouts(model, step, devices, cluster));
  const Layout &best = layouts.front();
  char time[32];
  std::snprintf(time, sizeof time, "%.3g", best.stepMs);
  options.observer.note("layout: " + describeLayout(best.grid, best.zero) + ", predicted " + time +
                        " ms a step");
  options.grid = best.grid;
  options.zero = best.zero;
  options.target = step.target;
  return {};
}

Expected<TrainResult> sinter::train(const Model &model, const TrainOptions &options) {
  SINTER_TRY(std::unique_ptr<TrainRun> run, TrainRun::prepare(model, options));
  SINTER_CHECK(run->begin());
  return run->run();
}
