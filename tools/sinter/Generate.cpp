//===- Generate.cpp - `sinter generate`: compile, then generate -------------===//

#include "sinter/Compile.h"
#include "tools/cli/GenerateText.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <algorithm>
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct GenerateCommandOptions : CommandOptions<RunOptions> {
  GenerateFlags flags;
  CLI::Option *batchOption = nullptr;
};
} // namespace

/// How many tokens the longest prompt has, and the longest with what is new. That there is no
/// tokenizer for a text is said before anything is compiled.
static Expected<BatchFile::Lengths> measure(const Model &model,
                                            const GenerateCommandOptions &command) {
  const GenerateOptions &options = command.flags.generation;
  const std::optional<BatchFile> &batch = command.flags.batch;
  bool hasText =
      batch
          ? std::ranges::any_of(batch->prompts,
                                [](const NamedPrompt &prompt) { return prompt.prompt.has_value(); })
          : options.prompt.has_value();
  const bool printsText = !batch && !command.flags.ids && !command.json;
  if (!model.isExecutable() && model.tokenizerFiles.empty() && (hasText || printsText))
    return fail(model.path.string(), "it has no tokenizer",
                batch ? "give \"tokens\" instead of \"prompt\"" : "use --tokens and --ids");
  std::optional<Tokenizer> tokenizer;
  if (hasText && !model.isExecutable()) {
    SINTER_TRY(tokenizer, Tokenizer::fromFiles(model.tokenizerFiles, model.path));
  }
  if (batch)
    return batch->measure(tokenizer);
  BatchFile one;
  one.prompts.push_back({options, ""});
  return one.measure(tokenizer);
}

/// How many prompts are continued at a time; an executable has its slots.
static Expected<void> chooseBatch(const Model &model, GenerateCommandOptions &options) {
  constexpr int64_t kDefaultSlots = 8; // more want as many more KV caches
  const std::optional<BatchFile> &batch = options.flags.batch;
  if (batch && !model.isExecutable() && options.batchOption->empty())
    options.batch = std::min<int64_t>(kDefaultSlots, static_cast<int64_t>(batch->prompts.size()));
  if (!batch && options.batch != 1)
    return fail("--batch " + std::to_string(options.batch), "there is one prompt to go on from",
                "leave the option out, or give --batch-file");
  return {};
}

static Expected<void> runGenerate(GenerateCommandOptions &options) {
  GenerateOptions &generation = options.flags.generation;
  generation.communicator = options.communicator;
  generation.observer = options.observer;
  generation.seed = options.seed;
  generation.threads = static_cast<unsigned>(getThreads(options));
  SINTER_CHECK(checkOptions(generation));
  SINTER_CHECK(readPrompt(options.flags));
  auto penalizes = [](const PromptOptions &prompt) {
    return prompt.getSampling().penalties != runtime::Penalties();
  };
  options.penalties |= penalizes(generation);
  if (options.flags.batch)
    options.penalties |= std::ranges::any_of(options.flags.batch->prompts, penalizes);
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_CHECK(chooseBatch(model, options));
  SINTER_TRY(BatchFile::Lengths lengths, measure(model, options));
  SINTER_TRY(LoadedModel loaded,
             loadForGeneration(model, options, lengths.prompt, lengths.total - lengths.prompt));
  return generateText(loaded, options.flags, options.json);
}

void sinter::cli::addGenerate(CLI::App &program) {
  CLI::App *command = addCommand(program, "generate", "Continues a prompt");
  auto options = std::make_shared<GenerateCommandOptions>();
  addModelFlags(*command, *options);
  options->batchOption = command->get_option("--batch");
  addRankFlags(*command, *options);
  addGenerateFlags(*command, options->flags);
  command->callback(
      [options] { finish(runOnRanks(*options, [&] { return runGenerate(*options); })); });
}
