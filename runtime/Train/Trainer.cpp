#include "runtime/Train/Trainer.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Options.h"
#include "runtime/Checkpoint/CheckpointWriter.h"
#include "runtime/Collective/RankProgress.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Train/TrainPrograms.h"
#include "runtime/Train/TrainStates.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <malloc.h>

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

BindOptions bindOptions(const TrainOptions &options, const Executable &executable,
                        std::vector<std::string> programs) {
  BindOptions session = options.session;
  session.programs = std::move(programs);
  if (savesInBackground(options))
    for (const SnapshotFile &file : describeStates(executable))
      for (const TensorToWrite &state : file.tensors)
        session.copiedStates.push_back(state.name);
  return session;
}

void addProcess(TrainMemory &memory, const Executable &executable) {
  memory.apart = !executable.isForCpu();
  memory.process = memory.apart ? 0 : otherBytes(memory.session, executable.flatbuffer().size());
}

} // namespace

struct Trainer::Impl {
  explicit Impl(TrainOptions options) : options(std::move(options)) {}

  TrainOptions options;
  std::unique_ptr<Session> session;
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

  // What the writer reads; declared before it, so that it outlives it.
  Snapshot snapshot;
  std::string stateJson;
  std::unique_ptr<CheckpointWriter> writer;
  std::optional<Error> saveError; ///< of the last save

  Expected<void> bind(std::shared_ptr<const Executable> executable, TrainData data);
  void describeRun(const TrainData &data);
  Expected<void> begin();
  Expected<void> resume(const std::filesystem::path &checkpoint);

  StepScalars scalars(std::span<const Microbatch> batches) const;
  Expected<StepRecord> runStep();
  Error diagnose(std::span<const Microbatch> batches, const StepScalars &scalars, double loss,
                 double gradNorm);
  Error pointToCheckpoint(Error error) const;
  Expected<std::optional<NonFinite>> findNonFinite(std::span<const Microbatch> batches,
                                                   const StepScalars &scalars);
  Expected<std::optional<double>> evaluate(const std::atomic<bool> *stop);
  void warn(const Error &error) const;
  void waitForWriter();
  Expected<void> checkParameters(const std::string &purpose) const;
  void save();
  Expected<void> writeModel(const std::string &path) const;
  Expected<void> finish(bool saves);
  uint64_t measurePeak();
  bool stopping() const { return options.stop && options.stop->load(); }
  TrainMemory memory() const;
};

/// A beta that the executable was compiled with, for its bias correction.
static Expected<double> readBeta(const Executable &executable, std::string_view id) {
  double beta = 0;
  std::optional<std::string_view> text = executable.metadata(id);
  if (!text || !readOption(*text, beta))
    return failMetadata(id, executable.name());
  return beta;
}

Expected<void> Trainer::Impl::bind(std::shared_ptr<const Executable> executable, TrainData data) {
  SINTER_CHECK(options.schedule.check());
  if (options.accumulate == 0)
    return fail("`accumulate`", "it is 0", "give at least 1");
  bool validates = data.validation.has_value();
  SINTER_TRY(std::vector<std::string> names,
             TrainPrograms::choose(*executable, options.accumulate, validates));
  // What was done before, as tokenizing, leaves a heap that the run has no use for.
  ::malloc_trim(0);
  BindOptions bound = bindOptions(options, *executable, std::move(names));
  SINTER_TRY(session, Session::bind(std::move(executable), bound));
  SINTER_TRY(programs, TrainPrograms::find(*session, options.accumulate, validates));
  SINTER_TRY(states, TrainStates::find(*session));
  if (options.endOfText && !programs.step.hasFirst())
    return fail(session->executable().name(), "its programs know no documents",
                "compile the model with `document_mask`");
  SINTER_TRY(beta1, readBeta(session->executable(), "beta1"));
  SINTER_TRY(beta2, readBeta(session->executable(), "beta2"));
  if (programs.step.hasLossScale())
    scaler.emplace(options.scaler);
  BatchOptions batches = batchOptions(options, programs.step.batch(), programs.step.sequence());
  describeRun(data);
  train.emplace(std::move(data.train), batches);
  SINTER_CHECK(train->check(options.accumulate));
  if (validates) {
    SINTER_CHECK(data.validation->require(2, "a token and its target"));
    validation.emplace(std::move(*data.validation), batches);
  }
  SINTER_TRY(snapshot, Snapshot::plan(states.files()));
  // Of the step alone the session has said so.
  TrainMemory planned = memory();
  uint64_t available = availableMemory();
  if (!planned.apart && planned.session.peak() <= available)
    if (auto shortage = describeShortage("the run", planned.peak(), available))
      warn(*shortage);
  if (savesInBackground(options))
    if (std::span<std::byte> memory = session->copyMemory(snapshot.bytes()); !memory.empty())
      snapshot.useMemory(memory);
  return {};
}

