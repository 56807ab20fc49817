#include "tools/sinter/TrainRun.h"
#include "tools/sinter/FitMemory.h"
#include "tools/sinter/Generate.h"
#include "tools/sinter/Output.h"
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

using namespace sinter;
using namespace sinter::cli;
namespace fs = std::filesystem;

void sinter::cli::addTrainRunOptions(CLI::App &command, TrainRunOptions &options) {
  addDataOptions(command, options.data);
  auto add = [&](const char *group, const char *name, auto &variable, const char *type,
                 const char *text) {
    CLI::Option *option = command.add_option(name, variable, text)->group(group)->type_name(type);
    return takesNumber(variable) ? option->check(isNumber) : option;
  };
  constexpr int64_t kMost = int64_t(1) << 40;
  const char *group = "Run";
  add(group, "--steps", options.steps, "N", "steps of the whole run")
      ->capture_default_str()
      ->check(wholeNumber(1, kMost));
  add(group, "--batch", options.batch, "B", "rows that are computed at a time")
      ->capture_default_str()
      ->check(wholeNumber(1, 65536));
  add(group, "--seq", options.sequence, "T",
      "tokens of a row (default: 256, or as many as the model has positions)")
      ->check(wholeNumber(1, 1 << 24));
  add(group, "--seed", options.seed, "N", "of random initial weights, the data's order and dropout")
      ->capture_default_str()
      ->check(isSeed);
  add(group, "--eval-every", options.evaluateEvery, "N",
      "steps between evaluations of all validation data; 0: only after the last")
      ->capture_default_str()
      ->check(wholeNumber(0, kMost));

  group = "Learning rate";
  add(group, "--lr", options.learningRate, "F",
      "the peak; not of adafactor's relative steps (default: 0.0003)");
  add(group, "--adamw-lr", options.adamwRate, "F",
      "muon: the peak for vectors, embeddings and the head, which AdamW updates (default: --lr)");
  add(group, "--min-lr", options.minimum, "F", "the floor that it decays to")
      ->capture_default_str();
  add(group, "--warmup", options.warmup, "N", "steps in which it rises to the peak")
      ->capture_default_str()
      ->check(wholeNumber(0, kMost));
  add(group, "--schedule", options.schedule, "NAME",
      "after the warmup: constant; linear or cosine decay until the end of the run; wsd: constant, "
      "then linear decay over the last --decay-fraction of the run")
      ->capture_default_str()
      ->check(CLI::IsMember({"constant", "linear", "cosine", "wsd"}));
  add(group, "--decay-fraction", options.decayFraction, "F", "the part of the run that wsd decays")
      ->capture_default_str();
  add(group, "--scale-lr-from-batch", options.scaleFromBatch, "RULE:N",
      "--lr and --min-lr were found for N rows a step: multiply them by batch * accumulate / N "
      "(linear:N), or by its root (sqrt:N)");
  addStepOptions(command, options.step);
  addRunOptions(command, options);
  for (const char *name : {"--target", "--threads", "--dtype"})
    command.get_option(name)->group("Machine");
  for (const char *name : {"--no-cache", "--disable-pass", "--load-pass-plugin", "--add-pass"})
    command.get_option(name)->group("Compiler");
}

/// The factor of --scale-lr-from-batch.
static Expected<double> getRateFactor(const TrainRunOptions &options) {
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
    return fail("--scale-lr-from-batch " + options.scaleFromBatch, "is not of the form RULE:N",
                "write linear:32 or sqrt:32, for a rate that was found for 32 rows a step");
  uint64_t rows = static_cast<uint64_t>(options.batch) *
                  static_cast<uint64_t>(options.step.training.accumulate);
  return runtime::scaleLearningRate(
      1, rule == "linear" ? runtime::BatchScaling::Linear : runtime::BatchScaling::Sqrt, rows,
      reference);
}

/// The learning rate where --lr does not say.
static constexpr double kLearningRate = 3e-4;

/// Fails where a learning rate is given that the optimizer does not ask for.
static Expected<void> checkRates(const TrainRunOptions &options) {
  const TrainingOptions &step = options.step.training;
  if (options.adamwRate && step.optimizer != "muon")
    return fail("--adamw-lr", "is of --optimizer muon, not of " + step.optimizer,
                "leave it out, or give --lr");
  if (options.adamwRate && !(*options.adamwRate >= 0 && std::isfinite(*options.adamwRate)))
    return fail("--adamw-lr " + formatNumber(*options.adamwRate, 6), "is not a number from 0 up",
                "give 3e-4, for example");
  if (options.adamwRate && options.learningRate.value_or(kLearningRate) == 0)
    return fail("--adamw-lr", "follows --lr, which is 0", "give --lr a number above 0");
  if (step.optimizer != "adafactor" || !step.relativeStep)
    return {};
  const std::pair<const char *, bool> given[] = {
      {"--lr", options.learningRate.has_value()},
      {"--min-lr", options.minimum != 0},
      {"--warmup", options.warmup != 0},
      {"--schedule", options.schedule != "constant"},
      {"--scale-lr-from-batch", !options.scaleFromBatch.empty()}};
  for (const auto &[name, isGiven] : given)
    if (isGiven)
      return fail(name, "adafactor takes relative steps, which ask for no learning rate",
                  "add --relative-step false, or leave it out");
  return {};
}

