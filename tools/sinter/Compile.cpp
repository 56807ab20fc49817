//===- Compile.cpp - `sinter compile`: ahead of time ------------------------===//

#include "runtime/Exec/ExecutableFile.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/Training.h"
#include <algorithm>
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct CompileCommandOptions : ModelOptions {
  std::string output;
  std::vector<std::string> entries = {"prefill", "decode"};
  int64_t chunk = 128;
  CLI::Option *chunkOption = nullptr;
  StepOptions step;
  std::string emit, stopAfter;
  bool elidesConstants = false, embedWeights = false, sourceOnly = false;
};
} // namespace

/// Fills in the weights that the executable carries or refers to.
static Expected<void> addWeights(const Model &model, bool embed, CompileRequest &request) {
  if (!model.weights)
    return {};
  if (!embed) {
    Progress progress("hashing weights", request.contents.weightFiles.size());
    for (size_t i = 0; i < request.contents.weightFiles.size(); ++i) {
      request.contents.weightFiles[i].hash = model.weights->contentHash(i);
      progress.advance(i + 1);
    }
    return {};
  }
  std::vector<ExpectedTensor> needed;
  for (const ParameterInfo &parameter : model.spec.parameters())
    needed.push_back({parameter.name, parameter.shape});
  SINTER_TRY(request.contents.embeddedWeights, packWeights(needed, *model.weights));
  request.contents.weightFiles.clear();
  return {};
}

/// The request for the programs that --entry names.
static Expected<CompileRequest> makeEntriesRequest(const Model &model,
                                                   CompileCommandOptions &options) {
  if (std::ranges::count(options.entries, "train") == 0) {
    int64_t capacity =
        options.capacity ? options.capacity : std::min<int64_t>(model.spec.maxPositions, 1024);
    return makeRequest(model, options, options.entries, std::min(options.chunk, capacity),
                       capacity);
  }
  if (options.entries.size() != 1)
    return fail("--entry train", "training steps share nothing with what generates",
                "compile them into executables of their own");
  SINTER_CHECK(checkStepOptions(options.step));
  int64_t sequence = *options.chunkOption ? options.chunk : getDefaultSequence(model.spec);
  return makeTrainRequest(model, options, options.step, sequence, /*evaluate=*/true);
}

static Expected<void> run(CompileCommandOptions &options) {
  bool prints = !options.emit.empty() || !options.stopAfter.empty();
  if (!prints && options.output.empty())
    return fail("sinter compile", "there is nowhere to write to", "give -o FILE.sinter or --emit");
  SINTER_TRY(Model model, openModel(options));
  if (model.isExecutable)
    return fail(options.model, "is compiled already", "give a model's directory or config.json");
  SINTER_TRY(CompileRequest request, makeEntriesRequest(model, options));
  request.options.emit = options.emit;
  request.options.stopAfter = options.stopAfter;
  request.options.elidesConstants = options.elidesConstants;
  if (prints) {
    SINTER_TRY(CompileResult result, compile(request));
    std::fwrite(result.text.data(), 1, result.text.size(), stdout);
    return {};
  }
  SINTER_CHECK(addWeights(model, options.embedWeights, request));
  request.options.cubins = isGpu(options) && !options.sourceOnly;
  // The cache holds executables without weights.
  if (options.embedWeights) {
    SINTER_TRY(CompileResult result, compile(request));
    return runtime::writeExecutable(options.output, result.executable);
  }
  SINTER_TRY(Compiled compiled, compileCached(request, options));
  return runtime::writeExecutable(options.output, compiled.executable->flatbuffer());
}

void sinter::cli::addCompile(CLI::App &program) {
  CLI::App *command = program.add_subcommand("compile", "Compiles a model ahead of time");
  auto options = std::make_shared<CompileCommandOptions>();
  addModelOptions(*command, *options);
  command->add_option("-o,--output", options->output, "the executable to write (.sinter)");
  command->add_option("--entry", options->entries, "prefill, decode, logits; or train")
      ->delimiter(',')
      ->check(CLI::IsMember({"prefill", "decode", "logits", "train"}));
  options->chunkOption =
      command
          ->add_option("--seq", options->chunk,
                       "tokens of a slot that prefill takes at a time; of a row, for train")
          ->check(wholeNumber(1, 1 << 20));
  command
      ->add_option("--emit", options->emit,
                   "print a stage instead: graph, fused, program, llvm, asm or cuda")
      ->check(CLI::IsMember({"graph", "fused", "program", "llvm", "asm", "cuda"}));
  command->add_flag("--elide-constants", options->elidesConstants,
                    "leave large constants out of what is printed, which is then no model");
  command->add_option("--compile-to", options->stopAfter, "stop after this phase and print the IR");
  command->add_flag("--embed-weights", options->embedWeights,
                    "carry the weights in the executable");
  command->add_flag("--source-only", options->sourceOnly,
                    "for a GPU: carry the kernels' source alone; they are compiled where it runs");
  addStepOptions(*command, options->step);
  command->callback([options] { finish(run(*options)); });
}
