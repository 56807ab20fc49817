#include "sinter/VerifyModels.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include "sinter/RunSteps.h"

using namespace sinter;

/// Small models that together hold every kind of op; checked where no MODEL is given.
static constexpr std::string_view kGeneratedModels[] = {
    R"({"model_type": "llama", "vocab_size": 40, "hidden_size": 24, "intermediate_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 32})",
    R"({"model_type": "gpt2", "vocab_size": 40, "n_embd": 24, "n_layer": 2, "n_head": 3,
        "n_positions": 32})",
    R"({"model_type": "gemma2", "vocab_size": 40, "hidden_size": 16, "intermediate_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "max_position_embeddings": 32, "sliding_window": 4, "query_pre_attn_scalar": 8})",
};
/// Leaves out layers, and says so.
static void cutDown(ModelSpec &spec, int64_t layers, const Observer &observer) {
  if (static_cast<int64_t>(spec.layers.size()) <= layers)
    return;
  size_t all = spec.layers.size();
  int64_t parameters = spec.getParameterCount();
  spec.layers.resize(static_cast<size_t>(layers));
  auto millions = [](int64_t count) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f M", static_cast<double>(count) / 1e6);
    return std::string(text);
  };
  observer.note("checked with the first " + std::to_string(layers) + " of " + std::to_string(all) +
                " layers (`layers`), " + millions(spec.getParameterCount()) + " of " +
                millions(parameters) +
                " parameters, which the reference holds in double precision");
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

static Expected<void> checkModel(Model model, const VerifyModelsOptions &options,
                                 const VerifyRequest &verify, std::vector<ModelVerdict> &verdicts) {
  cutDown(model.spec, options.layers, options.observer);
  // Of generated weights some results of linear attention are nearly zero: the norm behind would
  // make them large, and the roundings in their gradients.
  if (model.spec.hasLinearAttention())
    model.spec.normEps = 0.1;
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

Expected<std::vector<ModelVerdict>> sinter::verifyModels(const std::optional<Model> &model,
                                                         const VerifyModelsOptions &options,
                                                         const VerifyRequest &verify) {
  std::vector<ModelVerdict> verdicts;
  if (model) {
    SINTER_CHECK(model->requireDescription("give the model itself"));
    SINTER_CHECK(checkModel(*model, options, verify, verdicts));
    return verdicts;
  }
  for (std::string_view text : kGeneratedModels) {
    Model generated;
    SINTER_TRY(generated.spec, parseModelSpec(text, "generated model"));
    SINTER_CHECK(checkModel(std::move(generated), options, verify, verdicts));
  }
  return verdicts;
}
