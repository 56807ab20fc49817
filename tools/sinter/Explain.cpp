//===- Explain.cpp - `sinter explain`: the compiler's decisions -------------===//

#include "tools/sinter/Commands.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/TrainMode.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

static Expected<void> run(StepModeOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (model.isExecutable)
    return fail(options.model, "decisions are not kept in executables", "explain the model itself");
  SINTER_CHECK(completeOptions(model, options));
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options));
  request.reports = true;
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
    printJson(nlohmann::json{{"decisions", decisions}});
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
  auto options = std::make_shared<StepModeOptions>();
  addStepModeOptions(*command, *options);
  command->callback([options] { finish(run(*options)); });
}
