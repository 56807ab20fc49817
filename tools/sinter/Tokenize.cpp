//===- Tokenize.cpp - `sinter tokenize`: text to ids and back ---------------===//

#include "runtime/Base/ReadFile.h"
#include "sinter/LoadedModel.h"
#include "tools/cli/Ids.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <cstdio>
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct TokenizeOptions {
  std::string model, text, file, decode;
  bool noSpecial = false, keepSpecial = false;
  RunOptions common; ///< of all commands; ids depend on none of them
  bool json = false;
  CLI::Option *textOption = nullptr, *fileOption = nullptr, *decodeOption = nullptr;
};
} // namespace

/// The tokenizer of a model's directory, or the one that an executable carries.
static Expected<Tokenizer> openTokenizerOf(const std::filesystem::path &path) {
  if (path.extension() != ".sinter")
    return Tokenizer::fromDirectory(path);
  LoadedModel model;
  SINTER_TRY(model.executable, runtime::Executable::open(path.string()));
  return model.openTokenizer();
}

static Expected<void> runTokenize(const TokenizeOptions &options) {
  SINTER_TRY(Tokenizer tokenizer, openTokenizerOf(options.model));
  if (*options.decodeOption) {
    SINTER_TRY(std::vector<int32_t> ids, parseIds(options.decode));
    for (int32_t id : ids)
      if (!tokenizer.token(id))
        return fail("--decode", "id " + std::to_string(id) + " is not one of the tokenizer's",
                    "ids are below " + std::to_string(tokenizer.getVocabSize()));
    std::string text = tokenizer.decode(ids, /*skipSpecial=*/!options.keepSpecial);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::string text = options.text;
  if (*options.fileOption) {
    SINTER_TRY(text, readFile(options.file));
  } else if (!*options.textOption) {
    return fail("sinter tokenize", "there is nothing to do", "give --text, --file or --decode");
  }
  SINTER_TRY(std::vector<int32_t> ids, tokenizer.encode(text, !options.noSpecial));
  if (options.json)
    std::printf("{\"ids\":[%s]}\n", joinIds(ids).c_str());
  else
    std::printf("%s\n", joinIds(ids).c_str());
  return {};
}

void sinter::cli::addTokenize(CLI::App &program) {
  CLI::App *command = addCommand(program, "tokenize", "Turns text into token ids, or back");
  auto options = std::make_shared<TokenizeOptions>();
  command
      ->add_option("MODEL", options->model,
                   "directory with the tokenizer's files, .gguf or .sinter executable")
      ->required();
  options->textOption = command->add_option("--text", options->text, "text to encode");
  options->fileOption = command->add_option("--file", options->file, "file to encode");
  options->decodeOption =
      command->add_option("--decode", options->decode, "ids to decode, comma-separated");
  command->add_flag("--no-special", options->noSpecial, "add no special tokens");
  command
      ->add_flag("--keep-special", options->keepSpecial,
                 "with --decode: write special tokens, too (else they are left out)")
      ->needs(options->decodeOption);
  addCommonFlags(*command, options->common, options->json);
  options->textOption->excludes(options->fileOption)->excludes(options->decodeOption);
  options->fileOption->excludes(options->decodeOption);
  command->callback([options] { finish(runTokenize(*options)); });
}
