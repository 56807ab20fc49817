#include "sinter/Chat.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Memory/ProcessMemory.h"
#include <algorithm>
#include <utility>

using namespace sinter;
using namespace sinter::runtime;

Expected<std::unique_ptr<Chat>> Chat::open(const LoadedModel &model, ChatTemplate chatTemplate,
                                           const ChatOptions &options) {
  SINTER_CHECK(checkOptions(options));
  noteGreedy(options);
  SINTER_TRY(Tokenizer tokenizer, model.openTokenizer());
  std::unique_ptr<Chat> chat(new Chat(std::move(tokenizer), std::move(chatTemplate), options));
  SINTER_CHECK(chat->bind(model));
  return chat;
}

Expected<void> Chat::bind(const LoadedModel &model) {
  const Executable &executable = *model.executable;
  BindOptions bindOptions;
  bindOptions.threads = options.threads;
  weights = model.weights;
  if (weights)
    bindOptions.weights = &source.emplace(*weights);
  bindOptions.seed = options.seed;
  bindOptions.communicator = options.communicator;
  bindOptions.onWarning = [&](const Error &warning) { options.observer.warn(warning); };
  for (const char *name : {"prefill", "decode"})
    if (!listPasses(executable, /*place=*/0, name).empty())
      bindOptions.programs.push_back(name);
  SINTER_TRY(session, Session::bind(model.executable, bindOptions));
  SINTER_TRY(generator, Generator::create(*session));

  SINTER_TRY(std::vector<int64_t> ids, executable.metadataNumbers("bos_token_id"));
  if (chatTemplate.beginsWithBos && !ids.empty())
    bos = static_cast<int32_t>(ids.front());
  SINTER_TRY(std::vector<int32_t> marks, encode(chatTemplate.answerEnd));
  // A mark that the vocabulary writes in several tokens ends no answer: the model was not made for
  // this template.
  for (int32_t id : marks)
    if (tokenizer.isSpecial(id))
      end = id;
  clear();
  return {};
}

void Chat::clear() {
  history.clear();
  cached = 0;
}

Expected<std::vector<int32_t>> Chat::encode(std::string_view text) const {
  return tokenizer.encode(text, /*addSpecial=*/false);
}

/// The tokens from the end of the last answer to where the next one begins.
Expected<std::vector<int32_t>> Chat::encodeMessage(const std::string &message) const {
  bool isFirst = history.empty();
  const ChatTemplate &marks = chatTemplate;
  std::vector<int32_t> ids;
  if (!isFirst) {
    SINTER_TRY(ids, encode(marks.answerEnd));
    // What the model ended its answer with is a part of it.
    if (!ids.empty() && end && history.back() == *end)
      ids.erase(ids.begin(), std::ranges::find(ids, *end) + 1);
  }
  if (bos && (isFirst || marks.repeatsBos))
    ids.push_back(*bos);
  SINTER_TRY(std::vector<int32_t> written,
             encode(writeMessage(marks, message, isFirst, options.system)));
  ids.insert(ids.end(), written.begin(), written.end());
  return ids;
}

Expected<Generated> Chat::answer(const std::string &message, const ReceiveToken &receive) {
  SINTER_TRY(std::vector<int32_t> written, encodeMessage(message));
  GenerateRequest request;
  request.prompt = history;
  request.prompt.insert(request.prompt.end(), written.begin(), written.end());
  request.cached = cached;
  request.maxNewTokens = options.maxNewTokens;
  request.sampling = options.getSampling();
  if (static_cast<int64_t>(request.prompt.size()) > getMaxSequence())
    return fail("the conversation",
                "with this message it has " + std::to_string(request.prompt.size()) +
                    " tokens, the KV cache holds " + std::to_string(getMaxSequence()),
                "begin a new one, or give a larger `max_seq`");
  StreamDecoder decoder(tokenizer);
  for (int32_t token : request.prompt)
    decoder.push(token);
  Generated generated;
  generated.text.emplace();
  auto onToken = [&](size_t, int32_t token) -> Expected<bool> {
    if (end && token == *end)
      return false;
    std::string piece = decoder.push(token);
    *generated.text += piece;
    return goesOn(options, receive, token, piece);
  };
  // What layers keep of the tokens before may have gone on where an answer fails.
  size_t before = std::exchange(cached, 0);
  SINTER_TRY(std::vector<GenerateResult> results, generator->run(std::span(&request, 1), onToken));
  cached = before;
  GenerateResult &result = results.front();
  *generated.text += decoder.flush();
  generated.ids = std::move(result.tokens);
  bool ended = end && !generated.ids.empty() && generated.ids.back() == *end;
  generated.reason = ended ? StopReason::EndOfSequence : result.reason;
  generated.times = generator->getTimes();
  generated.peakBytes = measureHeld(session->getMemory(), !session->getExecutable().isForCpu());
  generated.maxSequence = getMaxSequence();

  history = std::move(request.prompt);
  history.insert(history.end(), generated.ids.begin(), generated.ids.end());
  if (!generated.ids.empty())
    cached = history.size() - 1; // the last token was chosen and not fed
  // Another end than the template's, which stands there next.
  if (result.reason == StopReason::EndOfSequence && !ended)
    history.pop_back();
  return generated;
}
