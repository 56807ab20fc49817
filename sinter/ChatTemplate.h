//===- ChatTemplate.h - How a conversation is written for a model ------------===//
//
// A model that was trained on conversations knows one way to write them. Files state it as a
// program in Jinja; the programs in use are a few, with variations that do not change a plain
// conversation, and are recognized by the marks that they write. A system prompt that a program
// brings itself is left out: what stands before the first message is what the caller gives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The marks around messages. A conversation is
///
///   [bos] [systemBegin system systemEnd] (userBegin message userEnd answerBegin answer answerEnd)*
struct ChatTemplate {
  std::string_view name; ///< "chatml"
  /// What a Jinja program of this kind holds: all of `marks` and not `absent`, where that is set.
  std::vector<std::string_view> marks;
  std::string_view absent = {};
  bool beginsWithBos = false;
  bool repeatsBos = false;          ///< every message of the user begins with the token, too
  bool putsSystemInMessage = false; ///< the system prompt stands inside of the first message
  std::string_view systemBegin, systemEnd, userBegin, userEnd, answerBegin, answerEnd;
};

/// A message of the user's, from its first mark to where the answer begins, without the token that
/// begins a text; before the first message stands the system prompt, which may be empty.
std::string writeMessage(const ChatTemplate &marks, const std::string &message, bool isFirst,
                         const std::string &system);

/// All that are known.
const std::vector<ChatTemplate> &listChatTemplates();

/// The template of this name, or an error that lists the names.
Expected<ChatTemplate> findChatTemplate(std::string_view name);

/// The template that a program in Jinja writes; `source` names the program in the error that it is
/// none that is known, which quotes its beginning.
Expected<ChatTemplate> recognizeChatTemplate(std::string_view program, const std::string &source);

/// The template of a model: of its chat_template.jinja, of `chat_template` in its
/// tokenizer_config.json (of several the one named "default"), or in a GGUF file's metadata. Fails
/// where there is none, or none that is known.
Expected<ChatTemplate> readChatTemplate(const std::filesystem::path &model);

} // namespace sinter
