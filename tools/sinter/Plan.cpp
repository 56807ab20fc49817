//===- Plan.cpp - `sinter plan`: the memory, without running ----------------===//

#include "compiler/Executable/PlanHtml.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Exec/Session.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Mode.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Output.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct PlanOptions : ModelOptions {
  ModeOptions mode;
  std::string html;
};
} // namespace

static void print(const nlohmann::json &report) {
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
  }
}

/// The plan's figures with those that only the runtime knows: the library's scratch, code in whole
/// pages. They are what a session of these options measures of itself.
static Expected<std::string> addRuntime(const CompileResult &compiled, const PlanOptions &options) {
  nlohmann::json report = nlohmann::json::parse(compiled.memoryReport, nullptr, false);
  SINTER_TRY(std::shared_ptr<const runtime::Executable> executable,
             runtime::Executable::fromFlatbuffer(compiled.executable, options.model));
  runtime::SessionOptions session;
  session.threads = getThreads(options);
  session.programs = {options.mode.mode};
  SINTER_TRY(runtime::MemoryUse use, runtime::predictMemory(executable, session));
  report["spaces"]["code"] = use.code;
  report["spaces"]["library"] = use.library;
  report["resident_bytes"] = use.resident();
  report["peak_bytes"] = use.peak();
  return report.dump();
}

static Expected<void> run(PlanOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (model.isExecutable)
    return fail(options.model, "is compiled already", "plan the model itself");
  options.mode.limitDefaults(model.spec);
  SINTER_TRY(CompileRequest request,
             makeRequest(model, options, {options.mode.mode}, options.mode.getChunk(),
                         options.mode.getCapacity(options.capacity)));
  SINTER_TRY(CompileResult result, compile(request));
  SINTER_TRY(std::string report, addRuntime(result, options));
  if (!options.html.empty()) {
    SINTER_TRY(std::string page, renderPlanHtml(report, options.model + ", " + options.mode.mode));
    SINTER_CHECK(writeFileAtomically(options.html, std::as_bytes(std::span(page))));
  }
  if (options.json)
    std::printf("%s\n", report.c_str());
  else
    print(nlohmann::json::parse(report, nullptr, false));
  return {};
}

void sinter::cli::addPlan(CLI::App &program) {
  CLI::App *command = program.add_subcommand("plan", "The memory plan, without running");
  auto options = std::make_shared<PlanOptions>();
  addModelOptions(*command, *options);
  addModeOptions(*command, options->mode);
  command->add_option("--html", options->html, "page with a picture of the arena over time");
  command->callback([options] { finish(run(*options)); });
}