// What the caller does not say is said here: all else that the bits of a run depend on.
void Trainer::Impl::describeRun(const TrainData &data) {
  identity = options.identity;
  identity.insert({
      {"batch", std::to_string(programs.step.batch())},
      {"seq", std::to_string(programs.step.sequence())},
      {"accumulate", std::to_string(options.accumulate)},
      {"order", options.order == DataOrder::Sequential ? "sequential" : "shuffled"},
      {"seed", std::to_string(options.seed)},
      {"the number of training tokens", std::to_string(data.train.size())},
      {"the end of documents",
       options.endOfText ? "token " + std::to_string(*options.endOfText) : "not looked at"},
  });
}

// Fills the states, from the newest checkpoint where the run goes on.
Expected<void> Trainer::Impl::begin() {
  if (!options.directory.empty()) {
    CheckpointFolder folder(checkpointsOf(options));
    SINTER_CHECK(folder.open());
    std::vector<CheckpointEntry> there = folder.list();
    if (!options.resume && !there.empty())
      return fail(checkpointsOf(options).string(),
                  "an earlier run is there, up to " + there.front().path.filename().string(),
                  "add `resume` to go on with it, or choose another `out`");
    writer = std::make_unique<CheckpointWriter>(folder, options.keep);
    if (options.resume)
      if (auto found = folder.findNewestWhole([this](const Error &error) { warn(error); }))
        return resume(found->path);
  }
  return states.initialize(options.weights, options.seed);
}

