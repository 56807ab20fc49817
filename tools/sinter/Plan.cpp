//===- Plan.cpp - `sinter plan`: memory and time, without running -----------===//

#include "sinter/Plan.h"
#include "compiler/Executable/PlanHtml.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/Json.h"
#include "tools/cli/Checks.h"
#include "tools/cli/OneLine.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct PlanCommandOptions : CommandOptions<PlanOptions> {
  std::string html;
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

/// What the step takes, part by part.
static void printPrediction(const nlohmann::json &prediction, const nlohmann::json &report) {
  double step = prediction["step_ms"];
  std::printf("predicted on %s (%s):\n", prediction["cluster"].get<std::string>().c_str(),
              prediction["source"].get<std::string>().c_str());
  Table parts({"a step", "ms", "%"});
  auto addRow = [&](const std::string &name, double ms) {
    parts.addRow({name, formatNumber(ms, 3), formatNumber(100 * ms / step, 1)});
  };
  addRow("computing", prediction["compute_ms"]);
  for (const auto &[axes, ms] : prediction["exposed_ms"].items())
    addRow("communication along " + axes, ms);
  if (prediction["ranks"] != 1)
    addRow("waiting for other ranks", prediction["wait_ms"]);
  addRow("all", step);
  parts.print();
  uint64_t device = prediction["device_bytes"], planned = report["planned_bytes"];
  if (device != 0 && planned > device)
    std::printf("it does not fit: a device has %s\n", formatBytes(device).c_str());
}

/// The best layouts that were found, and why the others lost.
static void printLayouts(const nlohmann::json &layouts) {
  constexpr size_t kShown = 5;
  Table table({"layout", "ms", "memory", "why not"});
  for (size_t i = 0; i < std::min(kShown, layouts.size()); ++i) {
    const auto &layout = layouts[i];
    double ms = layout["step_ms"];
    table.addRow({describeLayout(layout["grid"], layout["zero"]),
                  ms == 0 ? "" : formatNumber(ms, 2),
                  ms == 0 ? "" : formatBytes(layout["planned_bytes"].get<uint64_t>()),
                  showFlags(layout["why"].get<std::string>())});
  }
  table.print();
  if (layouts.size() > kShown)
    std::printf("%zu more are worse; --json has all\n", layouts.size() - kShown);
  std::printf("\n");
}

static void printReport(const nlohmann::json &report) {
  if (report.contains("layouts"))
    printLayouts(report["layouts"]);
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
  std::printf("\n");
  printPrediction(report["prediction"], report);
}

static Expected<void> runPlan(const PlanCommandOptions &options) {
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(nlohmann::json report, planStep(model, options));
  if (!options.html.empty()) {
    std::string text = writeJson(report);
    SINTER_TRY(std::string page, renderPlanHtml(text, options.model + ", " + options.mode.mode));
    SINTER_CHECK(writeFileAtomically(options.html, std::as_bytes(std::span(page))));
  }
  if (options.json)
    printJson(report);
  else
    printReport(report);
  return {};
}

void sinter::cli::addPlan(CLI::App &program) {
  CLI::App *command =
      addCommand(program, "plan", "Memory and predicted time of a step, without running");
  auto options = std::make_shared<PlanCommandOptions>();
  addStepModeFlags(*command, *options);
  command->add_option("--html", options->html, "page with a picture of the arena over time");
  command->add_flag("--find-batch", options->findBatch,
                    "train: the most rows that fit --memory-budget, found by planning");
  command->add_option("--save-every", options->saveEvery, "train: as the run's own")
      ->check(wholeNumber(0, int64_t(1) << 40));
  addOptions(*command, options->where);
  command->add_flag("--validate", options->validates, "train: the run has validation data");
  command->callback([options, command] {
    options->given = listGiven(*command);
    finish(runPlan(*options));
  });
}