static Expected<runtime::Schedule> makeSchedule(const TrainRunOptions &options) {
  SINTER_CHECK(checkRates(options));
  SINTER_TRY(double factor, getRateFactor(options));
  runtime::Schedule schedule;
  SINTER_TRY(schedule.kind, runtime::parseScheduleKind(options.schedule));
  schedule.learningRate = options.learningRate.value_or(kLearningRate) * factor;
  schedule.minimum = options.minimum * factor;
  schedule.warmup = static_cast<uint64_t>(options.warmup);
  schedule.steps = static_cast<uint64_t>(options.steps);
  schedule.decayFraction = options.decayFraction;
  SINTER_CHECK(schedule.check());
  return schedule;
}

/// What resuming must find unchanged: all that the rest of the run depends on but the schedule.
static std::map<std::string, std::string> identify(const TrainRunOptions &options,
                                                   const PreparedRun &run) {
  auto identity = describeStep(options.batch, options.sequence, options.step);
  // Two models may have parameters of the same shapes and compute something else.
  for (auto &[key, value] : listModelKeys(run.files.at("config.json")))
    identity["the model's " + key] = std::move(value);
  identity["--data"] = run.data.fingerprint;
  identity["--order"] = options.data.order;
  if (run.data.endOfText)
    identity["--document-end"] = std::to_string(*run.data.endOfText);
  identity["--seed"] = std::to_string(options.seed);
  identity["--dtype"] = run.dtype;
  return identity;
}

/// What resuming may find changed: the learning rate of the steps that are left.
static std::map<std::string, std::string> describeSchedule(const TrainRunOptions &options,
                                                           const runtime::Schedule &schedule) {
  auto write = [](double value) { return nlohmann::json(value).dump(); };
  bool decaysLate = schedule.kind == runtime::ScheduleKind::Wsd;
  return {{"--schedule", options.schedule},
          {"--lr", write(schedule.learningRate)},
          {"--adamw-lr", options.adamwRate ? write(*options.adamwRate) : ""},
          {"--min-lr", write(schedule.minimum)},
          {"--warmup", std::to_string(schedule.warmup)},
          {"--steps", std::to_string(schedule.steps)},
          {"--decay-fraction", decaysLate ? write(schedule.decayFraction) : ""}};
}

/// Fails where the data do not fill one step, before the compiler has been asked for anything.
static Expected<void> checkData(const TrainRunOptions &options, const OpenData &data) {
  runtime::BatchOptions batch;
  batch.batch = static_cast<uint64_t>(options.batch);
  batch.sequence = static_cast<uint64_t>(options.sequence);
  batch.order = options.data.order == "shuffled" ? runtime::DataOrder::Shuffled
                                                 : runtime::DataOrder::Sequential;
  auto accumulate = static_cast<uint64_t>(options.step.training.accumulate);
  SINTER_CHECK(runtime::BatchReader(data.streams.train, batch).check(accumulate));
  if (data.streams.validation)
    SINTER_CHECK(data.streams.validation->require(batch.sequence + 1,
                                                  "one row of " + std::to_string(batch.sequence) +
                                                      " tokens to evaluate"));
  return {};
}

/// Keeps the run within the budget: the step, and beside it the copy that checkpoints are written
/// from, the next step's tokens and the process; fails where computing values twice is not enough.
static Expected<void> keepWithinBudget(const CompileRequest &request,
                                       const TrainRunOptions &options, PreparedRun &run) {
  uint64_t budget = options.step.budgetBytes;
  SINTER_TRY(runtime::TrainMemory memory,
             fitBudget(request, options, budget, run.options,
                       run.data.streams.validation.has_value(), run.compiled));
  if (budget != 0 && memory.peak() > budget)
    return refuseBudget(options.step, memory);
  return {};
}

