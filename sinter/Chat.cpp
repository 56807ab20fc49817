#include "sinter/Chat.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Memory/ProcessMemory.h"
#include <algorithm>
#include <array>
#include <utility>

using namespace sinter;
using namespace sinter::runtime;

Expected<std::unique_ptr<Chat>> Chat::open(const LoadedModel &model, ChatTemplate chatTemplate,
                                           const ChatOptions &options) {
  SINTER_CHECK(checkOptions(options));
  noteGreedy(options, options.observer);
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

  // Files that name no tokens have their ids.
  for (auto [name, key] :
       {std::pair("bos_token", "bos_token_id"), {"eos_token", "eos_token_ids"}}) {
    SINTER_TRY(std::vector<int64_t> ids, executable.metadataNumbers(key));
    if (!ids.empty())
      chatTemplate.setToken(name,
                            tokenizer.decode(std::array{static_cast<int32_t>(ids.front())}, false));
  }
  goesBack = !executable.metadata("recurrent");
  SINTER_TRY(end, findEnd());
  clear();
  return {};
}

void Chat::clear() {
  messages.clear();
  if (!options.system.empty())
    messages.push_back({"system", options.system});
  history.clear();
  written.clear();
  cached = 0;
}

/// What the template writes behind an answer begins with the token that ends it. A mark that the
/// vocabulary writes in several tokens ends no answer: the model was not made for this template.
Expected<std::optional<int32_t>> Chat::findEnd() const {
  const std::string answer = "(an answer)";
  std::optional<int32_t> none;
  Expected<std::string> text =
      chatTemplate.write(std::array<ChatMessage, 2>{{{"user", "?"}, {"assistant", answer}}}, false);
  size_t found = text ? text->rfind(answer) : std::string::npos;
  if (found == std::string::npos)
    return none;
  SINTER_TRY(std::vector<int32_t> marks, encode(text->substr(found + answer.size())));
  auto special = std::ranges::find_if(marks, [&](int32_t id) { return tokenizer.isSpecial(id); });
  return special == marks.end() ? none : std::optional(*special);
}

/// The conversation as the template writes it. Some know no system prompt: it stands in the first
/// message then.
Expected<std::string> Chat::write(bool answers) {
  auto withSystem = [&] {
    std::vector<ChatMessage> told(messages.begin() + 1, messages.end());
    told.front().content = options.system + "\n\n" + told.front().content;
    return chatTemplate.write(told, answers);
  };
  if (tellsUser)
    return withSystem();
  Expected<std::string> text = chatTemplate.write(messages, answers);
  if (text || options.system.empty() || messages.size() != 2)
    return text;
  Expected<std::string> instead = withSystem();
  if (!instead)
    return text;
  tellsUser = true;
  options.observer.note("the chat template takes no system prompt (" + text.error().why +
                        "); it stands in the first message");
  return instead;
}

Expected<std::vector<int32_t>> Chat::encode(std::string_view text) const {
  return tokenizer.encode(text, /*addSpecial=*/false);
}

/// The tokens of a conversation: those so far and what is new, or, where the template writes what
/// was said in another way, all anew.
Expected<std::vector<int32_t>> Chat::encodeConversation(const std::string &text) const {
  if (history.empty() || !text.starts_with(written))
    return encode(text);
  std::vector<int32_t> ids = history;
  SINTER_TRY(std::vector<int32_t> rest, encode(text.substr(written.size())));
  // What the model ended its answer with is a part of it, or was another end than the template's.
  if (tokenizer.isSpecial(ids.back())) {
    if (!rest.empty() && rest.front() == ids.back())
      rest.erase(rest.begin());
    else
      ids.pop_back();
  }
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

/// How many tokens at the beginning of a prompt the cache holds already.
size_t Chat::countKept(std::span<const int32_t> prompt) const {
  auto known = std::span(history).first(cached);
  size_t same = static_cast<size_t>(std::ranges::mismatch(prompt, known).in2 - known.begin());
  if (same < cached && !goesBack)
    return 0;
  return std::min(same, prompt.size() - 1);
}

Expected<Generated> Chat::answer(const std::string &message, const ReceiveToken &receive) {
  messages.push_back({"user", message});
  Expected<Generated> generated = answerLast(receive);
  if (!generated)
    messages.pop_back();
  return generated;
}

Expected<Generated> Chat::answerLast(const ReceiveToken &receive) {
  SINTER_TRY(std::string text, write(/*answers=*/true));
  GenerateRequest request;
  SINTER_TRY(request.prompt, encodeConversation(text));
  if (request.prompt.empty())
    return fail("the conversation", "the chat template writes nothing", "give another `template`");
  request.cached = countKept(request.prompt);
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
  cached = 0;
  SINTER_TRY(std::vector<GenerateResult> results, generator->run(std::span(&request, 1), onToken));
  GenerateResult &result = results.front();
  *generated.text += decoder.flush();
  generated.ids = std::move(result.tokens);
  bool ended = end && !generated.ids.empty() && generated.ids.back() == *end;
  generated.reason = ended ? StopReason::EndOfSequence : result.reason;
  generated.times = generator->getTimes();
  generated.peakBytes = measureHeld(session->getMemory(), !session->getExecutable().isForCpu());
  generated.maxSequence = getMaxSequence();

  // The last token was chosen and not fed.
  cached = request.prompt.size() + generated.ids.size() - 1;
  history = std::move(request.prompt);
  history.insert(history.end(), generated.ids.begin(), generated.ids.end());
  written = text + *generated.text;
  messages.push_back({"assistant", *generated.text});
  return generated;
}
