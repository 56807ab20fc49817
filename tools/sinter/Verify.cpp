//===- Verify.cpp - `sinter verify` and `verify-pass` -----------------------===//

#include "runtime/Base/AtomicFile.h"
#include "sinter/VerifyModels.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct VerifyCommandOptions : CommandOptions<VerifyModelsOptions> {
  std::string reproducer;
  std::string pass, after; ///< of verify-pass
};
} // namespace

/// Adds the options of both commands, with MODEL as one that may be left out.
static void addVerifyFlags(CLI::App &command, VerifyCommandOptions &options) {
  addModelFlags(command, options);
  addOptions(command, options.training, {"fp8", "fp8_history", "fp8_margin"});
  command.get_option("MODEL")->required(false)->description(
      "Hugging Face directory or config.json, whose weights are not used (default: small models "
      "of three families)");
  command.add_option("--layers", options.layers, "layers to keep of a model that has more")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  command.add_option("--tolerance", options.tolerance,
                     "largest relative error that passes (default: 1e-9 between graphs, 1e-5 of "
                     "an executable in f32)");
  command.add_option("--reproducer", options.reproducer,
                     "file for the reduced module of a failure");
}

static void print(const std::vector<ModelVerdict> &verdicts) {
  Table table({"verdict", "model", "entry", "pass", "op", "place", "relative error"}, 6);
  for (const auto &[model, verdict] : verdicts) {
    char error[32];
    std::snprintf(error, sizeof error, "%.1e", verdict.error);
    bool compared = verdict.outcome == Outcome::Holds || verdict.outcome == Outcome::Differs;
    table.addRow({stringifyOutcome(verdict.outcome), model, verdict.entry, verdict.pass, verdict.op,
                  verdict.place.empty() ? verdict.layer : verdict.place,
                  !verdict.message.empty() ? verdict.message
                  : compared               ? error
                                           : ""});
  }
  table.print();
}

static nlohmann::json describe(const std::vector<ModelVerdict> &verdicts) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto &[model, verdict] : verdicts)
    list.push_back({{"verdict", stringifyOutcome(verdict.outcome)},
                    {"holds", verdict.outcome == Outcome::Holds},
                    {"pass", verdict.pass},
                    {"phase", verdict.phase},
                    {"model", model},
                    {"entry", verdict.entry},
                    {"op", verdict.op},
                    {"layer", verdict.layer},
                    {"place", verdict.place},
                    {"relative_error", verdict.error},
                    {"message", verdict.message}});
  return {{"verdicts", list}};
}

/// The error that a verdict is, in one line.
static tl::unexpected<Error> makeError(const std::string &what, const Verdict &verdict,
                                       const std::string &reproducer) {
  std::string why = verdict.outcome == Outcome::Failed
                        ? "gives an error in " + verdict.entry
                        : "changes what " + verdict.entry + " computes";
  if (!verdict.pass.empty() && what.find(verdict.pass) == std::string::npos)
    why = verdict.pass + " " + why;
  if (!verdict.op.empty())
    why += ", at " + verdict.op;
  if (!verdict.layer.empty())
    why += " of " + verdict.layer;
  if (!verdict.message.empty())
    why += ": " + verdict.message;
  return fail(what, why,
              reproducer.empty() ? "a small module that shows it is printed above"
                                 : "a small module that shows it is in " + reproducer);
}

/// Prints the verdicts. Fails where one is wrong, with a small module that shows it printed or
/// written; errors begin with `what`.
static Expected<void> runVerify(const VerifyCommandOptions &options, const std::string &what,
                                const VerifyRequest &verify) {
  std::optional<Model> model;
  if (!options.model.empty()) {
    SINTER_TRY(model, Model::open(options.model, options.observer));
  }
  SINTER_TRY(std::vector<ModelVerdict> verdicts, verifyModels(model, options, verify));
  if (options.json)
    printJson(describe(verdicts));
  else
    print(verdicts);
  auto failure = std::ranges::find_if(verdicts, [](const ModelVerdict &each) {
    return each.verdict.outcome == Outcome::Differs || each.verdict.outcome == Outcome::Failed;
  });
  if (failure == verdicts.end())
    return {};
  const std::string &text = failure->verdict.reproducer;
  if (options.reproducer.empty())
    std::fprintf(options.json ? stderr : stdout, "\n%s", text.c_str());
  else
    SINTER_CHECK(writeFileAtomically(options.reproducer, std::as_bytes(std::span(text))));
  return makeError(what, failure->verdict, options.reproducer);
}

void sinter::cli::addVerify(CLI::App &program) {
  CLI::App *command = addCommand(
      program, "verify",
      "Checks the compiler on a model: what the executable of every entry computes on generated "
      "weights and inputs, beside the reference evaluator; where they differ, names the first "
      "pass that makes it so, the op and the layer");
  auto options = std::make_shared<VerifyCommandOptions>();
  addVerifyFlags(*command, *options);
  command->callback([options] {
    finish(runVerify(*options, options->model.empty() ? "generated models" : options->model,
                     verifyPipeline));
  });
}

void sinter::cli::addVerifyPass(CLI::App &program) {
  CLI::App *command = addCommand(
      program, "verify-pass",
      "Checks a pass: what every entry computes before and after it on generated inputs, by the "
      "reference evaluator; of a pass behind Fusion what the executable computes, with and "
      "without it");
  auto options = std::make_shared<VerifyCommandOptions>();
  addVerifyFlags(*command, *options);
  command->add_option("--pass", options->pass, "argument of the pass, or all")->required();
  command->add_option("--after", options->after,
                      "phase after which a plugin's pass runs (default: Import)");
  command->callback([options] {
    finish(runVerify(*options, "--pass " + options->pass,
                     [&](const CompileRequest &request, const VerifyOptions &verify) {
                       return verifyPass(request, options->pass, options->after, verify);
                     }));
  });
}