Expected<void> Trainer::Impl::resume(const std::filesystem::path &checkpoint) {
  std::string path = (checkpoint / stateFile).string();
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  const char *text = reinterpret_cast<const char *>(file.bytes().data());
  SINTER_TRY(RunState state, RunState::parse({text, file.bytes().size()}, path));
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

StepScalars Trainer::Impl::scalars(std::span<const Microbatch> batches) const {
  uint64_t valid = 0;
  for (const Microbatch &batch : batches)
    valid += batch.valid;
  StepScalars result;
  result.lossWeight = 1 / double(std::max<uint64_t>(valid, 1));
  result.lossScale = scaler ? double(scaler->scale()) : 1;
  result.learningRate = options.schedule.at(step);
  result.adamwLearningRate = options.adamwRate * result.learningRate;
  double update = double(updates + 1);
  result.update = update;
  result.biasCorrection1 = 1 - std::pow(beta1, update);
  result.biasCorrection2 = 1 - std::pow(beta2, update);
  return result;
}

Expected<StepRecord> Trainer::Impl::runStep() {
  if (!loader)
    loader = std::make_unique<BatchLoader>(*train, options.accumulate, step);
  Clock::time_point begin = Clock::now();
  if (const Communicator *ranks = options.session.communicator; ranks && ranks->progress)
    ranks->progress->beginStep(step);
  std::span<const Microbatch> batches = loader->next();
  StepScalars values = scalars(batches);
  double loss = 0;
  for (const Microbatch &batch : batches) {
    programs.step.set(batch);
    programs.step.set(values);
    SINTER_CHECK(session->run(programs.step.handle()));
    loss += programs.step.loss();
  }
  const TrainProgram &last = programs.update ? *programs.update : programs.step;
  if (programs.update) {
    last.set(batches.back());
    last.set(values);
    SINTER_CHECK(session->run(last.handle()));
  }
  double gradNorm = last.gradNorm();
  bool skipped = scaler && !std::isfinite(gradNorm);
  if (scaler)
    scaler->update(!skipped);
  if (skipped ? scaler->isExhausted() : !std::isfinite(loss) || !std::isfinite(gradNorm))
    return tl::unexpected(diagnose(batches, values, loss, gradNorm));

  uint64_t tokens = options.accumulate * programs.step.batch() * programs.step.sequence();
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
  for (const Microbatch &batch : batches) {
    programs.step.set(batch);
    programs.step.set(values);
    SINTER_TRY(std::optional<NonFinite> found, session->runToNonFinite(programs.step.handle()));
    if (found)
      return found;
  }
  if (!programs.update)
    return std::optional<NonFinite>();
  programs.update->set(batches.back());
  programs.update->set(values);
  return session->runToNonFinite(programs.update->handle());
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
  auto parameter = states.findNonFiniteParameter().value_or(std::nullopt);
  if (parameter)
    error.why += ", since the parameter '" + *parameter + "' is not finite before it";
  else if (auto found = findNonFinite(batches, values).value_or(std::nullopt)) {
    error.why += "; " + found->value + " first shows in " + found->label;
    if (!found->layer.empty())
      error.why += " of " + found->layer;
  }
  if (scaler)
    error.why += ", however small the loss scale";
  error.remedy = "lower `lr` or raise `warmup`";
  if (writer)
    waitForWriter();
  return pointToCheckpoint(std::move(error));
}

// Says what is left of the run.
Error Trainer::Impl::pointToCheckpoint(Error error) const {
  if (!writer)
    return error;
  std::vector<CheckpointEntry> there = CheckpointFolder(checkpointsOf(options)).list();
  if (!there.empty())
    error.remedy += "; the last checkpoint is " + there.front().path.string();
  return error;
}

Expected<std::optional<double>> Trainer::Impl::evaluate(const std::atomic<bool> *stop) {
  const TrainProgram &program = *programs.evaluate;
  double sum = 0;
  uint64_t targets = 0;
  for (uint64_t i = 0; i < validation->evaluationCount(); ++i) {
    if (stop && stop->load())
      return std::optional<double>();
    validation->readForEvaluation(i, evaluated);
    if (evaluated.valid == 0)
      continue;
    StepScalars values;
    values.lossWeight = 1 / double(evaluated.valid);
    program.set(evaluated);
    program.set(values);
    SINTER_CHECK(session->run(program.handle()));
    sum += program.loss() * double(evaluated.valid);
    targets += evaluated.valid;
  }
  return std::optional(sum / double(std::max<uint64_t>(targets, 1)));
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

void Trainer::Impl::warn(const Error &error) const {
  if (options.onWarning)
    options.onWarning(error);
}

// Takes the result of the save before, if there is one.
void Trainer::Impl::waitForWriter() {
  if (Expected<void> result = writer->wait(); !result) {
    saveError = std::move(result).error();
    warn(*saveError);
  }
}

// An update may overflow though its gradient did not: the checkpoints before it are worth more.
Expected<void> Trainer::Impl::checkParameters(const std::string &purpose) const {
  SINTER_TRY(std::optional<std::string> broken, states.findNonFiniteParameter());
  if (broken)
    return fail(purpose + " of step " + std::to_string(step),
                "the parameter '" + *broken + "' is not finite",
                "lower `lr` or raise `warmup`; the checkpoints before it stay");
  return {};
}

void Trainer::Impl::save() {
  waitForWriter();
  saveError.reset();
  if (Expected<void> finite = checkParameters("checkpoint"); !finite) {
    saveError = std::move(finite).error();
    return warn(*saveError);
  }
  bool background = savesInBackground(options), copies = background || !states.inHostMemory();
  if (copies)
    if (Expected<void> captured = snapshot.capture(session->pool(), states.reader()); !captured) {
      saveError = std::move(captured).error();
      return warn(*saveError);
    }
  RunState state;
  state.step = step;
  state.updates = updates;
  if (scaler)
    state.scaler = scaler->state();
  state.options = options.adjustable;
  state.options.insert(identity.begin(), identity.end());
  stateJson = state.toJson();
  std::vector<CheckpointFile> files = copies ? snapshot.captured() : snapshot.live();
  files.push_back({stateFile, {std::as_bytes(std::span(stateJson))}});
  writer->start(step, std::move(files), [this] { return session->finishCopies(); });
  if (!background)
    waitForWriter();
}

Expected<void> Trainer::Impl::writeModel(const std::string &path) const {
  if (states.inHostMemory())
    return writeSafetensors(path, states.files().front().tensors, {{"format", "pt"}});
  SINTER_TRY(Snapshot model, Snapshot::plan(std::span(states.files()).first(1)));
  SINTER_CHECK(model.capture(session->pool(), states.reader()));
  SINTER_CHECK(session->finishCopies());
  return writeFileAtomically(path, model.captured().front().parts);
}

// After the last step: the model, then, with `saves`, the last checkpoint. Each is tried whatever
// becomes of the other.
Expected<void> Trainer::Impl::finish(bool saves) {
  Expected<void> written;
  if (!options.model.empty()) {
    if (writer)
      waitForWriter(); // what it is at takes room that it may give back
    written = checkParameters("model");
    if (written)
      written = writeModel(options.model);
  }
  if (saves)
    save();
  if (writer)
    waitForWriter();
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
  held = std::max(held, measureHeld(session->memory(), !session->executable().isForCpu()));
  return held;
}

TrainMemory Trainer::Impl::memory() const {
  TrainMemory memory;
  memory.session = session->memory();
  memory.snapshot = takesSnapshots(options, session->executable()) ? snapshot.bytes() : 0;
  memory.batches = BatchLoader::bytes(train->options(), options.accumulate);
  addProcess(memory, session->executable());
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
  SINTER_CHECK(impl->bind(std::move(executable), std::move(data)));
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
        if (impl->writer)
          impl->save();
        saved = true;
        SINTER_TRY(record->validationLoss, impl->evaluate(nullptr));
      }
    }
    if (options.onStep)
      options.onStep(*record);
    result.stopped = impl->stopping() && !last;
    if (impl->writer && !saved && !last && (result.stopped || isDue(options.saveEvery)))
      impl->save();
  }
  if (!result.stopped) {
    SINTER_CHECK(impl->finish(/*saves=*/impl->writer && !saved));
  } else if (impl->writer) {
    impl->waitForWriter();
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

uint64_t Trainer::nextStep() const { return impl->step; }
const std::vector<OptionChange> &Trainer::changes() const { return impl->changes; }
TrainMemory Trainer::memory() const { return impl->memory(); }
uint64_t Trainer::peakBytes() { return impl->measurePeak(); }
Session &Trainer::session() const { return *impl->session; }

Expected<TrainMemory> predictTrainMemory(std::shared_ptr<const Executable> executable,
                                         const TrainOptions &options, bool validation) {
  SINTER_TRY(std::vector<std::string> names,
             TrainPrograms::choose(*executable, options.accumulate, validation));
  BatchOptions batches;
  for (const fb::Binding *input : *executable->program(names[0])->inputs())
    if (input->name()->string_view() == "tokens" && input->shape() && input->shape()->size() == 2)
      batches = batchOptions(options, static_cast<uint64_t>(input->shape()->Get(0)),
                             static_cast<uint64_t>(input->shape()->Get(1)));
  SINTER_TRY(Snapshot snapshot, Snapshot::plan(describeStates(*executable)));
  TrainMemory memory;
  SINTER_TRY(memory.session,
             predictMemory(executable, bindOptions(options, *executable, std::move(names))));
  memory.snapshot = takesSnapshots(options, *executable) ? snapshot.bytes() : 0;
  memory.batches = BatchLoader::bytes(batches, options.accumulate);
  addProcess(memory, *executable);
  return memory;
}

} // namespace sinter::runtime
