#include "sinter/Profile.h"
#include "frontends/Graph/TextGraph.h"
#include "runtime/Format/PipelineStages.h"
#include "sinter/Ranks.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

using namespace sinter;

namespace {
/// Steps that were run with a trace.
struct Traced {
  explicit Traced(size_t events) : trace(events) {}

  runtime::Trace trace;
  std::vector<double> milliseconds; ///< of every step
};

} // namespace

/// Where the time of the traced steps went, and what the device chose.
static Expected<ProfileResult> summarize(const ProfileOptions &options, const Traced &traced,
                                         const runtime::Session &session) {
  const runtime::Executable &executable = session.getExecutable();
  bool training = options.isTraining();
  runtime::ProfileBy by;
  by.label = options.by == "op" || options.by == "both";
  by.layer = options.by == "layer" || options.by == "both";
  by.stage = training;
  DeviceLimits device(executable, getThreads(options));
  runtime::Limits limits = device.all();
  ProfileResult result;
  result.rows = runtime::profile(traced.trace, executable, limits, by);
  if (training)
    result.stages = runtime::profile(traced.trace, executable, limits,
                                     {.label = false, .layer = false, .stage = true});
  double steps = 0;
  for (double time : traced.milliseconds)
    steps += time * 1e6;
  // Inputs and outputs are set and read around the programs: time between commands, too.
  int64_t programs = runtime::measuredTime(traced.trace);
  int64_t around = std::max<int64_t>(0, std::llround(steps) - programs);
  result.totalNs = static_cast<double>(programs + around);
  for (auto *list : {&result.rows, &result.stages})
    if (!list->empty())
      list->back().measuredNs += around;
  result.runs = static_cast<int64_t>(traced.milliseconds.size());
  result.limits = limits;
  result.limitsAreMeasured = device.areMeasured();
  result.alternatives = session.getAlternatives();
  if (!options.communicator) {
    if (!options.trace.empty())
      SINTER_CHECK(runtime::writeChromeTrace(options.trace, traced.trace, executable, limits));
    return result;
  }
  SINTER_TRY(std::vector<runtime::Trace> traces,
             runtime::gatherTraces(*options.communicator, traced.trace, shareClock()));
  result.ranks = runtime::reportRanks(traces, executable);
  if (!options.trace.empty() && options.communicator->getRank() == 0)
    SINTER_CHECK(
        runtime::writeChromeTrace(options.trace, traces, result.ranks->arrows, executable, limits));
  return result;
}

static Expected<ProfileResult> profileTraining(const ProfileOptions &options, const Model &model,
                                               const Repetition &repetition) {
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  size_t events = 0;
  SINTER_TRY(ProgramRuns runs, getOwnStepRuns(run->getExecutable(), options));
  for (const fb::Program *program : runs)
    events += program->commands()->size() + 1;
  Traced traced(events * repetition.iterations);
  runtime::Session &session = run->trainer->getSession();
  SINTER_TRY(traced.milliseconds, measureTraining(*run->trainer, options.observer, repetition,
                                                  [&] { session.setTrace(&traced.trace); }));
  session.setTrace(nullptr);
  return summarize(options, traced, session);
}

/// Fills an input with numbers between -1 and 1; integers are 0, which any table has.
static Expected<void> fillInput(runtime::Session &session, size_t program,
                                const fb::Binding &binding, std::mt19937 &random) {
  SINTER_TRY(runtime::TensorView view,
             session.input(program, binding.name()->string_view(), DType(binding.dtype())));
  std::uniform_real_distribution<float> anyNumber(-1, 1);
  switch (view.dtype) {
  case DType::F32:
    std::ranges::generate(view.as<float>(), [&] { return anyNumber(random); });
    break;
  case DType::BF16:
  case DType::F16:
    // A sign, an exponent of numbers below 1, and any mantissa.
    std::ranges::generate(view.as<uint16_t>(), [&] {
      uint16_t exponent = view.dtype == DType::BF16 ? 0x3F00 : 0x3800;
      return static_cast<uint16_t>(exponent | (random() & 0x807F));
    });
    break;
  default:
    std::ranges::fill(view.bytes, std::byte(0));
  }
  return {};
}

/// Profiles the only entry of a graph.
static Expected<ProfileResult> profileGraph(const Model &model, const ProfileOptions &options,
                                            const Repetition &repetition) {
  std::string path = model.path.string();
  CompileRequest request;
  request.description = model.description;
  request.graph = makeTextGraph(request.description, path);
  request.options = options;
  SINTER_TRY(request.options.target, resolveTarget(options));
  request.options.cores = getThreads(options);
  SINTER_TRY(Compiled compiled, compileCached(request, options, path));
  runtime::BindOptions binding;
  binding.threads = static_cast<unsigned>(getThreads(options));
  binding.seed = options.seed;
  SINTER_TRY(auto session, runtime::Session::bind(compiled.executable, binding));
  const fb::Program *program = nullptr;
  for (const fb::Program *other : *compiled.executable->getRoot().programs())
    if (!runtime::isPreprocess(other->name()->string_view()) && std::exchange(program, other))
      return fail(path, "it has several entries", "give a graph of one entry");
  SINTER_TRY(size_t index, session->program(program->name()->string_view()));
  std::mt19937 random(static_cast<uint32_t>(options.seed));
  if (program->inputs())
    for (const fb::Binding *input : *program->inputs())
      SINTER_CHECK(fillInput(*session, index, *input, random));
  Traced traced((program->commands()->size() + 1) * repetition.iterations);
  for (int64_t i = 0; i < repetition.warmup + repetition.iterations; ++i) {
    if (i == repetition.warmup)
      session->setTrace(&traced.trace);
    auto begin = std::chrono::steady_clock::now();
    SINTER_CHECK(session->run(index));
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    if (i >= repetition.warmup)
      traced.milliseconds.push_back(elapsed.count());
  }
  session->setTrace(nullptr);
  return summarize(options, traced, *session);
}

Expected<ProfileResult> sinter::profile(const std::filesystem::path &path, ProfileOptions options,
                                        const Repetition &repetition) {
  SINTER_TRY(Model model, Model::open(path, options.observer));
  // What is no step of a model, as a single op, runs on any inputs.
  if (model.text && !model.text->metadata.contains("seq"))
    return profileGraph(model, options, repetition);
  SINTER_CHECK(completeOptions(model, options));
  if (options.isTraining())
    return profileTraining(options, model, repetition);
  if (options.by == "stage")
    return fail("`by` stage", "only a training step has stages", "add `mode` train");
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(model, options, {mode.mode}, mode.getChunk(),
                                         mode.getMaxSequence(options.maxSequence)));
  size_t rank = options.communicator ? options.communicator->getRank() : 0, commands = 0;
  for (const fb::Program *program : getEntryRuns(runner.getExecutable(), mode.mode, rank))
    commands += program->commands()->size() + 1;
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  int64_t steps = mode.mode == "decode" ? 1 : (mode.sequence + chunk - 1) / chunk;
  Traced traced(commands * steps * repetition.iterations);
  SINTER_TRY(traced.milliseconds, measure(runner, options, repetition,
                                          [&] { runner.getSession().setTrace(&traced.trace); }));
  runner.getSession().setTrace(nullptr);
  return summarize(options, traced, runner.getSession());
}
