//===- Explain.cpp - `sinter explain`: the compiler's decisions -------------===//

#include "tools/sinter/Commands.h"
#include "tools/sinter/Mode.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Output.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ExplainOptions : ModelOptions {
  ModeOptions mode;
};
} // namespace

static Expected<void> run(ExplainOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (model.isExecutable)
    return fail(options.model, "decisions are not kept in executables", "explain the model itself");
  options.mode.limitDefaults(model.spec);
  SINTER_TRY(CompileRequest request,
             makeRequest(model, options, {options.mode.mode}, options.mode.getChunk(),
                         options.mode.getCapacity(options.capacity)));
  SINTER_TRY(CompileResult result, compile(request));
  if (options.json) {
    nlohmann::json decisions = nlohmann::json::array();
    for (const Decision &decision : result.decisions)
      decisions.push_back({{"taken", decision.taken},
                           {"pass", decision.pass},
                           {"name", decision.name},
                           {"entry", decision.function},
                           {"where", decision.where},
                           {"text", decision.text}});
    std::printf("%s\n", nlohmann::json{{"decisions", decisions}}.dump().c_str());
    return {};
  }
  Table table({"decision", "pass", "entry", "where", "why"}, 5);
  for (const Decision &decision : result.decisions)
    table.addRow({decision.taken ? "formed" : "declined", decision.pass + ": " + decision.name,
                  decision.function, decision.where, decision.text});
  table.print();
  return {};
}

void sinter::cli::addExplain(CLI::App &program) {
  CLI::App *command = program.add_subcommand(
      "explain", "Every fusion formed or declined, with the predicted cost of both sides");
  auto options = std::make_shared<ExplainOptions>();
  addModelOptions(*command, *options);
  addModeOptions(*command, options->mode);
  command->callback([options] { finish(run(*options)); });
}
