//===- Plan.cpp - `sinter plan`: the memory, without running ----------------===//

#include "compiler/Executable/PlanHtml.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Exec/Session.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/FitMemory.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
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
    std::string next =
        report.contains("next_peak_bytes")
            ? ", one row more would take " + formatBytes(report["next_peak_bytes"].get<uint64_t>())
            : "";
    std::printf("largest batch: %lld rows%s; %lld plans were made\n\n",
                report["batch"].get<long long>(), next.c_str(), report["plans"].get<long long>());
  }
  Table spaces({"space", "memory"});
  for (const auto &[name, bytes] : report["spaces"].items())
    spaces.addRow({name, formatBytes(bytes.get<uint64_t>())});
  spaces.addRow({"resident", formatBytes(report["resident_bytes"].get<uint64_t>())});
  spaces.addRow({"predicted peak", formatBytes(report["peak_bytes"].get<uint64_t>())});
  spaces.print();
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

/// The plan's figures with those that only the runtime knows: the library's scratch, code in whole
/// pages, and what a trainer holds beside its step. They are what a session or a trainer of these
/// options measures of itself.
static Expected<nlohmann::json> addRuntime(const CompileResult &compiled,
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
    SINTER_TRY(use.session, runtime::predictMemory(executable, session));
  }
  report["spaces"]["code"] = use.session.code;
  report["spaces"]["library"] = use.session.library;
  report["resident_bytes"] = use.session.resident() + use.snapshot + use.batches;
  report["peak_bytes"] = use.peak();
  return report;
}

/// Fails where a training step does not fit the budget.
static Expected<void> checkBudget(const Model &model, const PlanOptions &options, uint64_t peak) {
  uint64_t budget = options.step.budgetBytes;
  if (budget == 0 || peak <= budget)
    return {};
  SINTER_TRY(std::string changes,
             suggestChanges(MemoryPlanner(model, options.getRunSize()), budget));
  return fail("--memory-budget " + options.step.memoryBudget,
              "the run needs " + formatExactBytes(peak),
              "give at least that" +
                  (changes.empty() ? ", or a smaller model: no smaller batch or shorter row fits"
                                   : "; what would fit: " + changes));
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
      found["next_peak_bytes"] = *largest.next;
  }
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options, options.validates));
  request.reports = true;
  SINTER_TRY(CompileResult result, compile(request));
  SINTER_TRY(nlohmann::json report, addRuntime(result, options));
  // As `sinter train` does: what does not fit is computed again.
  uint64_t budget = options.step.budgetBytes, peak = report["peak_bytes"];
  if (budget != 0 && peak > budget)
    for (uint64_t bound : getArenaBounds(peak, report["spaces"]["arena"], budget)) {
      request.options.training.arenaBudget = bound;
      SINTER_TRY(result, compile(request));
      SINTER_TRY(report, addRuntime(result, options));
      if (peak = report["peak_bytes"]; peak <= budget)
        break;
    }
  SINTER_CHECK(checkBudget(model, options, peak));
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
