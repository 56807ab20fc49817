#include "sinter/Logits.h"
#include "sinter/Generate.h"
#include <algorithm>

using namespace sinter;

Expected<Logits> sinter::computeLogits(const Model &model, RunOptions options,
                                       const std::vector<int32_t> &ids, int64_t chunk) {
  if (ids.empty())
    return fail("`tokens`", "there are none", "give at least one id");
  auto length = static_cast<int64_t>(ids.size());
  int64_t maxSequence = options.maxSequence ? options.maxSequence : length;
  options.length = length;
  if (length > maxSequence)
    return fail("`tokens`",
                std::to_string(length) + " tokens do not fit `max_seq` " +
                    std::to_string(maxSequence),
                "give fewer tokens or a larger `max_seq`");
  SINTER_TRY(Runner runner,
             Runner::open(model, options, {"logits"}, std::min(chunk, length), maxSequence));
  // An executable and a text have the positions that they were made for.
  SINTER_TRY(int64_t positions, runner.getExecutable().metadataNumber("max_seq"));
  if (length > positions)
    return fail("`tokens`",
                std::to_string(length) + " tokens do not fit the " + std::to_string(positions) +
                    " positions of " + model.path.string(),
                "give fewer tokens, or compile with a larger `max_seq`");
  Logits logits;
  logits.rows = length;
  SINTER_TRY(logits.vocabulary, runner.getExecutable().metadataNumber("vocab_size"));
  for (int32_t id : ids)
    if (id >= logits.vocabulary)
      return fail("`tokens`",
                  "id " + std::to_string(id) + " is not below the vocabulary's " +
                      std::to_string(logits.vocabulary),
                  "check that the ids are this model's");
  if (auto warning = checkTrainedLength(runner.getExecutable(), length))
    options.observer.warn(*warning);
  SINTER_TRY(chunk, runner.getChunk("logits"));
  SINTER_TRY(int64_t batch, runner.getExecutable().metadataNumber("batch"));
  Progress progress(options.observer, "logits", length);
  for (int64_t at = 0; at < length; at += chunk) {
    SINTER_CHECK(options.observer.checkStop("logits"));
    auto count = static_cast<int32_t>(std::min(chunk, length - at));
    std::vector<int32_t> tokens(batch * chunk), starts(batch, 0), counts(batch, 0);
    std::copy_n(ids.begin() + at, count, tokens.begin());
    starts[0] = static_cast<int32_t>(at);
    counts[0] = count;
    SINTER_CHECK(runner.step("logits", tokens, starts, counts));
    SINTER_TRY(std::span<const float> rows, runner.getLogits("logits"));
    if (rows.size() != static_cast<size_t>(batch * chunk * logits.vocabulary))
      return fail(model.path.string(), "its logits have another size than its batch and vocabulary",
                  "compile the model again");
    logits.values.insert(logits.values.end(), rows.begin(),
                         rows.begin() + count * logits.vocabulary);
    progress.advance(at + count);
  }
  return logits;
}
