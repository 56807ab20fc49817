#include "sinter/Evaluate.h"
#include "sinter/Runner.h"
#include "sinter/TrainData.h"
#include <algorithm>
#include <cmath>

using namespace sinter;

namespace {
/// What targets add up to.
struct Sums {
  double loss = 0;
  uint64_t hits = 0, targets = 0;

  /// Adds a target and the logits that it is predicted with.
  void add(std::span<const float> logits, int32_t target) {
    auto likeliest = std::ranges::max_element(logits);
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(double(logit) - *likeliest);
    loss += std::log(sum) + *likeliest - logits[static_cast<size_t>(target)];
    hits += likeliest - logits.begin() == target;
    ++targets;
  }
};

/// Reads the windows of a stream, `batch` at a time, through a model that takes `chunk` tokens of
/// each a step.
class WindowReader {
public:
  WindowReader(Runner &runner, const runtime::TokenStream &tokens, int64_t sequence, int64_t batch,
               int64_t chunk, int64_t vocabulary)
      : runner(runner), tokens(tokens), sequence(sequence), batch(batch), chunk(chunk),
        vocabulary(vocabulary), ids(batch * chunk), start(batch), count(batch) {}

  /// Adds the targets of the windows that begin at token `first` and behind it.
  Expected<void> addWindows(uint64_t first, Sums &sums) {
    for (int64_t at = 0; at < sequence; at += chunk) {
      fillStep(first, at);
      if (std::ranges::all_of(count, [](int32_t some) { return some == 0; }))
        return {};
      SINTER_CHECK(runner.step("logits", ids, start, count));
      SINTER_TRY(std::span<const float> logits, runner.getLogits("logits"));
      if (logits.size() != static_cast<size_t>(batch * chunk * vocabulary))
        return fail(runner.getExecutable().getName(),
                    "its logits have another size than its batch and vocabulary",
                    "compile the model again");
      for (int64_t slot = 0; slot < batch; ++slot)
        addSlot(first + slot * sequence + at, slot, logits, sums);
    }
    return {};
  }

private:
  void fillStep(uint64_t first, int64_t at) {
    for (int64_t slot = 0; slot < batch; ++slot) {
      uint64_t begin = first + slot * sequence + at, targets = tokens.size() - 1;
      int64_t left = begin < targets ? static_cast<int64_t>(targets - begin) : 0;
      count[slot] = static_cast<int32_t>(std::min({chunk, sequence - at, left}));
      start[slot] = static_cast<int32_t>(at);
      auto row = std::span(ids).subspan(slot * chunk, chunk);
      std::ranges::fill(row, 0);
      if (count[slot] != 0)
        tokens.read(begin, row.first(count[slot]));
    }
  }

  void addSlot(uint64_t begin, int64_t slot, std::span<const float> logits, Sums &sums) {
    std::vector<int32_t> targets(count[slot]);
    if (targets.empty())
      return;
    tokens.read(begin + 1, targets);
    for (size_t i = 0; i < targets.size(); ++i)
      sums.add(logits.subspan((slot * chunk + i) * vocabulary, vocabulary), targets[i]);
  }

  Runner &runner;
  const runtime::TokenStream &tokens;
  int64_t sequence, batch, chunk, vocabulary;
  std::vector<int32_t> ids, start, count;
};
} // namespace

