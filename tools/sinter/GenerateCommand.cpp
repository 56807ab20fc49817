//===- GenerateCommand.cpp - `sinter generate`: compile, then generate ------===//

#include "frontends/Tokenizer/Tokenizer.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Generate.h"
#include "tools/sinter/Ids.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Weights.h"
#include <algorithm>
#include <bit>
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct GenerateCommandOptions : ModelOptions {
  GenerateOptions generation;
};

/// An executable that was opened or compiled, with its weights.
struct Ready {
  std::shared_ptr<const runtime::Executable> executable;
  std::optional<WeightFiles> weights;
};
} // namespace

/// How many tokens the prompt has.
static Expected<int64_t> countTokens(const Model &model, const GenerateOptions &options) {
  if (!options.hasPrompt || model.tokenizerFiles.empty()) {
    SINTER_TRY(std::vector<int32_t> ids, parseIds(options.tokens));
    return static_cast<int64_t>(ids.size());
  }
  SINTER_TRY(Tokenizer tokenizer, Tokenizer::fromFiles(model.tokenizerFiles, model.path));
  SINTER_TRY(std::vector<int32_t> ids, tokenizer.encode(options.prompt));
  return static_cast<int64_t>(ids.size());
}

/// Compiles for sizes that the request needs, rounded up to powers of two, so that requests of
/// about the same length share a cached executable.
static Expected<Ready> compileFor(Model model, GenerateCommandOptions options) {
  constexpr int64_t kLeastChunk = 16, kLargestChunk = 512, kLeastCapacity = 64;
  SINTER_TRY(int64_t prompt, countTokens(model, options.generation));
  auto roundUp = [](int64_t size) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
  };
  int64_t needed = prompt + options.generation.maxNewTokens;
  int64_t capacity =
      options.capacity ? options.capacity : std::max(kLeastCapacity, roundUp(needed));
  if (!options.capacity && model.spec.positions == PositionKind::Learned)
    capacity = std::min(capacity, model.spec.maxPositions);
  // The last token is not fed back.
  options.length = std::clamp<int64_t>(needed - 1, 1, capacity);
  int64_t chunk = std::min(capacity, std::clamp(roundUp(prompt), kLeastChunk, kLargestChunk));
  SINTER_TRY(CompileRequest request,
             makeRequest(model, options, {"prefill", "decode"}, chunk, capacity));
  SINTER_TRY(Compiled compiled, compileCached(request, options));
  return Ready{std::move(compiled.executable), std::move(model.weights)};
}

static Expected<Ready> makeReady(const GenerateCommandOptions &options) {
  SINTER_TRY(Model model, openModel(options));
  if (!model.isExecutable)
    return compileFor(std::move(model), options);
  SINTER_TRY(auto executable, runtime::Executable::open(options.model));
  SINTER_CHECK(checkCompiled(*executable, options));
  SINTER_TRY(auto weights, openWeights(*executable, options.model));
  return Ready{std::move(executable), std::move(weights)};
}

static Expected<void> run(GenerateCommandOptions &options) {
  if (options.batch != 1)
    return fail("--batch " + std::to_string(options.batch), "there is one prompt to go on from",
                "leave the option out");
  SINTER_CHECK(readPrompt(options.generation));
  SINTER_TRY(Ready ready, makeReady(options));
  std::optional<WeightFilesSource> source;
  if (ready.weights)
    source.emplace(*ready.weights);
  GenerateOptions generation = options.generation;
  generation.seed = options.seed;
  generation.threads = getThreads(options);
  generation.json = options.json;
  return generate(ready.executable, source ? &*source : nullptr, generation);
}

void sinter::cli::addGenerate(CLI::App &program) {
  CLI::App *command = program.add_subcommand("generate", "Continues a prompt");
  auto options = std::make_shared<GenerateCommandOptions>();
  addModelOptions(*command, *options);
  addGenerateOptions(*command, options->generation);
  command->callback([options] { finish(run(*options)); });
}
