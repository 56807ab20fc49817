#include "runtime/Train/Trainer.h"
#include "runtime/Base/Options.h"
#include "runtime/Collective/RankProgress.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Train/CheckpointSaver.h"
#include "runtime/Train/TrainPrograms.h"
#include "runtime/Train/TrainStates.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace sinter::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::filesystem::path checkpointsOf(const TrainOptions &options) {
  return std::filesystem::path(options.directory) / "checkpoints";
}

bool savesInBackground(const TrainOptions &options) {
  return !options.directory.empty() && options.saveEvery != 0;
}

// What the disk cannot be written from directly is copied first.
bool takesSnapshots(const TrainOptions &options, const Executable &executable) {
  return savesInBackground(options) || (!options.directory.empty() && !executable.isForCpu());
}

BatchOptions batchOptions(const TrainOptions &options, uint64_t batch, uint64_t sequence) {
  return {batch, sequence, options.order, options.seed, options.endOfText};
}

size_t rankOf(const TrainOptions &options) {
  return options.session.communicator ? options.session.communicator->getRank() : 0;
}

BindOptions bindOptions(const TrainOptions &options, const Executable &executable,
                        std::vector<std::string> programs) {
  BindOptions session = options.session;
  session.programs = std::move(programs);
  if (savesInBackground(options))
    for (const HeldState &state : describeStates(executable, rankOf(options)))
      if (state.written)
        session.copiedStates.push_back(state.part.tensor.name);
  return session;
}

// The first text that is not empty.
std::string firstOf(const std::vector<std::string> &texts) {
  auto found = std::ranges::find_if(texts, [](const std::string &text) { return !text.empty(); });
  return found == texts.end() ? std::string() : *found;
}

void addProcess(TrainMemory &memory, const Executable &executable) {
  memory.apart = !executable.isForCpu();
  memory.process = predictProcessMemory(executable, memory.session);
}

} // namespace

struct Trainer::Impl {
  explicit Impl(TrainOptions options) : options(std::move(options)) {}

  TrainOptions options;
  TrainRanks ranks;
  std::unique_ptr<Session> session;
  StepPlan plan;
  TrainPrograms programs;
  TrainStates states;
  std::optional<BatchReader> train, validation;
  std::unique_ptr<BatchLoader> loader;
  std::optional<LossScaler> scaler;
  Microbatch evaluated;

  uint64_t step = 0, updates = 0; ///< done
  double beta1 = 0, beta2 = 0;    ///< of the bias corrections
  uint64_t held = 0;              ///< the most that was measured
  std::map<std::string, std::string> identity;
  std::vector<OptionChange> changes;

  // What the saver reads; declared before it, so that it outlives it.
  Snapshot snapshot;
  std::string stateJson;
  std::optional<FolderLock> lock; ///< of the folder of checkpoints, on the first rank
  std::unique_ptr<CheckpointSaver> saver;
  std::optional<Error> saveError; ///< of the last save

  Expected<StepPlan> check(const Executable &executable, bool validates) const;
  Expected<void> bindSession(std::shared_ptr<const Executable> executable, bool validates);
  Expected<void> bind(TrainData data);
  void describeRun(const TrainData &data);
  Expected<void> begin();
  Expected<void> runAll(std::span<const TrainProgram> some);
  Expected<std::optional<uint64_t>> openFolder(const CheckpointFolder &folder);
  Expected<void> resume(const std::filesystem::path &checkpoint);

  Expected<uint64_t> countTargets(std::span<const Microbatch> batches) const;
  StepScalars scalars(uint64_t targets) const;
  Expected<StepRecord> runStep();
  Error diagnose(std::span<const Microbatch> batches, const StepScalars &scalars, double loss,
                 double gradNorm);
  Error pointToCheckpoint(Error error) const;
  Expected<std::optional<NonFinite>> findNonFinite(std::span<const Microbatch> batches,
                                                   const StepScalars &scalars);
  Expected<std::string> describeNonFinite(std::span<const Microbatch> batches,
                                          const StepScalars &scalars);
  Expected<std::optional<double>> evaluate(const std::atomic<bool> *stop);
  void warn(const Error &error) const;
  void failSave(Error error);
  void waitForSaver();
  Expected<void> checkParameters(const std::string &purpose) const;
  Expected<std::string> findNonFiniteParameter() const;
  void save();
  Expected<void> writeModel(const std::string &path) const;
  Expected<void> finish(bool saves);
  uint64_t measurePeak();
  Expected<bool> endStep();
  TrainMemory getMemory() const;
};

