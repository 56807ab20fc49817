//===- Compile.cpp - `sinter compile`: ahead of time ------------------------===//

#include "runtime/Base/AtomicFile.h"
#include "runtime/Format/ExecutableFile.h"
#include "sinter/TextModel.h"
#include "sinter/TrainStep.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct CompileCommandOptions : CommandOptions<RunOptions> {
  const CLI::App *command = nullptr;
  std::string output;
  bool embedWeights = false, sourceOnly = false;
};
} // namespace

/// The request for the programs that --entry names.
static Expected<CompileRequest> makeEntriesRequest(const Model &model,
                                                   CompileCommandOptions &options) {
  auto given = listGiven(*options.command);
  // A text says itself what it is; a training step shares nothing with what generates.
  if (model.text && !given.contains("entry")) {
    bool trains = std::ranges::any_of(model.text->entries, [](const std::string &entry) {
      return entry == "train_step" || entry == "update";
    });
    options.entries = trains ? std::vector<std::string>{"train"} : model.text->entries;
  }
  if (model.text && !given.contains("batch"))
    options.batch = std::max<int64_t>(model.text->getNumber("batch"), 1);
  if (std::ranges::count(options.entries, "train") == 0) {
    SINTER_CHECK(checkNoTraining(options, given, "what generates", "`entry` train"));
    int64_t maxSequence = options.maxSequence ? options.maxSequence
                                              : std::min<int64_t>(model.spec.maxPositions, 1024);
    return makeRequest(model, options, options.entries, std::min(options.chunk, maxSequence),
                       maxSequence);
  }
  if (options.entries.size() != 1)
    return fail("--entry train", "training steps share nothing with what generates",
                "compile them into executables of their own");
  SINTER_CHECK(resolveMicrobatches(options));
  SINTER_CHECK(options.getBudget());
  if (!given.contains("seq"))
    options.chunk = getDefaultSequence(model);
  if (model.text)
    SINTER_CHECK(adoptStep(model, given, options, options.chunk));
  return makeTrainRequest(model, options, options.chunk, /*evaluate=*/true);
}

/// Fails where options of what is printed and of what is written do not go together.
static Expected<void> checkOutput(const CompileCommandOptions &options, bool prints) {
  if (!prints && options.output.empty())
    return fail("sinter compile", "there is nowhere to write to", "give -o FILE.sinter or --emit");
  if (!prints && options.elidesConstants)
    return fail("--elide-constants", "it is of a stage that is printed",
                "add --emit STAGE, or leave it out");
  if (prints && options.json)
    return fail("--json", "a stage is printed as its text", "leave out --json or the stage");
  if (options.sourceOnly && !isGpu(options))
    return fail("--source-only", "it is of kernels for a GPU",
                "add --target cuda, or leave it out");
  return {};
}

/// Says what was written, where --json asks for that.
static void describe(const CompileCommandOptions &options, const CompileRequest &request) {
  if (!options.json)
    return;
  std::error_code failed;
  printJson(nlohmann::ordered_json{{"output", options.output},
                                   {"bytes", std::filesystem::file_size(options.output, failed)},
                                   {"target", request.options.target},
                                   {"entries", request.options.entries}});
}

static Expected<void> runCompile(CompileCommandOptions &options) {
  bool prints = !options.emit.empty() || !options.stopAfter.empty();
  SINTER_CHECK(checkOutput(options, prints));
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_CHECK(model.requireDescription("give a model's directory or config.json"));
  SINTER_TRY(CompileRequest request, makeEntriesRequest(model, options));
  if (prints) {
    SINTER_TRY(CompileResult result, compile(request));
    if (!options.output.empty() && options.output != "-")
      return writeFileAtomically(options.output, std::as_bytes(std::span(result.text)));
    std::fwrite(result.text.data(), 1, result.text.size(), stdout);
    return {};
  }
  SINTER_CHECK(addWeights(model, options.embedWeights, options.observer, request));
  request.options.cubins = isGpu(options) && !options.sourceOnly;
  // The cache holds executables without weights.
  if (options.embedWeights) {
    SINTER_TRY(CompileResult result, compile(request));
    SINTER_CHECK(runtime::writeExecutable(options.output, result.executable));
  } else {
    SINTER_TRY(Compiled compiled, compileCached(request, options, options.model));
    SINTER_CHECK(runtime::writeExecutable(options.output, compiled.executable->getFlatbuffer()));
  }
  describe(options, request);
  return {};
}

void sinter::cli::addCompile(CLI::App &program) {
  CLI::App *command = addCommand(program, "compile", "Compiles a model ahead of time");
  auto options = std::make_shared<CompileCommandOptions>();
  options->command = command;
  addModelFlags(*command, *options);
  command->add_option("-o,--output", options->output,
                      "the executable to write (.sinter); of --emit, the text");
  addOptions<RunOptions>(*command, *options,
                         {"entry", "seq", "emit", "elide_constants", "compile_to"});
  command->get_option("--seq")->description(
      "tokens of a slot that prefill takes at a time; of a row, for train");
  command->add_flag("--penalties", options->penalties,
                    "prefill and decode take penalties of tokens, as `generate` and `chat` compile "
                    "by themselves where one is given");
  command->add_flag("--embed-weights", options->embedWeights,
                    "carry the weights in the executable");
  command->add_flag("--source-only", options->sourceOnly,
                    "for a GPU: carry the kernels' source alone; they are compiled where it runs");
  addTrainingFlags(*command, *options);
  command->callback([options] { finish(runCompile(*options)); });
}
