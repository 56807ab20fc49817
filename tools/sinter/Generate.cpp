//===- Generate.cpp - `sinter generate`: compile, then generate -------------===//

#include "sinter/Compile.h"
#include "tools/cli/GenerateText.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct GenerateCommandOptions : CommandOptions<RunOptions> {
  GenerateFlags flags;
};
} // namespace

/// How many tokens the prompt has. That there is no tokenizer for a text is said before anything is
/// compiled.
static Expected<int64_t> countTokens(const Model &model, const GenerateCommandOptions &command) {
  const GenerateOptions &options = command.flags.generation;
  const bool printsText = !command.flags.ids && !command.json;
  if (!model.isExecutable() && model.tokenizerFiles.empty() && (options.prompt || printsText))
    return fail(model.path.string(), "it has no tokenizer", "use --tokens and --ids");
  if (!options.prompt || model.isExecutable())
    return static_cast<int64_t>(options.tokens.size());
  SINTER_TRY(Tokenizer tokenizer, Tokenizer::fromFiles(model.tokenizerFiles, model.path));
  SINTER_TRY(std::vector<int32_t> ids, tokenizer.encode(*options.prompt));
  return static_cast<int64_t>(ids.size());
}

static Expected<void> runGenerate(GenerateCommandOptions &options) {
  if (options.batch != 1)
    return fail("--batch " + std::to_string(options.batch), "there is one prompt to go on from",
                "leave the option out");
  GenerateOptions &generation = options.flags.generation;
  generation.communicator = options.communicator;
  SINTER_CHECK(readPrompt(options.flags));
  SINTER_CHECK(checkOptions(generation));
  options.penalties |= generation.getSampling().penalties != runtime::Penalties();
  generation.observer = options.observer;
  generation.seed = options.seed;
  generation.threads = static_cast<unsigned>(getThreads(options));
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(int64_t tokens, countTokens(model, options));
  SINTER_TRY(LoadedModel loaded,
             loadForGeneration(model, options, tokens, generation.maxNewTokens));
  return generateText(loaded, options.flags, options.json);
}

void sinter::cli::addGenerate(CLI::App &program) {
  CLI::App *command = addCommand(program, "generate", "Continues a prompt");
  auto options = std::make_shared<GenerateCommandOptions>();
  addModelFlags(*command, *options);
  addRankFlags(*command, *options);
  addGenerateFlags(*command, options->flags);
  command->callback(
      [options] { finish(runOnRanks(*options, [&] { return runGenerate(*options); })); });
}
