//===- ChatTemplate.h - How a conversation is written for a model ------------===//
//
// A model that was trained on conversations knows one way to write them, which its files state as a
// program in Jinja. It is given what transformers' apply_chat_template gives it: the messages, the
// special tokens, and whether an answer is to follow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Jinja/Jinja.h"
#include <filesystem>
#include <span>

namespace sinter {

struct ChatMessage {
  std::string role; ///< "system", "user" or "assistant"
  std::string content;
};

class ChatTemplate {
public:
  /// Of a program; `source` names it in errors. `tokens` are special tokens by their names:
  /// `bos_token`, `eos_token`.
  static Expected<ChatTemplate> parse(std::string_view program, std::string source,
                                      jinja::Dictionary tokens);

  /// The template of a model: of its chat_template.jinja, of `chat_template` in its
  /// tokenizer_config.json (of several the one named "default"), or in a GGUF file's metadata.
  /// Fails where there is none, or it is no program.
  static Expected<ChatTemplate> read(const std::filesystem::path &model);

  /// The one of a name that is known ("chatml"), or of a file with a program, with the tokens of a
  /// model's files.
  static Expected<ChatTemplate> find(const std::string &nameOrFile,
                                     const std::filesystem::path &model);

  /// Gives a special token a text, unless the files did.
  void setToken(std::string_view name, std::string text);

  /// The conversation, and with `answers` what begins the next answer. Fails as the program does.
  Expected<std::string> write(std::span<const ChatMessage> messages, bool answers) const;

private:
  ChatTemplate(jinja::Program program, jinja::Dictionary tokens)
      : program(std::move(program)), tokens(std::move(tokens)) {}

  jinja::Program program;
  jinja::Dictionary tokens;
};

} // namespace sinter
