#include "sinter/ChatTemplate.h"
#include "frontends/Gguf/GgufFile.h"
#include "runtime/Base/ReadFile.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sinter;
namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::vector<ChatTemplate> &sinter::listChatTemplates() {
  static const std::vector<ChatTemplate> all = {
      {.name = "chatml",
       .marks = {"<|im_start|>", "<|im_end|>"},
       .systemBegin = "<|im_start|>system\n",
       .systemEnd = "<|im_end|>\n",
       .userBegin = "<|im_start|>user\n",
       .userEnd = "<|im_end|>\n",
       .answerBegin = "<|im_start|>assistant\n",
       .answerEnd = "<|im_end|>\n"},
      {.name = "llama3",
       .marks = {"<|start_header_id|>", "<|eot_id|>"},
       .beginsWithBos = true,
       .systemBegin = "<|start_header_id|>system<|end_header_id|>\n\n",
       .systemEnd = "<|eot_id|>",
       .userBegin = "<|start_header_id|>user<|end_header_id|>\n\n",
       .userEnd = "<|eot_id|>",
       .answerBegin = "<|start_header_id|>assistant<|end_header_id|>\n\n",
       .answerEnd = "<|eot_id|>"},
      {.name = "llama2",
       .marks = {"[INST]", "<<SYS>>"},
       .beginsWithBos = true,
       .repeatsBos = true,
       .putsSystemInMessage = true,
       .systemBegin = "<<SYS>>\n",
       .systemEnd = "\n<</SYS>>\n\n",
       .userBegin = "[INST] ",
       .userEnd = " [/INST]",
       .answerBegin = "",
       .answerEnd = " </s>"},
      {.name = "mistral",
       .marks = {"[INST]", "[/INST]"},
       .absent = "<<SYS>>",
       .beginsWithBos = true,
       .putsSystemInMessage = true,
       .systemBegin = "",
       .systemEnd = "\n\n",
       .userBegin = "[INST] ",
       .userEnd = " [/INST]",
       .answerBegin = "",
       .answerEnd = "</s>"},
      {.name = "gemma",
       .marks = {"<start_of_turn>", "<end_of_turn>"},
       .beginsWithBos = true,
       .putsSystemInMessage = true,
       .systemBegin = "",
       .systemEnd = "\n\n",
       .userBegin = "<start_of_turn>user\n",
       .userEnd = "<end_of_turn>\n",
       .answerBegin = "<start_of_turn>model\n",
       .answerEnd = "<end_of_turn>\n"},
      {.name = "phi3",
       .marks = {"<|user|>", "<|end|>"},
       .systemBegin = "<|system|>\n",
       .systemEnd = "<|end|>\n",
       .userBegin = "<|user|>\n",
       .userEnd = "<|end|>\n",
       .answerBegin = "<|assistant|>\n",
       .answerEnd = "<|end|>\n"},
      {.name = "zephyr",
       .marks = {"<|user|>", "<|assistant|>", "eos_token"},
       .absent = "<|end|>",
       .systemBegin = "<|system|>\n",
       .systemEnd = "</s>\n",
       .userBegin = "<|user|>\n",
       .userEnd = "</s>\n",
       .answerBegin = "<|assistant|>\n",
       .answerEnd = "</s>\n"}};
  return all;
}

std::string sinter::writeMessage(const ChatTemplate &marks, const std::string &message,
                                 bool isFirst, const std::string &system) {
  std::string prompt, text;
  if (isFirst && !system.empty())
    prompt = std::string(marks.systemBegin) + system + std::string(marks.systemEnd);
  if (!marks.putsSystemInMessage)
    text += prompt;
  text += marks.userBegin;
  if (marks.putsSystemInMessage)
    text += prompt;
  return text + message + std::string(marks.userEnd) + std::string(marks.answerBegin);
}

static std::string joinNames() {
  std::string names;
  for (const ChatTemplate &known : listChatTemplates())
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

Expected<ChatTemplate> sinter::findChatTemplate(std::string_view name) {
  auto found = std::ranges::find(listChatTemplates(), name, &ChatTemplate::name);
  if (found != listChatTemplates().end())
    return *found;
  return fail("`template` " + std::string(name), "it is not known", "use one of " + joinNames());
}

Expected<ChatTemplate> sinter::recognizeChatTemplate(std::string_view program,
                                                     const std::string &source) {
  auto holds = [&](std::string_view mark) { return program.find(mark) != std::string_view::npos; };
  for (ChatTemplate known : listChatTemplates())
    if (std::ranges::all_of(known.marks, holds) && (known.absent.empty() || !holds(known.absent))) {
      // Phi-3's program came to leave the token out.
      known.beginsWithBos = known.beginsWithBos || holds("bos_token");
      return known;
    }
  constexpr size_t kShown = 60;
  std::string shown(program.substr(0, kShown));
  return fail(source + ": its chat template",
              "it is none that is known: " + shown + (program.size() > kShown ? "..." : ""),
              "name the one that is meant with `template`: " + joinNames());
}

/// The program in a tokenizer_config.json; empty where it has none.
static std::string findProgram(const Json &config) {
  auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (!config.is_object() || found == config.end())
    return "";
  if (found->is_string())
    return *found;
  if (found->is_array())
    for (const Json &named : *found)
      if (named.is_object() && named.value("name", Json()) == "default" &&
          named.value("template", Json()).is_string())
        return named["template"];
  return "";
}

Expected<ChatTemplate> sinter::readChatTemplate(const fs::path &model) {
  std::error_code error;
  if (GgufFile::isPath(model)) {
    SINTER_TRY(GgufFile file, GgufFile::open(model));
    if (auto program = file.metadata.find("tokenizer.chat_template");
        program != file.metadata.end() && program->is_string())
      return recognizeChatTemplate(program->get<std::string>(), model);
  } else if (fs::path program = model / "chat_template.jinja"; fs::exists(program, error)) {
    SINTER_TRY(std::string text, readFile(program));
    return recognizeChatTemplate(text, program);
  } else if (fs::path config = model / "tokenizer_config.json"; fs::exists(config, error)) {
    SINTER_TRY(std::string text, readFile(config));
    if (std::string program = findProgram(Json::parse(text, nullptr, false)); !program.empty())
      return recognizeChatTemplate(program, config);
  }
  return fail(model.string(), "it has no chat template",
              "name the one that its conversations are written in with `template`: " + joinNames());
}
