//===- VerifyPass.cpp - `sinter verify-pass`: a pass against the reference --===//

#include "compiler/Pipelines/VerifyPass.h"
#include "runtime/Base/AtomicFile.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Output.h"
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct VerifyPassOptions : ModelOptions {
  PassCheck check;
  std::string reproducer;
};

struct ModelVerdict {
  std::string model; ///< its family
  PassVerdict verdict;
};

/// Small models that together hold every kind of op; checked where no MODEL is given.
constexpr std::string_view kGeneratedModels[] = {
    R"({"model_type": "llama", "vocab_size": 40, "hidden_size": 24, "intermediate_size": 20,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 32})",
    R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 24, "n_layer": 2, "n_head": 3,
        "n_positions": 32})",
    R"({"model_type": "gemma2", "vocab_size": 40, "hidden_size": 16, "intermediate_size": 20,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "max_position_embeddings": 32, "sliding_window": 4, "query_pre_attn_scalar": 8})",
};
} // namespace

/// Checks one model and adds a verdict an entry and pass.
static Expected<void> checkModel(const Model &model, const VerifyPassOptions &options,
                                 std::vector<ModelVerdict> &verdicts) {
  constexpr int64_t kChunk = 3, kCapacity = 8;
  SINTER_TRY(CompileRequest request,
             makeRequest(model, options, {"prefill", "decode", "logits"}, kChunk, kCapacity));
  SINTER_TRY(std::vector<PassVerdict> found, verifyPass(request, options.check));
  for (PassVerdict &verdict : found)
    verdicts.push_back({model.spec.modelType, std::move(verdict)});
  return {};
}

static void print(const std::vector<ModelVerdict> &verdicts) {
  Table table({"verdict", "pass", "model", "entry", "relative error"}, 4);
  for (const auto &[model, verdict] : verdicts) {
    char error[32];
    std::snprintf(error, sizeof error, "%.1e", verdict.error);
    table.addRow({verdict.holds ? "holds" : "FAILS", verdict.pass, model, verdict.entry,
                  verdict.message.empty() ? error : verdict.message});
  }
  table.print();
}

static nlohmann::json describe(const std::vector<ModelVerdict> &verdicts) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto &[model, verdict] : verdicts)
    list.push_back({{"holds", verdict.holds},
                    {"pass", verdict.pass},
                    {"model", model},
                    {"entry", verdict.entry},
                    {"relative_error", verdict.error},
                    {"message", verdict.message}});
  return {{"verdicts", list}};
}

static Expected<void> run(const VerifyPassOptions &options) {
  std::vector<ModelVerdict> verdicts;
  if (!options.model.empty()) {
    SINTER_TRY(Model model, openModel(options));
    if (model.isExecutable)
      return fail(options.model, "is compiled already", "give the model itself");
    SINTER_CHECK(checkModel(model, options, verdicts));
  } else {
    for (std::string_view text : kGeneratedModels) {
      Model model;
      SINTER_TRY(model.spec, parseModelSpec(text, "generated model"));
      SINTER_CHECK(checkModel(model, options, verdicts));
    }
  }
  if (options.json)
    printJson(describe(verdicts));
  else
    print(verdicts);
  auto failure =
      std::ranges::find_if(verdicts, [](const ModelVerdict &each) { return !each.verdict.holds; });
  if (failure == verdicts.end())
    return {};
  const std::string &text = failure->verdict.reproducer;
  if (options.reproducer.empty())
    std::fprintf(options.json ? stderr : stdout, "\n%s", text.c_str());
  else
    SINTER_CHECK(writeFileAtomically(options.reproducer, std::as_bytes(std::span(text))));
  return fail(
      "--pass " + options.check.pass, "changes what " + failure->verdict.entry + " computes",
      options.reproducer.empty() ? "a small module that shows it is printed above"
                                 : "a small module that shows it is in " + options.reproducer);
}

void sinter::cli::addVerifyPass(CLI::App &program) {
  CLI::App *command = program.add_subcommand(
      "verify-pass", "Checks a pass against the reference evaluator on generated inputs");
  auto options = std::make_shared<VerifyPassOptions>();
  addModelOptions(*command, *options);
  command->get_option("MODEL")->required(false);
  command->add_option("--pass", options->check.pass, "argument of the pass, or all")->required();
  command->add_option("--after", options->check.after,
                      "phase after which a plugin's pass runs (default: Import)");
  command->add_option("--tolerance", options->check.tolerance,
                      "largest relative error that passes");
  command->add_option("--reproducer", options->reproducer,
                      "file for the reduced module of a failure");
  command->callback([options] {
    options->check.seed = options->seed;
    finish(run(*options));
  });
}
