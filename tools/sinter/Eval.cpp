//===- Eval.cpp - `sinter eval`: how well a model predicts a text -----------===//

#include "sinter/Evaluate.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

static void print(const Evaluation &result) {
  Table table({"", ""});
  table.addRow({"loss", formatNumber(result.loss, 6)});
  table.addRow({"perplexity", formatNumber(result.perplexity, 4)});
  table.addRow({"bits per byte", result.bitsPerByte ? formatNumber(*result.bitsPerByte, 6) : "-"});
  table.addRow({"accuracy", formatNumber(100 * result.accuracy, 2) + " %"});
  table.addRow({"tokens", std::to_string(result.tokens)});
  table.print();
}

static Expected<void> runEval(const CommandOptions<EvaluateOptions> &options) {
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(Evaluation result, evaluate(model, options));
  if (!options.json) {
    print(result);
    return {};
  }
  nlohmann::ordered_json object = {{"loss", result.loss},
                                   {"perplexity", result.perplexity},
                                   {"bits_per_byte", nullptr},
                                   {"accuracy", result.accuracy},
                                   {"tokens", result.tokens}};
  if (result.bitsPerByte)
    object["bits_per_byte"] = *result.bitsPerByte;
  printJson(object);
  return {};
}

static constexpr char kEvalFooter[] = R"(
The data are cut into windows of --seq + 1 tokens, of which the last is the first of the next, so
that every token but the first of all is predicted once, from those before it in its window.
"loss" is the mean cross-entropy in nats, "perplexity" its exponential; "bits_per_byte" the sum in
bits over the bytes of the predicted text (null where token ids come without a tokenizer), which
compares models of different tokenizers; "accuracy" the part of the tokens that the model holds for
the likeliest.)";

void sinter::cli::addEval(CLI::App &program) {
  CLI::App *command =
      addCommand(program, "eval", "Loss, perplexity, bits per byte and accuracy on data");
  auto options = std::make_shared<CommandOptions<EvaluateOptions>>();
  addModelFlags(*command, *options);
  addRankFlags(*command, *options);
  command->get_option("--batch")->description("windows that are computed at a time (default: 1)");
  EvaluateOptions &evaluated = *options;
  EvaluateOptions::visitOwn(
      evaluated, [&](const OptionInfo &info, auto &value) { addFlag(*command, info, value); });
  command->get_option("--data")->required();
  command->footer(kEvalFooter);
  command->callback([options] { finish(runOnRanks(*options, [&] { return runEval(*options); })); });
}
