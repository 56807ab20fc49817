#include "sinter/ChatTemplate.h"
#include "frontends/Gguf/GgufFile.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace sinter;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {
struct NamedTemplate {
  std::string_view name, program;
};

/// Of what is in use, with nothing but plain messages.
constexpr NamedTemplate kNamed[] = {{"chatml", R"({%- for message in messages -%}
{{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\n' if add_generation_prompt -}})"},
                                    {"llama3", R"({{- bos_token -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' -}}
{{- message.content | trim ~ '<|eot_id|>' -}}
{%- endfor -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' if add_generation_prompt -}})"},
                                    {"llama2", R"({%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = '<<SYS>>\n' ~ message.content ~ '\n<</SYS>>\n\n' -%}
{%- elif message.role == 'user' -%}
{{- bos_token ~ '[INST] ' ~ (ns.system ~ message.content) | trim ~ ' [/INST]' -}}
{%- set ns.system = '' -%}
{%- else -%}
{{- ' ' ~ message.content | trim ~ ' ' ~ eos_token -}}
{%- endif -%}
{%- endfor -%})"},
                                    {"mistral", R"({{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content ~ '\n\n' -%}
{%- elif message.role == 'user' -%}
{{- '[INST] ' ~ ns.system ~ message.content ~ ' [/INST]' -}}
{%- set ns.system = '' -%}
{%- else -%}
{{- message.content ~ eos_token -}}
{%- endif -%}
{%- endfor -%})"},
                                    {"gemma", R"({{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content ~ '\n\n' -%}
{%- else -%}
{{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else message.role) ~ '\n' -}}
{{- (ns.system ~ message.content) | trim ~ '<end_of_turn>\n' -}}
{%- set ns.system = '' -%}
{%- endif -%}
{%- endfor -%}
{{- '<start_of_turn>model\n' if add_generation_prompt -}})"},
                                    {"phi3", R"({%- for message in messages -%}
{{- '<|' ~ message.role ~ '|>\n' ~ message.content ~ '<|end|>\n' -}}
{%- endfor -%}
{{- '<|assistant|>\n' if add_generation_prompt -}})"},
                                    {"zephyr", R"({%- for message in messages -%}
{{- '<|' ~ message.role ~ '|>\n' ~ message.content ~ eos_token ~ '\n' -}}
{%- endfor -%}
{{- '<|assistant|>\n' if add_generation_prompt -}})"}};
} // namespace

static std::string joinNames() {
  std::string names;
  for (const NamedTemplate &known : kNamed)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names + ", or a file with a program in Jinja";
}

Expected<ChatTemplate> ChatTemplate::parse(std::string_view program, std::string source,
                                           jinja::Dictionary tokens) {
  SINTER_TRY(jinja::Program parsed, jinja::Program::parse(program, std::move(source)));
  return ChatTemplate(std::move(parsed), std::move(tokens));
}

void ChatTemplate::setToken(std::string_view name, std::string text) {
  if (std::ranges::find(tokens, name, &jinja::Dictionary::value_type::first) == tokens.end())
    tokens.emplace_back(name, std::move(text));
}

Expected<std::string> ChatTemplate::write(std::span<const ChatMessage> messages,
                                          bool answers) const {
  jinja::List list;
  for (const ChatMessage &message : messages)
    list.emplace_back(jinja::Dictionary{{"role", message.role}, {"content", message.content}});
  jinja::Dictionary variables = tokens;
  setEntry(variables, "messages", std::move(list));
  setEntry(variables, "add_generation_prompt", answers);
  setEntry(variables, "tools", nullptr);
  setEntry(variables, "documents", nullptr);
  return program.render(variables);
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

/// Special tokens of a tokenizer_config.json: texts, or objects with a `content`.
static jinja::Dictionary listTokens(const Json &config) {
  jinja::Dictionary tokens;
  if (!config.is_object())
    return tokens;
  for (auto entry = config.begin(); entry != config.end(); ++entry) {
    const Json &text =
        entry->is_object() && entry->contains("content") ? (*entry)["content"] : *entry;
    if (entry.key().ends_with("_token") && text.is_string())
      setEntry(tokens, entry.key(), text.get<std::string>());
  }
  return tokens;
}

static jinja::Dictionary listTokens(const GgufFile &file) {
  jinja::Dictionary tokens;
  auto all = file.metadata.find("tokenizer.ggml.tokens");
  for (const char *name : {"bos", "eos", "unknown", "padding"}) {
    auto id = file.metadata.find(std::string("tokenizer.ggml.") + name + "_token_id");
    if (all == file.metadata.end() || !all->is_array() || id == file.metadata.end() ||
        !id->is_number_unsigned() || id->get<size_t>() >= all->size() ||
        !(*all)[id->get<size_t>()].is_string())
      continue;
    std::string_view full = name;
    std::string shown(full == "unknown" ? "unk" : full == "padding" ? "pad" : full);
    setEntry(tokens, shown + "_token", (*all)[id->get<size_t>()].get<std::string>());
  }
  return tokens;
}

namespace {
/// What a model's files say of conversations; the program is empty where there is none.
struct ChatFiles {
  std::string program, source;
  jinja::Dictionary tokens;
};
} // namespace

static Expected<ChatFiles> readChatFiles(const fs::path &model) {
  ChatFiles files;
  std::error_code error;
  if (GgufFile::isPath(model)) {
    SINTER_TRY(GgufFile file, GgufFile::open(model));
    files.tokens = listTokens(file);
    files.source = model;
    if (auto program = file.metadata.find("tokenizer.chat_template");
        program != file.metadata.end() && program->is_string())
      files.program = program->get<std::string>();
    return files;
  }
  if (fs::path config = model / "tokenizer_config.json"; fs::exists(config, error)) {
    SINTER_TRY(std::string text, readFile(config));
    Json json = parseJson(text);
    files = {findProgram(json), config, listTokens(json)};
  }
  if (fs::path program = model / "chat_template.jinja"; fs::exists(program, error)) {
    SINTER_TRY(files.program, readFile(program));
    files.source = program;
  }
  return files;
}

Expected<ChatTemplate> ChatTemplate::read(const fs::path &model) {
  SINTER_TRY(ChatFiles files, readChatFiles(model));
  if (files.program.empty())
    return fail(model.string(), "it has no chat template",
                "name the one that its conversations are written in with `template`: " +
                    joinNames());
  return parse(files.program, files.source + ": its chat template", std::move(files.tokens));
}

Expected<ChatTemplate> ChatTemplate::find(const std::string &nameOrFile, const fs::path &model) {
  SINTER_TRY(ChatFiles files, readChatFiles(model));
  auto named = std::ranges::find(kNamed, nameOrFile, &NamedTemplate::name);
  if (named != std::end(kNamed))
    return parse(named->program, nameOrFile, std::move(files.tokens));
  std::error_code error;
  if (!fs::is_regular_file(nameOrFile, error))
    return fail("`template` " + nameOrFile, "it is not known", "use one of " + joinNames());
  SINTER_TRY(std::string program, readFile(nameOrFile));
  return parse(program, nameOrFile, std::move(files.tokens));
}
