//===- Profile.cpp - `sinter profile`: where the time went ------------------===//

#include "frontends/Graph/TextGraph.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Trace/Trace.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/DeviceLimits.h"
#include "tools/sinter/Measure.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ProfileOptions : StepModeOptions {
  Repetition repetition;
  std::string trace;
  std::string by = "op";
};

/// Steps that were run with a trace.
struct Traced {
  explicit Traced(size_t events) : trace(events) {}

  runtime::Trace trace;
  std::vector<double> milliseconds; ///< of every step
};

using Rows = std::vector<runtime::ProfileRow>;
} // namespace

static void print(const Rows &rows, double totalNs, int64_t runs, bool stages) {
  std::vector<std::string> heading = {"op", "layer",       "count",   "ms",
                                      "%",  "roofline ms", "GFLOP/s", "GB/s"};
  if (stages)
    heading.insert(heading.begin(), "stage");
  Table table(heading, stages ? 3 : 2);
  auto addRow = [&](const std::string &stage, std::vector<std::string> row) {
    if (stages)
      row.insert(row.begin(), stage);
    table.addRow(std::move(row));
  };
  for (const runtime::ProfileRow &row : rows)
    addRow(row.stage, {row.label, row.layer, std::to_string(row.count / runs),
                       formatNumber(row.measuredNs * 1e-6 / runs, 4),
                       formatNumber(100.0 * row.measuredNs / totalNs, 1),
                       formatNumber(row.rooflineNs * 1e-6 / runs, 4),
                       formatNumber(row.measuredNs ? double(row.flops) / row.measuredNs : 0, 1),
                       formatNumber(row.measuredNs ? double(row.bytes) / row.measuredNs : 0, 1)});
  addRow("", {"total", "", "", formatNumber(totalNs * 1e-6 / runs, 4), "100.0", "", "", ""});
  table.print();
}

static nlohmann::json describe(const Rows &rows, double totalNs, int64_t runs, bool stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const runtime::ProfileRow &row : rows) {
    list.push_back({{"op", row.label},
                    {"layer", row.layer},
                    {"count", row.count / runs},
                    {"ms", row.measuredNs * 1e-6 / runs},
                    {"fraction", row.measuredNs / totalNs},
                    {"roofline_ms", row.rooflineNs * 1e-6 / runs},
                    {"flops", row.flops / runs},
                    {"bytes", row.bytes / runs}});
    if (stages)
      list.back()["stage"] = row.stage;
  }
  return list;
}

/// Prints where the time of the traced steps went, and what the device chose.
static Expected<void> report(const ProfileOptions &options, const Traced &traced,
                             const runtime::Session &session) {
  const runtime::Executable &executable = session.executable();
  bool training = options.isTraining();
  runtime::ProfileBy by;
  by.label = options.by == "op" || options.by == "both";
  by.layer = options.by == "layer" || options.by == "both";
  by.stage = training;
  DeviceLimits device(executable, getThreads(options));
  runtime::Limits limits = device.all();
  Rows rows = runtime::profile(traced.trace, executable, limits, by), stages;
  if (training)
    stages = runtime::profile(traced.trace, executable, limits,
                              {.label = false, .layer = false, .stage = true});
  double steps = 0;
  for (double time : traced.milliseconds)
    steps += time * 1e6;
  // Inputs and outputs are set and read around the programs: time between commands, too.
  int64_t programs = runtime::measuredTime(traced.trace);
  int64_t around = std::max<int64_t>(0, std::llround(steps) - programs);
  auto totalNs = static_cast<double>(programs + around);
  for (Rows *list : {&rows, &stages})
    if (!list->empty())
      list->back().measuredNs += around;
  auto runs = static_cast<int64_t>(traced.milliseconds.size());
  if (!options.trace.empty())
    SINTER_CHECK(runtime::writeChromeTrace(options.trace, traced.trace, executable, limits));
  if (!options.json) {
    if (training)
      print(stages, totalNs, runs, true);
    if (training && options.by != "stage")
      std::printf("\n");
    if (options.by != "stage")
      print(rows, totalNs, runs, training);
    std::printf("%s\n", device.print().c_str());
    for (const std::string &choice : session.choices())
      std::printf("chosen: %s\n", choice.c_str());
    return {};
  }
  nlohmann::json result = {{"mode", options.mode.mode},
                           {"runs", runs},
                           {"ms", totalNs * 1e-6 / runs},
                           {"limits", device.describe()},
                           {"rows", describe(rows, totalNs, runs, training)}};
  if (std::vector<std::string> choices = session.choices(); !choices.empty())
    result["choices"] = choices;
  if (training)
    result["stages"] = describe(stages, totalNs, runs, true);
  printJson(result);
  return {};
}

