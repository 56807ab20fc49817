//===- Plan.cpp - `sinter plan`: the memory, without running ----------------===//

#include "compiler/Executable/PlanHtml.h"
#include "frontends/Tokenizer/Tokenizer.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Exec/Session.h"
#include "runtime/Memory/ProcessMemory.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/CompileApart.h"
#include "tools/sinter/FitMemory.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
#include <malloc.h>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct PlanOptions : StepModeOptions {
  std::string html;
  bool findBatch = false;
  int64_t saveEvery = 0; ///< of training
  bool validates = false;

  RunSize getRunSize() const {
    return {*this, step, mode.sequence, makeTrainOptions(*this, saveEvery), validates};
  }
};
} // namespace

/// Says what a program takes to compute again what it does not keep, where it does.
static void printRecomputed(const nlohmann::json &program) {
  double again = 0, all = 0;
  for (const auto &command : program["commands"]) {
    double ns = command["predicted_ns"];
    all += ns;
    again += command["stage"] == "recompute" ? ns : 0;
  }
  if (again > 0)
    std::printf("computed again instead of kept: %.1f of %.1f predicted ms\n", again * 1e-6,
                all * 1e-6);
}

static void print(const nlohmann::json &report) {
  if (report.contains("plans")) {
    std::string next = report.contains("next_planned_bytes")
                           ? ", one row more would take " +
                                 formatBytes(report["next_planned_bytes"].get<uint64_t>())
                           : "";
    std::printf("largest batch: %lld rows%s; %lld plans were made\n\n",
                report["batch"].get<long long>(), next.c_str(), report["plans"].get<long long>());
  }
  Table spaces({"space", "memory"});
  for (const auto &[name, bytes] : report["spaces"].items())
    spaces.addRow({name, formatBytes(bytes.get<uint64_t>())});
  spaces.addRow({"resident", formatBytes(report["resident_bytes"].get<uint64_t>())});
  spaces.addRow({"predicted peak", formatBytes(report["planned_bytes"].get<uint64_t>())});
  spaces.print();
  std::printf("\n");
  Table outside({"outside of the plan", "memory"});
  for (const auto &[name, bytes] : report["outside"].items())
    outside.addRow({name, formatBytes(bytes.get<uint64_t>())});
  outside.print();
  for (const auto &program : report["programs"]) {
    auto arena = program["arena_bytes"].get<uint64_t>();
    auto bound = program["arena_lower_bound_bytes"].get<uint64_t>();
    std::printf("\n%s: arena %s, lower bound %s (%.3f x), %zu commands; live at the peak:\n",
                program["name"].get<std::string>().c_str(), formatBytes(arena).c_str(),
                formatBytes(bound).c_str(), bound ? double(arena) / bound : 1.0,
                program["commands"].size());
    Table live({"buffer", "layer", "memory", "offset"}, 2);
    for (const auto &index : program["live_at_peak"]) {
      const auto &buffer = program["buffers"][index.get<size_t>()];
      live.addRow({buffer["label"].get<std::string>(), buffer["layer"].get<std::string>(),
                   formatBytes(buffer["bytes"].get<uint64_t>()),
                   std::to_string(buffer["offset"].get<uint64_t>())});
    }
    live.print();
    printRecomputed(program);
  }
}

