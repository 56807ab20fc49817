//===- Logits.cpp - `sinter logits`: the logits at every position -----------===//

#include "sinter/Logits.h"
#include "runtime/Base/AtomicFile.h"
#include "tools/cli/Checks.h"
#include "tools/cli/Ids.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct LogitsCommandOptions : CommandOptions<RunOptions> {
  std::string tokens, output;
  int64_t chunk = 512;
};
} // namespace

/// A NumPy file, format 1.0, of float32 [rows, columns].
static std::string makeNpy(std::span<const float> values, int64_t rows, int64_t columns) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  constexpr size_t kPrefix = 10, kAlignment = 64;
  header.resize((kPrefix + header.size() + kAlignment) / kAlignment * kAlignment - kPrefix - 1,
                ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char *>(values.data()), values.size_bytes());
  return file;
}

static Expected<void> runLogits(const LogitsCommandOptions &options) {
  SINTER_TRY(std::vector<int32_t> ids, parseIds(options.tokens));
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(Logits logits, computeLogits(model, options, ids, options.chunk));
  if (!isFirstRank())
    return {};
  std::string file = makeNpy(logits.values, logits.rows, logits.vocabulary);
  SINTER_CHECK(writeFileAtomically(options.output, std::as_bytes(std::span(file))));
  if (options.json)
    printJson(nlohmann::ordered_json{
        {"output", options.output}, {"rows", logits.rows}, {"vocabulary", logits.vocabulary}});
  return {};
}

void sinter::cli::addLogits(CLI::App &program) {
  CLI::App *command = addCommand(program, "logits", "Writes the logits at every position");
  auto options = std::make_shared<LogitsCommandOptions>();
  addModelFlags(*command, *options);
  addRankFlags(*command, *options);
  command->add_option("--tokens", options->tokens, "ids, comma-separated")->required();
  command->add_option("-o,--output", options->output, "NumPy file to write")->required();
  command->add_option("--chunk", options->chunk, "tokens taken at a time")
      ->check(wholeNumber(1, 1 << 20));
  command->callback(
      [options] { finish(runOnRanks(*options, [&] { return runLogits(*options); })); });
}