/// The bytes of the text that the targets stand for; none where nothing says what ids mean.
static Expected<std::optional<uint64_t>>
countBytes(const Model &model, const EvaluateOptions &options, const runtime::TokenStream &tokens) {
  if (model.tokenizerFiles.empty()) {
    // Ids of a text that was read without a tokenizer are its bytes.
    bool hasIds = std::ranges::any_of(options.files, [](const std::string &file) {
      return std::filesystem::path(file).extension() == ".bin";
    });
    return hasIds ? std::nullopt : std::optional(tokens.size() - 1);
  }
  SINTER_TRY(Tokenizer tokenizer, Tokenizer::fromFiles(model.tokenizerFiles, model.path));
  // The first token's text is not predicted, but what follows depends on it.
  StreamDecoder decoder(tokenizer, /*skipSpecial=*/false);
  uint64_t bytes = 0;
  std::vector<int32_t> block(4096);
  for (uint64_t at = 0; at < tokens.size(); at += block.size()) {
    block.resize(std::min<uint64_t>(block.size(), tokens.size() - at));
    tokens.read(at, block);
    for (size_t i = 0; i < block.size(); ++i) {
      size_t added = decoder.push(block[i]).size();
      bytes += at + i == 0 ? 0 : added;
    }
  }
  return std::optional(bytes + decoder.flush().size());
}

/// A model with what lies inside of it, where it is an executable, and as many positions as it was
/// made for.
static Expected<Model> openContents(const Model &model) {
  Model opened = model;
  if (model.text)
    opened.spec.maxPositions = model.text->getNumber("max_seq");
  if (!model.isExecutable())
    return opened;
  opened.tokenizerFiles = getTokenizerFiles(*model.executable);
  SINTER_TRY(opened.spec.vocabSize, model.executable->metadataNumber("vocab_size"));
  SINTER_TRY(opened.spec.maxPositions, model.executable->metadataNumber("max_seq"));
  return opened;
}

Expected<Evaluation> sinter::evaluate(const Model &given, const EvaluateOptions &options) {
  SINTER_CHECK(checkOptions(options));
  SINTER_TRY(Model model, openContents(given));
  SINTER_TRY(runtime::TokenStream tokens,
             openTokens(model, options.files, "data", options.observer));
  return evaluateTokens(given, options, tokens);
}

Expected<Evaluation> sinter::evaluateTokens(const Model &given, const EvaluateOptions &options,
                                            const runtime::TokenStream &tokens) {
  constexpr int64_t kSequence = 1024, kChunk = 128;
  SINTER_TRY(Model model, openContents(given));
  SINTER_CHECK(tokens.require(2, "a token and its target"));
  bool isLimited =
      model.isExecutable() || model.text || model.spec.positions == PositionKind::Learned;
  int64_t positions = isLimited ? model.spec.maxPositions
                                : std::max<int64_t>(model.spec.maxPositions, options.sequence);
  int64_t sequence = options.sequence ? options.sequence : std::min(kSequence, positions);
  if (sequence > positions)
    return fail("`seq` " + std::to_string(sequence),
                "the model has " + std::to_string(positions) + " positions",
                "use at most that many");
  RunOptions run = options;
  run.length = sequence;
  SINTER_TRY(Runner runner, Runner::open(given, run, {"logits"}, std::min(kChunk, sequence),
                                         std::max(options.maxSequence, sequence)));
  SINTER_TRY(int64_t batch, runner.getExecutable().metadataNumber("batch"));
  SINTER_TRY(int64_t chunk, runner.getChunk("logits"));
  SINTER_TRY(std::optional<uint64_t> bytes, countBytes(model, options, tokens));

  Sums sums;
  WindowReader windows(runner, tokens, sequence, batch, chunk, model.spec.vocabSize);
  uint64_t targets = tokens.size() - 1;
  auto step = static_cast<uint64_t>(batch * sequence);
  Progress progress(options.observer, "evaluating", targets);
  for (uint64_t first = 0; first < targets; first += step) {
    SINTER_CHECK(options.observer.checkStop("evaluating"));
    SINTER_CHECK(windows.addWindows(first, sums));
    progress.advance(sums.targets);
  }
  Evaluation result;
  result.tokens = sums.targets;
  result.loss = sums.loss / double(sums.targets);
  result.perplexity = std::exp(result.loss);
  result.accuracy = double(sums.hits) / double(sums.targets);
  if (bytes && *bytes != 0)
    result.bitsPerByte = sums.loss / std::log(2.0) / double(*bytes);
  return result;
}
