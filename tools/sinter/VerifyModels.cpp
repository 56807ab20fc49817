#include "tools/sinter/VerifyModels.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/RunSteps.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct ModelVerdict {
  std::string model; ///< its family
  Verdict verdict;
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

void sinter::cli::addVerifyOptions(CLI::App &command, VerifyModelsOptions &options) {
  addModelOptions(command, options);
  command.get_option("MODEL")->required(false)->description(
      "Hugging Face directory or config.json, whose weights are not used (default: small models "
      "of three families)");
  options.batch = 2;
  command.add_option("--layers", options.layers, "layers to keep of a model that has more")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  command.add_option("--tolerance", options.tolerance,
                     "largest relative error that passes (default: 1e-9 between graphs, 1e-5 of "
                     "an executable in f32)");
  command.add_option("--reproducer", options.reproducer,
                     "file for the reduced module of a failure");
}

/// Leaves out layers, and says so.
static void cutDown(ModelSpec &spec, int64_t layers) {
  if (static_cast<int64_t>(spec.layers.size()) <= layers)
    return;
  size_t all = spec.layers.size();
  int64_t parameters = spec.parameterCount();
  spec.layers.resize(static_cast<size_t>(layers));
  std::fprintf(stderr,
               "sinter: note: checked with the first %lld of %zu layers (--layers), %.1f M of "
               "%.1f M parameters, which the reference holds in double precision\n",
               static_cast<long long>(layers), all,
               static_cast<double>(spec.parameterCount()) / 1e6,
               static_cast<double>(parameters) / 1e6);
}

/// What is compiled of a model: its steps, and those of its training.
static Expected<std::vector<CompileRequest>> makeRequests(const Model &model,
                                                          const VerifyModelsOptions &options) {
  constexpr int64_t kChunk = 3, kCapacity = 8, kSequence = 5;
  SINTER_TRY(CompileRequest inference,
             makeRequest(model, options, {"prefill", "decode", "logits"}, kChunk, kCapacity));
  SINTER_TRY(CompileRequest training,
             makeRequest(model, options, {"train_step", "evaluate"}, kSequence, kSequence));
  training.options.cacheType = DType::F32;
  // A gradient that is zero but for roundings moves its parameter by no more than roundings then.
  training.options.training.epsilon = 1e-3;
  std::vector<CompileRequest> requests = {std::move(inference), std::move(training)};
  for (CompileRequest &request : requests)
    request.contents = {};
  return requests;
}

static Expected<void> checkModel(Model &model, const VerifyModelsOptions &options,
                                 const VerifyRequest &verify, std::vector<ModelVerdict> &verdicts) {
  cutDown(model.spec, options.layers);
  SINTER_TRY(std::vector<CompileRequest> requests, makeRequests(model, options));
  VerifyOptions verifyOptions;
  verifyOptions.tolerance = options.tolerance;
  verifyOptions.seed = options.seed;
  // A process that has opened a GPU cannot hand it to a child.
  if (!isGpu(options))
    verifyOptions.run = runStepsApart;
  else if (runtime::cuda::findGpu())
    verifyOptions.run = runSteps;
  for (const CompileRequest &request : requests) {
    SINTER_TRY(std::vector<Verdict> found, verify(request, verifyOptions));
    for (Verdict &verdict : found)
      verdicts.push_back({model.spec.modelType, std::move(verdict)});
  }
  return {};
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

Expected<void> sinter::cli::verifyModels(const VerifyModelsOptions &options,
                                         const std::string &what, const VerifyRequest &verify) {
  std::vector<ModelVerdict> verdicts;
  if (!options.model.empty()) {
    SINTER_TRY(Model model, openModel(options));
    if (model.isExecutable)
      return fail(options.model, "is compiled already", "give the model itself");
    SINTER_CHECK(checkModel(model, options, verify, verdicts));
  } else {
    for (std::string_view text : kGeneratedModels) {
      Model model;
      SINTER_TRY(model.spec, parseModelSpec(text, "generated model"));
      SINTER_CHECK(checkModel(model, options, verify, verdicts));
    }
  }
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