/// A beta that the executable was compiled with, for its bias correction.
static Expected<double> readBeta(const Executable &executable, std::string_view id) {
  double beta = 0;
  std::optional<std::string_view> text = executable.metadata(id);
  if (!text || !readOption(*text, beta))
    return failMetadata(id, executable.getName());
  return beta;
}

// What can be told before memory is taken.
Expected<StepPlan> Trainer::Impl::check(const Executable &executable, bool validates) const {
  SINTER_CHECK(options.schedule.check());
  if (options.accumulate == 0)
    return fail("`accumulate`", "it is 0", "give at least 1");
  SINTER_CHECK(verifySteps(executable, options.accumulate, validates));
  return StepPlan::make(executable, ranks.getRank(), options.accumulate, validates);
}

// Of several ranks all begin to bind, or none; one that then cannot ends the run.
Expected<void> Trainer::Impl::bindSession(std::shared_ptr<const Executable> executable,
                                          bool validates) {
  ranks = TrainRanks(options.session.communicator, *executable);
  Expected<StepPlan> made = check(*executable, validates);
  SINTER_CHECK(ranks.agree(made ? Expected<void>() : tl::unexpected(made.error())));
  plan = *std::move(made);
  BindOptions bound = bindOptions(options, *executable, plan.getNames());
  SINTER_TRY(session, Session::bind(std::move(executable), bound));
  return {};
}

Expected<void> Trainer::Impl::bind(TrainData data) {
  bool validates = data.validation.has_value();
  SINTER_TRY(programs, TrainPrograms::find(*session, plan, ranks.getRank()));
  SINTER_TRY(states, TrainStates::find(*session, ranks.getRank()));
  if (options.endOfText && !hasInput(session->getExecutable(), "first"))
    return fail(session->getExecutable().getName(), "its programs know no documents",
                "compile the model with `document_mask`");
  SINTER_TRY(beta1, readBeta(session->getExecutable(), "beta1"));
  SINTER_TRY(beta2, readBeta(session->getExecutable(), "beta2"));
  if (hasInput(session->getExecutable(), "loss_scale"))
    scaler.emplace(options.scaler);
  auto [rows, length] = findMicrobatchShape(session->getExecutable());
  BatchOptions batches = batchOptions(options, rows, length);
  describeRun(data);
  train.emplace(std::move(data.train), batches);
  SINTER_CHECK(train->check(options.accumulate));
  if (validates) {
    SINTER_CHECK(data.validation->require(2, "a token and its target"));
    validation.emplace(std::move(*data.validation), batches);
  }
  SINTER_TRY(snapshot, Snapshot::plan(states.getFiles()));
  // Of the step alone the session has said so.
  TrainMemory planned = getMemory();
  uint64_t available = availableMemory();
  if (!planned.apart && planned.session.getPeak() <= available)
    if (auto shortage = describeShortage("the run", planned.getPeak(), available))
      warn(*shortage);
  if (savesInBackground(options))
    if (std::span<std::byte> memory = session->copyMemory(snapshot.getBytes()); !memory.empty())
      snapshot.useMemory(memory);
  return {};
}

// What the caller does not say is said here: all else that the bits of a run depend on.
void Trainer::Impl::describeRun(const TrainData &data) {
  identity = options.identity;
  identity.insert({
      {"batch", std::to_string(findMicrobatchShape(session->getExecutable())[0])},
      {"seq", std::to_string(findMicrobatchShape(session->getExecutable())[1])},
      {"accumulate", std::to_string(options.accumulate)},
      {"order", options.order == DataOrder::Sequential ? "sequential" : "shuffled"},
      {"seed", std::to_string(options.seed)},
      {"the number of training tokens", std::to_string(data.train.size())},
      {"the end of documents",
       options.endOfText ? "token " + std::to_string(*options.endOfText) : "not looked at"},
  });
  identity["leaves"] = std::to_string(programs.tree.getLeaves());
}