/// Bytes that the heap holds for who asked it for them.
static uint64_t getHeapBytes() {
  struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// What a run takes that no budget counts: pages of mapped files, which the system takes back when
/// it needs them, and the tokenizer where text is generated.
static nlohmann::json describeOutside(const Model &model, const PlanOptions &options) {
  nlohmann::json outside = {{"libraries and program", runtime::readProcessMemory().mapped}};
  uint64_t weights = 0;
  if (model.weights)
    for (const WeightFiles::File &file : model.weights->files())
      weights += file.bytes;
  if (weights != 0)
    outside["files of weights"] = weights;
  if (!options.isTraining() && !model.tokenizerFiles.empty()) {
    uint64_t before = getHeapBytes();
    if (auto tokenizer = Tokenizer::fromFiles(model.tokenizerFiles, model.path))
      outside["tokenizer"] = getHeapBytes() - before;
  }
  return outside;
}

/// The plan's figures with those that only the runtime knows: the library's scratch, code in whole
/// pages, random weights on their way, what a trainer holds beside its step, and the process.
static Expected<nlohmann::json> addRuntime(const Model &model, const CompileResult &compiled,
                                           const PlanOptions &options) {
  nlohmann::json report = nlohmann::json::parse(compiled.memoryReport, nullptr, false);
  SINTER_TRY(std::shared_ptr<const runtime::Executable> executable,
             runtime::Executable::fromFlatbuffer(compiled.executable, options.model));
  runtime::TrainMemory use;
  if (options.isTraining()) {
    runtime::TrainOptions train = makeTrainOptions(options, options.saveEvery);
    SINTER_TRY(use, runtime::predictTrainMemory(executable, train, options.validates));
    report["spaces"]["snapshot"] = use.snapshot;
    report["spaces"]["batches"] = use.batches;
  } else {
    runtime::SessionOptions session;
    session.threads = getThreads(options);
    session.programs = {options.mode.mode};
    std::optional<WeightFilesSource> source;
    if (model.weights)
      session.weights = &source.emplace(*model.weights);
    SINTER_TRY(use.session, runtime::predictMemory(executable, session));
    if (executable->isForCpu())
      use.process = runtime::otherBytes(use.session, executable->flatbuffer().size());
  }
  report["spaces"]["code"] = use.session.code;
  report["spaces"]["library"] = use.session.library;
  if (executable->isForCpu())
    report["spaces"]["process"] = use.process;
  report["resident_bytes"] = use.session.resident() + use.snapshot + use.batches + use.process;
  report["prepare_arena_bytes"] = use.session.prepareArena;
  report["planned_bytes"] = use.peak();
  report["outside"] = describeOutside(model, options);
  return report;
}

static Expected<void> checkOptions(const PlanOptions &options) {
  if (!options.isTraining())
    for (const char *name : {"--find-batch", "--save-every", "--validate"})
      if (options.command->get_option(name)->count() != 0)
        return fail(name, "is of a training run, not of " + options.mode.mode,
                    "add --mode train, or leave it out");
  if (!options.findBatch)
    return {};
  if (options.step.memoryBudget.empty())
    return fail("--find-batch", "nothing says what the batch must fit", "add --memory-budget");
  if (options.command->get_option("--batch")->count() != 0)
    return fail("--find-batch", "finds the batch that --batch gives", "leave one of them out");
  return {};
}

static Expected<void> run(PlanOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (model.isExecutable)
    return fail(options.model, "is compiled already", "plan the model itself");
  SINTER_CHECK(checkOptions(options));
  SINTER_CHECK(completeOptions(model, options));
  nlohmann::json found;
  if (options.findBatch) {
    MemoryPlanner planner(model, options.getRunSize());
    SINTER_TRY(LargestBatch largest, findLargestBatch(planner, options.step.budgetBytes));
    options.batch = largest.batch;
    found = {{"batch", largest.batch}, {"plans", planner.getPlans()}};
    if (largest.next)
      found["next_planned_bytes"] = *largest.next;
  }
  if (options.isTraining())
    SINTER_CHECK(checkBudget(MemoryPlanner(model, options.getRunSize())));
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options, options.validates));
  request.reports = true;
  SINTER_TRY(CompileResult result, compileApart(request));
  SINTER_TRY(nlohmann::json report, addRuntime(model, result, options));
  // As `sinter train` does: what does not fit is computed again.
  uint64_t budget = options.step.budgetBytes, peak = report["planned_bytes"];
  if (budget != 0 && peak > budget)
    for (uint64_t bound : getArenaBounds(peak, report["spaces"]["arena"], budget)) {
      request.options.training.arenaBudget = bound;
      SINTER_TRY(result, compileApart(request));
      SINTER_TRY(report, addRuntime(model, result, options));
      if (peak = report["planned_bytes"]; peak <= budget)
        break;
    }
  if (options.findBatch)
    report.update(found);
  if (!options.html.empty()) {
    SINTER_TRY(std::string page,
               renderPlanHtml(report.dump(), options.model + ", " + options.mode.mode));
    SINTER_CHECK(writeFileAtomically(options.html, std::as_bytes(std::span(page))));
  }
  if (options.json)
    printJson(report);
  else
    print(report);
  return {};
}

void sinter::cli::addPlan(CLI::App &program) {
  CLI::App *command = program.add_subcommand("plan", "The memory plan, without running");
  auto options = std::make_shared<PlanOptions>();
  addStepModeOptions(*command, *options);
  command->add_option("--html", options->html, "page with a picture of the arena over time");
  command->add_flag("--find-batch", options->findBatch,
                    "train: the most rows that fit --memory-budget, found by planning");
  command->add_option("--save-every", options->saveEvery, "train: as the run's own")
      ->check(wholeNumber(0, int64_t(1) << 40));
  command->add_flag("--validate", options->validates, "train: the run has validation data");
  command->callback([options] { finish(run(*options)); });
}