static Expected<void> profileTraining(const ProfileOptions &options, const Model &model) {
  const Repetition &repetition = options.repetition;
  SINTER_TRY(auto run, openRandomRun(model, options, repetition.warmup + repetition.iterations));
  size_t events = 0;
  for (auto [program, times] : getStepPrograms(run->executable(), options.step.training.accumulate))
    events += (program->commands()->size() + 1) * times;
  Traced traced(events * repetition.iterations);
  runtime::Session &session = run->trainer->session();
  SINTER_TRY(traced.milliseconds,
             measureTraining(*run->trainer, repetition, [&] { session.setTrace(&traced.trace); }));
  session.setTrace(nullptr);
  return report(options, traced, session);
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

/// Profiles the only entry of a graph in a file of MLIR.
static Expected<void> profileGraph(const ProfileOptions &options) {
  Model model;
  CompileRequest request;
  SINTER_TRY(request.description, readFile(options.model));
  request.graph = makeTextGraph(request.description, options.model);
  SINTER_TRY(request.options.target, getTarget(options));
  SINTER_TRY(request.options.computeType, getComputeType(model, options));
  request.options.cores = getThreads(options);
  request.options.tf32 = options.tf32;
  request.options.tune = options.tune;
  SINTER_TRY(Compiled compiled, compileCached(request, options));
  runtime::SessionOptions binding;
  binding.threads = getThreads(options);
  binding.seed = options.seed;
  SINTER_TRY(auto session, runtime::Session::bind(compiled.executable, binding));
  const fb::Program *program = nullptr;
  for (const fb::Program *other : *compiled.executable->root().programs())
    if (other->name()->string_view() != "prepare" && std::exchange(program, other))
      return fail(options.model, "it has several entries", "give a graph of one entry");
  SINTER_TRY(size_t index, session->program(program->name()->string_view()));
  std::mt19937 random(static_cast<uint32_t>(options.seed));
  if (program->inputs())
    for (const fb::Binding *input : *program->inputs())
      SINTER_CHECK(fillInput(*session, index, *input, random));
  const Repetition &repetition = options.repetition;
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
  return report(options, traced, *session);
}

static Expected<void> run(ProfileOptions &options) {
  if (std::filesystem::path(options.model).extension() == ".mlir")
    return profileGraph(options);
  SINTER_TRY(Model model, openModel(options));
  SINTER_CHECK(completeOptions(model, options));
  if (options.isTraining())
    return profileTraining(options, model);
  if (options.by == "stage")
    return fail("--by stage", "only a training step has stages", "add --mode train");
  const ModeOptions &mode = options.mode;
  SINTER_TRY(Runner runner, Runner::open(std::move(model), options, {mode.mode}, mode.getChunk(),
                                         mode.getCapacity(options.capacity)));
  const fb::Program &program = *runner.executable().program(mode.mode);
  SINTER_TRY(int64_t chunk, runner.getChunk(mode.mode));
  int64_t steps = mode.mode == "decode" ? 1 : (mode.sequence + chunk - 1) / chunk;
  Traced traced((program.commands()->size() + 1) * steps * options.repetition.iterations);
  SINTER_TRY(traced.milliseconds, measure(runner, mode, options.repetition, options.seed,
                                          [&] { runner.session().setTrace(&traced.trace); }));
  runner.session().setTrace(nullptr);
  return report(options, traced, runner.session());
}

void sinter::cli::addProfile(CLI::App &program) {
  CLI::App *command =
      program.add_subcommand("profile", "Measured time per op and layer against the roofline, of a "
                                        "model or of a graph with one entry (.mlir)");
  auto options = std::make_shared<ProfileOptions>();
  addStepModeOptions(*command, *options);
  command->add_option("--iters", options->repetition.iterations, "counted repetitions")
      ->check(wholeNumber(1, 1 << 16));
  command
      ->add_option("--by", options->by, "what makes a row: op, layer, both or (train) stage alone")
      ->check(CLI::IsMember({"op", "layer", "both", "stage"}));
  command->add_option("--trace", options->trace, "Chrome/Perfetto trace to write");
  command->callback([options] { finish(run(*options)); });
}