// Fills the states, from the newest checkpoint where the run goes on.
Expected<void> Trainer::Impl::begin() {
  if (options.directory.empty()) {
    SINTER_CHECK(ranks.agree(states.initialize(options.weights, options.seed)));
    return runAll(programs.share);
  }
  CheckpointFolder folder(checkpointsOf(options));
  Expected<std::optional<uint64_t>> opened;
  if (ranks.isFirst())
    opened = openFolder(folder);
  SINTER_CHECK(ranks.agree(opened ? Expected<void>() : tl::unexpected(opened.error())));
  uint64_t next = *opened ? **opened + 1 : 0; // behind the step to go on from
  SINTER_TRY(std::vector<uint64_t> known, ranks.gatherAll(next));
  saver = std::make_unique<CheckpointSaver>(ranks, folder, options.keep);
  SINTER_CHECK(ranks.agree(known.front() != 0 ? resume(folder.at(known.front() - 1))
                                              : states.initialize(options.weights, options.seed)));
  return runAll(programs.share);
}

Expected<void> Trainer::Impl::runAll(std::span<const TrainProgram> some) {
  for (const TrainProgram &program : some)
    SINTER_CHECK(session->run(program.getHandle()));
  return {};
}

// The step of the checkpoint to go on from, if there is one.
Expected<std::optional<uint64_t>> Trainer::Impl::openFolder(const CheckpointFolder &folder) {
  SINTER_TRY(lock, folder.open());
  std::vector<CheckpointEntry> there = folder.list();
  if (!options.resume && !there.empty())
    return fail(checkpointsOf(options).string(),
                "an earlier run is there, up to " + there.front().path.filename().string(),
                "add `resume` to go on with it, or choose another `out`");
  if (there.empty())
    return std::optional<uint64_t>();
  auto newest = folder.findNewestWhole([this](const Error &error) { warn(error); });
  if (!newest)
    return fail(checkpointsOf(options).string(), "none of its checkpoints is whole",
                "choose another `out`, or move them away to begin anew");
  return std::optional(newest->step);
}

