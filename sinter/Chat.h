//===- Chat.h - A conversation with a model ---------------------*- C++ -*-===//
#pragma once

#include "sinter/ChatTemplate.h"
#include "sinter/Generate.h"

namespace sinter {

struct ChatOptions : GenerateOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/ChatOptions.def"

  ChatOptions() { maxNewTokens = 1024; }

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    GenerateOptions::visit(self, visitor);
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/ChatOptions.def"
  }
};

/// A conversation in one slot of a model. The KV cache is kept from message to message: each costs
/// its own tokens alone, unless the template writes what was said in another way now.
class Chat {
public:
  /// Binds a model with the entries prefill and decode. Of the options, `maxNewTokens` are the
  /// tokens of an answer at the most; prompts are ignored.
  static Expected<std::unique_ptr<Chat>> open(const LoadedModel &model, ChatTemplate chatTemplate,
                                              const ChatOptions &options);

  /// Answers a message; `receive` gets the text as it comes, without the marks of the template. Of
  /// several ranks all are given the same message.
  /// An answer that `receive` or the observer's `stop` ends is a part of the conversation as far as
  /// it goes. Fails, and leaves the conversation as it was, where the message does not fit into the
  /// cache behind what was said.
  Expected<Generated> answer(const std::string &message, const ReceiveToken &receive);

  /// Begins a new conversation.
  void clear();

  size_t getTokens() const { return history.size(); } ///< of the conversation
  int64_t getMaxSequence() const {
    return generator->getMaxSequence();
  } ///< tokens that the cache holds

private:
  Chat(Tokenizer tokenizer, ChatTemplate chatTemplate, const ChatOptions &options)
      : tokenizer(std::move(tokenizer)), chatTemplate(std::move(chatTemplate)), options(options) {}
  Expected<void> bind(const LoadedModel &model);
  Expected<Generated> answerLast(const ReceiveToken &receive);
  Expected<std::string> write(bool answers);
  Expected<std::optional<int32_t>> findEnd() const;
  Expected<std::vector<int32_t>> encodeConversation(const std::string &text) const;
  size_t countKept(std::span<const int32_t> prompt) const;
  Expected<std::vector<int32_t>> encode(std::string_view text) const;

  Tokenizer tokenizer;
  ChatTemplate chatTemplate;
  ChatOptions options;
  std::optional<WeightFilesSource> source;
  std::shared_ptr<const WeightFiles> weights;
  std::unique_ptr<runtime::Session> session;
  std::optional<runtime::Generator> generator;
  std::optional<int32_t> end; ///< the token that ends an answer, where it is one
  bool goesBack = true;       ///< layers keep all tokens, not what they make of them
  bool tellsUser = false;     ///< the system prompt stands in the first message
  std::vector<ChatMessage> messages;
  std::vector<int32_t> history; ///< all tokens so far
  size_t cached = 0;            ///< of these in the cache
  std::string written;          ///< the text of these, without what ended the last answer
};

} // namespace sinter