Expected<std::unique_ptr<PreparedRun>>
sinter::cli::prepareRun(Model model, TrainRunOptions &options,
                        std::shared_ptr<const runtime::Executable> executable) {
  if (options.evaluateEvery != 0 && options.data.validationFiles.empty() &&
      options.data.validationSplit == 0)
    return fail("--eval-every " + std::to_string(options.evaluateEvery),
                "there is nothing to evaluate on",
                "give --val-data FILE, or --val-split 0.1 for a part of --data");
  if (options.sequence == 0)
    options.sequence = getDefaultSequence(model.spec);
  SINTER_CHECK(checkStepOptions(options.step));
  SINTER_CHECK(chooseTokenizer(options.data, model));
  SINTER_TRY(runtime::Schedule schedule, makeSchedule(options));
  CompileRequest request;
  if (!executable) {
    SINTER_TRY(request, makeTrainRequest(model, options, options.step, options.sequence,
                                         /*evaluate=*/false));
  }
  SINTER_TRY(OpenData data, openData(model, options.data, options.step.training.documentMask));
  SINTER_CHECK(checkData(options, data));
  auto run = std::make_unique<PreparedRun>(std::move(data));
  runtime::TrainOptions &train = run->options;
  train.schedule = schedule;
  const TrainingOptions &step = options.step.training;
  train.accumulate = static_cast<uint64_t>(step.accumulate);
  train.beta1 = step.beta1;
  train.beta2 = step.beta2;
  double rate = options.learningRate.value_or(kLearningRate);
  train.adamwRate = options.adamwRate ? *options.adamwRate / rate : 1;
  train.order = options.data.order == "shuffled" ? runtime::DataOrder::Shuffled
                                                 : runtime::DataOrder::Sequential;
  train.seed = options.seed;
  train.endOfText = run->data.endOfText;
  train.evaluateEvery = static_cast<uint64_t>(options.evaluateEvery);
  train.session.threads = static_cast<unsigned>(getThreads(options));
  train.directory = options.out;
  train.saveEvery = static_cast<uint64_t>(options.saveEvery);
  if (executable) {
    if (const auto *attachments = executable->root().attachments())
      for (const fb::Attachment *file : *attachments)
        run->files[file->name()->str()].assign(
            reinterpret_cast<const char *>(file->content()->data()), file->content()->size());
  } else {
    run->files = request.contents.attachments;
    bool validates = run->data.streams.validation.has_value();
    if (validates)
      request.options.entries.push_back("evaluate");
    SINTER_CHECK(checkBudget(
        MemoryPlanner(model, {options, options.step, options.sequence, train, validates})));
    SINTER_TRY(Compiled compiled, compileCached(request, options));
    executable = std::move(compiled.executable);
    run->compiled.compileMs = compiled.compileMs;
  }
  if (run->data.asBytes)
    run->files.merge(makeByteTokenizer());
  run->dtype = executable->metadata("dtype").value_or("f32");
  // A processor widens f16 before it multiplies.
  bool narrow = run->dtype == "bf16" || (run->dtype == "f16" && isGpu(options));
  run->productType = narrow ? DType::BF16 : DType::F32;
  run->compiled.executable = std::move(executable);
  run->weights = std::exchange(model.weights, std::nullopt);
  if (run->weights)
    run->options.weights = &run->source.emplace(*run->weights);
  run->parameters = model.spec.parameterCount();
  run->flops = double(options.step.training.accumulate) *
               getUsefulFlops(model.spec, options.batch, options.sequence);

  train.identity = identify(options, *run);
  train.adjustable = describeSchedule(options, schedule);
  SINTER_CHECK(keepWithinBudget(request, options, *run));
  return run;
}

Expected<std::shared_ptr<const runtime::Executable>>
sinter::cli::adoptExecutable(const CLI::App &command, TrainRunOptions &options, Model &model) {
  if (!model.isExecutable)
    return nullptr;
  SINTER_TRY(auto executable, runtime::Executable::open(options.model));
  if (!executable->program("train_step") && !executable->program("update"))
    return fail(options.model, "was not compiled for training",
                "compile the model with --entry train");
  std::map<std::string, std::string> compiled;
  for (const fb::Metadata *entry : *executable->root().metadata())
    if (std::string key = entry->key()->str(); key.starts_with("--"))
      compiled[key] = entry->value()->str();
  for (const auto &[name, value] : compiled) {
    CLI::Option *option = const_cast<CLI::App &>(command).get_option(name);
    if (option->count() != 0 || value.empty())
      continue;
    option->add_result(value);
    option->run_callback();
  }
  for (const auto &[name, value] : describeStep(options.batch, options.sequence, options.step))
    if (compiled[name] != value)
      return fail(name + " " + value,
                  options.model + " was compiled for " +
                      (compiled[name].empty() ? "none" : compiled[name]),
                  "leave the option out, or compile again");
  auto config = executable->attachment("config.json");
  if (!config)
    return fail(options.model, "it does not hold its model's config.json",
                "compile the model with --entry train");
  model.description.assign(reinterpret_cast<const char *>(config->data()), config->size());
  SINTER_TRY(model.spec, parseModelSpec(model.description, options.model));
  model.tokenizerFiles = getTokenizerFiles(*executable);
  SINTER_TRY(model.weights, openWeights(*executable, model.path));
  return executable;
}

std::string sinter::cli::formatCount(double count) {
  const char *units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(units)) {
    count /= 1000;
    ++unit;
  }
  return formatNumber(count, unit == 0 ? 0 : 1) + units[unit];
}