Expected<void> Trainer::Impl::resume(const std::filesystem::path &checkpoint) {
  std::string path = (checkpoint / stateFile).string();
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  const char *text = reinterpret_cast<const char *>(file.getBytes().data());
  SINTER_TRY(RunState state, RunState::parse({text, file.getBytes().size()}, path));
  SINTER_TRY(changes, state.checkOptions(identity, options.adjustable, checkpoint.string()));
  if (state.scaler.has_value() != scaler.has_value())
    return fail(checkpoint.string(),
                state.scaler ? "it was written with loss scaling, for f16"
                             : "it was written without loss scaling",
                "give the `dtype` of then, or begin anew in another `out`");
  SINTER_CHECK(states.load(checkpoint));
  step = state.step;
  updates = state.updates;
  if (scaler)
    scaler->restore(*state.scaler);
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

// Of all microbatches of the step, whoever computes them.
Expected<uint64_t> Trainer::Impl::countTargets(std::span<const Microbatch> batches) const {
  uint64_t own = 0;
  for (const Microbatch &batch : batches)
    own += batch.valid;
  SINTER_TRY(std::vector<uint64_t> counts, ranks.gather(std::span<const uint64_t>(&own, 1)));
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

StepScalars Trainer::Impl::scalars(uint64_t targets) const {
  StepScalars result;
  result.lossWeight = 1 / double(std::max<uint64_t>(targets, 1));
  result.lossScale = scaler ? double(scaler->getScale()) : 1;
  result.learningRate = options.schedule.at(step);
  result.adamwLearningRate = options.adamwRate * result.learningRate;
  double update = double(updates + 1);
  result.update = update;
  result.biasCorrection1 = 1 - std::pow(beta1, update);
  result.biasCorrection2 = 1 - std::pow(beta2, update);
  return result;
}

Expected<StepRecord> Trainer::Impl::runStep() {
  const GradientTree &tree = programs.tree;
  uint64_t place = ranks.getDataPlace(), first = tree.numberOf(place, 0);
  if (!loader)
    loader =
        std::make_unique<BatchLoader>(*train,
                                      StepShare{options.accumulate, first, tree.getMicrobatches(),
                                                tree.numberOf(place, 1) - first},
                                      step);
  Clock::time_point begin = Clock::now();
  if (const Communicator *others = options.session.communicator; others && others->progress)
    others->progress->beginStep(step);
  std::span<const Microbatch> batches = loader->next();
  SINTER_TRY(uint64_t targets, countTargets(batches));
  StepScalars values = scalars(targets);
  std::vector<double> losses(batches.size());
  for (const StepTask &task : programs.tasks) {
    task.program.set(batches[task.microbatch]);
    task.program.set(values);
    SINTER_CHECK(session->run(task.program.getHandle()));
    if (task.program.hasLoss())
      losses[task.microbatch] = task.program.getLoss();
    for (size_t carry : task.carries)
      SINTER_CHECK(session->run(carry));
  }
  SINTER_TRY(losses, ranks.ofLastStage(std::span<const double>(losses)));
  SINTER_TRY(losses, ranks.gather(std::span<const double>(losses)));
  std::vector<double> inOrder(losses.size());
  for (size_t i = 0; i < losses.size(); ++i)
    inOrder[tree.numberOf(i / tree.getMicrobatches(), i % tree.getMicrobatches())] = losses[i];
  double loss = std::accumulate(inOrder.begin(), inOrder.end(), 0.0);
  for (const TrainProgram &update : programs.update) {
    update.setSeed(train->seedOf(step * options.accumulate + options.accumulate - 1));
    update.set(values);
    SINTER_CHECK(session->run(update.getHandle()));
  }
  SINTER_CHECK(runAll(programs.share));
  double gradNorm = programs.getGradNorm();
  SINTER_TRY(std::vector<double> norms, ranks.ofLastStage(std::span<const double>(&gradNorm, 1)));
  gradNorm = norms.front();
  bool skipped = scaler && !std::isfinite(gradNorm);
  if (scaler)
    scaler->update(!skipped);
  if (skipped ? scaler->isExhausted() : !std::isfinite(loss) || !std::isfinite(gradNorm))
    return tl::unexpected(diagnose(batches, values, loss, gradNorm));

  uint64_t tokens = options.accumulate * train->getOptions().batch * train->getOptions().sequence;
  StepRecord record;
  record.step = step++;
  updates += skipped ? 0 : 1;
  record.loss = loss;
  record.gradNorm = gradNorm;
  record.learningRate = values.learningRate;
  record.tokens = step * tokens;
  record.skipped = skipped;
  if (scaler)
    record.lossScale = values.lossScale;
  double seconds = secondsSince(begin);
  record.stepMs = 1e3 * seconds;
  record.tokensPerSecond = double(tokens) / seconds;
  record.peakBytes = measurePeak();
  return record;
}

// Does the step again, which left the parameters as they were, with every number looked at.
Expected<std::optional<NonFinite>> Trainer::Impl::findNonFinite(std::span<const Microbatch> batches,
                                                                const StepScalars &values) {
  std::optional<NonFinite> first;
  auto look = [&](size_t program) -> Expected<void> {
    SINTER_TRY(std::optional<NonFinite> found, session->runToNonFinite(program));
    if (!first)
      first = found;
    return {};
  };
  // One rank is done with the first; others wait for what this one sends later.
  auto isDone = [&] { return first && ranks.size() == 1; };
  for (const StepTask &task : programs.tasks) {
    task.program.set(batches[task.microbatch]);
    task.program.set(values);
    SINTER_CHECK(look(task.program.getHandle()));
    for (size_t i = 0; i < task.carries.size() && !isDone(); ++i)
      SINTER_CHECK(look(task.carries[i]));
    if (isDone())
      return first;
  }
  if (programs.update.empty() || ranks.size() > 1)
    return first;
  const TrainProgram &update = programs.update.front();
  update.setSeed(batches.back().seed);
  update.set(values);
  return session->runToNonFinite(update.getHandle());
}

// "nan first shows in softmax of layer.1", of the first rank that finds one; empty where none does.
Expected<std::string> Trainer::Impl::describeNonFinite(std::span<const Microbatch> batches,
                                                       const StepScalars &values) {
  std::string own;
  // Along other axes than data, ranks compute microbatches together.
  if (ranks.size() == ranks.getDataRanks()) {
    SINTER_TRY(std::optional<NonFinite> found, findNonFinite(batches, values));
    if (found)
      own = found->value + " first shows in " + found->label;
    if (found && !found->layer.empty())
      own += " of " + found->layer;
  }
  SINTER_TRY(std::vector<std::string> all, ranks.gatherTexts(own));
  return firstOf(all);
}

Error Trainer::Impl::diagnose(std::span<const Microbatch> batches, const StepScalars &values,
                              double loss, double gradNorm) {
  auto describe = [](double value) {
    return std::isnan(value) ? std::string("nan") : std::string(value > 0 ? "inf" : "-inf");
  };
  Error error;
  error.what = "step " + std::to_string(step);
  error.why = std::isfinite(loss) ? "the gradient's norm is " + describe(gradNorm)
                                  : "the loss is " + describe(loss);
  // A device that fails meanwhile is not what went wrong first.
  if (std::string parameter = findNonFiniteParameter().value_or(""); !parameter.empty())
    error.why += ", since the parameter '" + parameter + "' is not finite before it";
  else if (std::string found = describeNonFinite(batches, values).value_or(""); !found.empty())
    error.why += "; " + found;
  if (scaler)
    error.why += ", however small the loss scale";
  error.remedy = "lower `lr` or raise `warmup`";
  waitForSaver();
  return pointToCheckpoint(std::move(error));
}

// Says what is left of the run.
Error Trainer::Impl::pointToCheckpoint(Error error) const {
  if (!saver)
    return error;
  std::vector<CheckpointEntry> there = CheckpointFolder(checkpointsOf(options)).list();
  if (!there.empty())
    error.remedy += "; the last checkpoint is " + there.front().path.string();
  return error;
}

Expected<std::optional<double>> Trainer::Impl::evaluate(const std::atomic<bool> *stop) {
  struct Part {
    double loss = 0; // sum over targets
    uint64_t targets = 0, stops = 0;
  };
  Part sum;
  uint64_t count = validation->getEvaluationCount(), together = ranks.getDataRanks();
  for (uint64_t first = 0; first < count; first += together) {
    // Where there are fewer than ranks, some compute the last one for nothing.
    uint64_t number = first + ranks.getDataPlace();
    validation->readForEvaluation(std::min(number, count - 1), evaluated);
    StepScalars values;
    values.lossWeight = 1 / double(std::max<uint64_t>(evaluated.valid, 1));
    Part own{0, 0, stop && stop->load()};
    for (const TrainProgram &program : programs.evaluate) {
      program.set(evaluated);
      program.set(values);
      SINTER_CHECK(session->run(program.getHandle()));
      if (program.hasLoss() && number < count && evaluated.valid != 0)
        own = {program.getLoss() * double(evaluated.valid), evaluated.valid, own.stops};
    }
    SINTER_TRY(std::vector<Part> parts, ranks.ofLastStage(std::span<const Part>(&own, 1)));
    SINTER_TRY(parts, ranks.gather(std::span<const Part>(parts)));
    for (const Part &part : parts)
      sum = {sum.loss + part.loss, sum.targets + part.targets, sum.stops + part.stops};
    if (sum.stops != 0)
      return std::optional<double>();
  }
  return std::optional(sum.loss / double(std::max<uint64_t>(sum.targets, 1)));
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

// Of what all ranks know the first one tells.
void Trainer::Impl::warn(const Error &error) const {
  if (options.onWarning && ranks.isFirst())
    options.onWarning(error);
}

void Trainer::Impl::failSave(Error error) {
  saveError = std::move(error);
  warn(*saveError);
}

// Takes the result of the save before, if there is one.
void Trainer::Impl::waitForSaver() {
  if (!saver)
    return;
  if (Expected<void> result = saver->wait(); !result)
    failSave(std::move(result).error());
}

// What the ranks tell each other between two steps: whether one of them is to stop, and that a save
// can go on.
Expected<bool> Trainer::Impl::endStep() {
  struct Flags {
    uint8_t stops, idle;
  };
  Flags own{options.stop && options.stop->load(), !saver || saver->isIdle()};
  if (ranks.size() == 1)
    return own.stops != 0;
  SINTER_TRY(std::vector<Flags> flags, ranks.gatherAll(own));
  if (saver)
    if (Expected<void> result = saver->advance(std::ranges::all_of(flags, &Flags::idle)); !result)
      failSave(std::move(result).error());
  return std::ranges::any_of(flags, &Flags::stops);
}

// An update may overflow though its gradient did not: the checkpoints before it are worth more.
Expected<void> Trainer::Impl::checkParameters(const std::string &purpose) const {
  SINTER_TRY(std::string broken, findNonFiniteParameter());
  if (!broken.empty())
    return fail(purpose + " of step " + std::to_string(step),
                "the parameter '" + broken + "' is not finite",
                "lower `lr` or raise `warmup`; the checkpoints before it stay");
  return {};
}

// The first one that some rank finds; empty where none does.
Expected<std::string> Trainer::Impl::findNonFiniteParameter() const {
  auto found = states.findNonFiniteParameter();
  SINTER_CHECK(ranks.agree(found ? Expected<void>() : tl::unexpected(found.error())));
  SINTER_TRY(std::vector<std::string> all, ranks.gatherTexts(found->value_or("")));
  return firstOf(all);
}

void Trainer::Impl::save() {
  waitForSaver();
  saveError.reset();
  bool background = savesInBackground(options), copies = background || !states.inHostMemory();
  Expected<void> ready = checkParameters("checkpoint");
  if (ready && copies)
    ready = snapshot.capture(session->getPool(), states.reader());
  if (ready = ranks.agree(std::move(ready)); !ready)
    return failSave(std::move(ready).error());
  RunState state;
  state.step = step;
  state.updates = updates;
  if (scaler)
    state.scaler = scaler->getState();
  state.options = options.adjustable;
  state.options.insert(identity.begin(), identity.end());
  stateJson = state.toJson();
  std::vector<CheckpointFile> files = copies ? snapshot.getCaptured() : snapshot.getLive();
  if (ranks.isFirst())
    files.push_back({stateFile, {std::as_bytes(std::span(stateJson))}});
  if (Expected<void> started =
          saver->start(step, std::move(files), [this] { return session->finishCopies(); });
      !started)
    return failSave(std::move(started).error());
  if (!background)
    waitForSaver();
}

Expected<void> Trainer::Impl::writeModel(const std::string &path) const {
  return states.writeModel(path, ranks);
}

// After the last step: the model, then, with `saves`, the last checkpoint. Each is tried whatever
// becomes of the other.
Expected<void> Trainer::Impl::finish(bool saves) {
  Expected<void> written;
  if (!options.model.empty()) {
    waitForSaver(); // what it is at takes room that it may give back
    written = checkParameters("model");
    if (written)
      written = writeModel(options.model);
  }
  if (saves)
    save();
  waitForSaver();
  if (!written)
    return tl::unexpected(pointToCheckpoint(std::move(written).error()));
  if (!saveError)
    return {};
  Error error = *saveError;
  if (!options.model.empty())
    error.remedy += "; the model itself is whole: " + options.model;
  return tl::unexpected(std::move(error));
}

uint64_t Trainer::Impl::measurePeak() {
  held = std::max(held, measureHeld(session->getMemory(), !session->getExecutable().isForCpu()));
  return held;
}

TrainMemory Trainer::Impl::getMemory() const {
  TrainMemory memory;
  memory.session = session->getMemory();
  memory.snapshot = takesSnapshots(options, session->getExecutable()) ? snapshot.getBytes() : 0;
  memory.batches = BatchLoader::bytes(train->getOptions(), programs.tree.getMicrobatches());
  addProcess(memory, session->getExecutable());
  return memory;
}

//===----------------------------------------------------------------------===//
// Trainer
//===----------------------------------------------------------------------===//

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Trainer::~Trainer() = default;

Expected<std::unique_ptr<Trainer>> Trainer::create(std::shared_ptr<const Executable> executable,
                                                   TrainData data, TrainOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  SINTER_CHECK(impl->bindSession(std::move(executable), data.validation.has_value()));
  SINTER_CHECK(impl->ranks.agree(impl->bind(std::move(data))));
  SINTER_CHECK(impl->begin());
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
}

Expected<StepRecord> Trainer::step() { return impl->runStep(); }

Expected<TrainResult> Trainer::run() {
  const TrainOptions &options = impl->options;
  Clock::time_point begin = Clock::now();
  TrainResult result;
  bool saved = true; // where the run stands
  while (impl->step < options.schedule.steps && !result.stopped) {
    Expected<StepRecord> record = impl->runStep();
    if (!record)
      return tl::unexpected(std::move(record).error());
    bool last = impl->step == options.schedule.steps;
    auto isDue = [&](uint64_t every) { return last || (every != 0 && impl->step % every == 0); };
    saved = false;
    if (impl->validation && isDue(options.evaluateEvery)) {
      SINTER_TRY(record->validationLoss, impl->evaluate(options.stop));
      if (!record->validationLoss) {
        // Asked to stop meanwhile: first what was learned is made safe, then it is evaluated, as a
        // run that goes on from there no longer would.
        if (impl->saver)
          impl->save();
        saved = true;
        SINTER_TRY(record->validationLoss, impl->evaluate(nullptr));
      }
    }
    if (options.onStep)
      options.onStep(*record);
    SINTER_TRY(bool stops, impl->endStep());
    result.stopped = stops && !last;
    if (impl->saver && !saved && !last && (result.stopped || isDue(options.saveEvery)))
      impl->save();
  }
  if (!result.stopped) {
    SINTER_CHECK(impl->finish(/*saves=*/impl->saver && !saved));
  } else {
    impl->waitForSaver();
    if (impl->saveError)
      return tl::unexpected(*impl->saveError);
  }
  result.steps = impl->step;
  result.seconds = secondsSince(begin);
  return result;
}

Expected<double> Trainer::evaluate() {
  SINTER_TRY(std::optional<double> loss, impl->evaluate(nullptr));
  return *loss;
}

Expected<void> Trainer::writeModel(const std::string &path) const { return impl->writeModel(path); }

uint64_t Trainer::getNextStep() const { return impl->step; }
const std::vector<OptionChange> &Trainer::getChanges() const { return impl->changes; }
TrainMemory Trainer::getMemory() const { return impl->getMemory(); }
uint64_t Trainer::getPeakBytes() { return impl->measurePeak(); }
Session &Trainer::getSession() const { return *impl->session; }

Expected<TrainMemory> predictTrainMemory(std::shared_ptr<const Executable> executable,
                                         const TrainOptions &options, bool validation) {
  SINTER_CHECK(verifySteps(*executable, options.accumulate, validation));
  // Of a pipeline's ranks the one that holds the most, so that all come to the same.
  size_t rank =
      countStages(executable->getRoot()) == 0 ? rankOf(options) : findLargestRank(*executable);
  SINTER_TRY(StepPlan plan, StepPlan::make(*executable, rank, options.accumulate, validation));
  auto [rows, length] = findMicrobatchShape(*executable);
  BatchOptions batches = batchOptions(options, rows, length);
  SINTER_TRY(Snapshot snapshot,
             Snapshot::plan(describeFiles(*executable, describeStates(*executable, rank), rank)));
  TrainMemory memory;
  SINTER_TRY(memory.session,
             predictMemory(executable, bindOptions(options, *executable, plan.getNames())));
  memory.snapshot = takesSnapshots(options, *executable) ? snapshot.getBytes() : 0;
  memory.batches = BatchLoader::bytes(batches, plan.tree.getMicrobatches());
  addProcess(memory, *executable);
  return memory;
}

} // namespace sinter::runtime
