//===- Logits.cpp - `sinter logits`: the logits at every position -----------===//

#include "runtime/Base/AtomicFile.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Generate.h"
#include "tools/sinter/Ids.h"
#include "tools/sinter/Output.h"
#include "tools/sinter/Runner.h"
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct LogitsOptions : ModelOptions {
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

static Expected<void> run(LogitsOptions &options) {
  SINTER_TRY(std::vector<int32_t> ids, parseIds(options.tokens));
  if (ids.empty())
    return fail("--tokens", "there are none", "give at least one id");
  auto length = static_cast<int64_t>(ids.size());
  int64_t capacity = options.capacity ? options.capacity : length;
  options.length = length;
  if (length > capacity)
    return fail("--tokens",
                std::to_string(length) + " tokens do not fit --max-seq " + std::to_string(capacity),
                "give fewer tokens or a larger --max-seq");
  SINTER_TRY(Runner runner,
             Runner::open(options, {"logits"}, std::min(options.chunk, length), capacity));
  SINTER_TRY(int64_t vocabulary, runner.executable().metadataNumber("vocab_size"));
  for (int32_t id : ids)
    if (id >= vocabulary)
      return fail("--tokens",
                  "id " + std::to_string(id) + " is not below the vocabulary's " +
                      std::to_string(vocabulary),
                  "check that the ids are this model's");
  warnBeyondTraining(runner.executable(), length);
  SINTER_TRY(int64_t chunk, runner.getChunk("logits"));
  SINTER_TRY(int64_t batch, runner.executable().metadataNumber("batch"));
  std::vector<float> logits;
  Progress progress("logits", length);
  for (int64_t at = 0; at < length; at += chunk) {
    auto count = static_cast<int32_t>(std::min(chunk, length - at));
    std::vector<int32_t> tokens(batch * chunk), starts(batch, 0), counts(batch, 0);
    std::copy_n(ids.begin() + at, count, tokens.begin());
    starts[0] = static_cast<int32_t>(at);
    counts[0] = count;
    SINTER_CHECK(runner.step("logits", tokens, starts, counts));
    SINTER_TRY(std::span<const float> rows, runner.getLogits("logits"));
    if (rows.size() != static_cast<size_t>(batch * chunk * vocabulary))
      return fail(options.model, "its logits have another size than its batch and vocabulary",
                  "compile the model again");
    logits.insert(logits.end(), rows.begin(), rows.begin() + count * vocabulary);
    progress.advance(at + count);
  }
  std::string file = makeNpy(logits, length, vocabulary);
  return writeFileAtomically(options.output, std::as_bytes(std::span(file)));
}

void sinter::cli::addLogits(CLI::App &program) {
  CLI::App *command = program.add_subcommand("logits", "Writes the logits at every position");
  auto options = std::make_shared<LogitsOptions>();
  addModelOptions(*command, *options);
  command->add_option("--tokens", options->tokens, "ids, comma-separated")->required();
  command->add_option("-o,--output", options->output, "NumPy file to write")->required();
  command->add_option("--chunk", options->chunk, "tokens taken at a time")
      ->check(wholeNumber(1, 1 << 20));
  command->callback([options] { finish(run(*options)); });
}
