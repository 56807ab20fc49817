#include "tools/cli/BatchFile.h"
#include "runtime/Base/ReadFile.h"

using namespace sinter;
using namespace sinter::cli;
using namespace sinter::runtime;
using nlohmann::json;

namespace {
/// Takes the members of a line's object one after the other.
class LineReader {
public:
  LineReader(std::string name, json object) : name(std::move(name)), object(std::move(object)) {}

  /// Hands the member to `take`, which says whether it was of the right type: "a number".
  template <typename Take> Expected<void> read(std::string_view key, const char *type, Take take) {
    auto found = object.find(key);
    if (found == object.end())
      return {};
    if (!take(*found))
      return fail(name, "\"" + std::string(key) + "\" is not " + type, "");
    object.erase(found);
    return {};
  }

  Expected<void> readValue(std::string_view key, int64_t &value) {
    return read(key, "a whole number", [&](const json &member) {
      // What is larger is out of every option's range.
      constexpr uint64_t most = std::numeric_limits<int64_t>::max();
      if (member.is_number_unsigned())
        value = static_cast<int64_t>(std::min(member.get<uint64_t>(), most));
      else if (member.is_number_integer())
        value = member.get<int64_t>();
      return member.is_number_integer();
    });
  }
  Expected<void> readValue(std::string_view key, double &value) {
    return read(key, "a number", [&](const json &member) {
      if (member.is_number())
        value = member.get<double>();
      return member.is_number();
    });
  }

  /// Fails where a member is left that nobody took.
  Expected<void> end() const {
    if (object.empty())
      return {};
    return fail(name, "\"" + object.begin().key() + "\" is no key of a prompt",
                "keys are id, prompt, tokens, stop, ignore_eos, seed and options such as "
                "max_new_tokens");
  }

private:
  std::string name;
  json object;
};
} // namespace

static bool readTexts(const json &member, std::vector<std::string> &texts) {
  texts.clear();
  if (member.is_string())
    texts.push_back(member.get<std::string>());
  else if (!member.is_array())
    return false;
  else
    for (const json &text : member) {
      if (!text.is_string())
        return false;
      texts.push_back(text.get<std::string>());
    }
  return true;
}

static bool readTokens(const json &member, std::vector<int32_t> &tokens) {
  if (!member.is_array())
    return false;
  for (const json &token : member) {
    if (!token.is_number_unsigned() || token.get<uint64_t>() > INT32_MAX)
      return false;
    tokens.push_back(token.get<int32_t>());
  }
  return true;
}

static Expected<void> readPrompt(LineReader &line, NamedPrompt &prompt, json &id) {
  SINTER_CHECK(line.read("id", "a text or a number", [&](const json &member) {
    bool isWritten = member.is_string() || member.is_number() || member.is_null();
    if (isWritten)
      id = member;
    return isWritten;
  }));
  SINTER_CHECK(line.read("prompt", "a text", [&](const json &member) {
    if (member.is_string())
      prompt.prompt = member.get<std::string>();
    return member.is_string();
  }));
  SINTER_CHECK(line.read("tokens", "a list of token ids",
                         [&](const json &member) { return readTokens(member, prompt.tokens); }));
  SINTER_CHECK(line.read("stop", "a text or a list of them",
                         [&](const json &member) { return readTexts(member, prompt.stop); }));
  SINTER_CHECK(line.read("ignore_eos", "true or false", [&](const json &member) {
    if (member.is_boolean())
      prompt.ignoreEos = member.get<bool>();
    return member.is_boolean();
  }));
  SINTER_CHECK(line.read("seed", "a whole number from 0 up", [&](const json &member) {
    if (member.is_number_unsigned())
      prompt.seed = member.get<uint64_t>();
    return member.is_number_unsigned();
  }));
  Expected<void> read;
  PromptOptions::visit(prompt, [&](const OptionInfo &info, auto &value) {
    if (read)
      read = line.readValue(info.id, value);
  });
  SINTER_CHECK(read);
  SINTER_CHECK(line.end());
  if (prompt.prompt.has_value() == !prompt.tokens.empty())
    return fail(prompt.name, prompt.prompt ? "it has a prompt and tokens" : "it has no prompt",
                "give either \"prompt\" or \"tokens\"");
  return {};
}

Expected<BatchFile> BatchFile::read(const std::string &path, const PromptOptions &defaults) {
  SINTER_TRY(std::string text, readFile(path == "-" ? "/dev/stdin" : path));
  BatchFile batch;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    NamedPrompt &prompt = batch.prompts.emplace_back(NamedPrompt{defaults, ""});
    prompt.name = path + " line " + std::to_string(number);
    json object = parseJson(line);
    if (!object.is_object())
      return fail(prompt.name, "it is no JSON object", "write {\"prompt\": \"...\"} on each line");
    LineReader reader(prompt.name, std::move(object));
    SINTER_CHECK(readPrompt(reader, prompt, batch.ids.emplace_back()));
  }
  if (batch.prompts.empty())
    return fail(path, "it has no prompts", "write {\"prompt\": \"...\"} on each line");
  return batch;
}

Expected<BatchFile::Lengths> BatchFile::measure(const std::optional<Tokenizer> &tokenizer) const {
  Lengths lengths;
  for (const NamedPrompt &prompt : prompts) {
    size_t tokens = prompt.tokens.size();
    if (prompt.prompt && tokenizer) {
      SINTER_TRY(std::vector<int32_t> ids, tokenizer->encode(*prompt.prompt));
      tokens = ids.size();
    }
    auto length = static_cast<int64_t>(tokens);
    lengths.prompt = std::max(lengths.prompt, length);
    lengths.total = std::max(lengths.total, length + prompt.maxNewTokens);
  }
  return lengths;
}

static const char *describeStop(StopReason reason) {
  switch (reason) {
  case StopReason::EndOfSequence:
    return "end_of_sequence";
  case StopReason::MaxNewTokens:
    return "max_new_tokens";
  case StopReason::MaxSequence:
    return "max_seq";
  case StopReason::Caller:
    return "output_closed";
  }
  return "";
}

json cli::describe(const GeneratedText &text, bool ids) {
  json object = {{"ids", text.ids},
                 {"stop", text.stop ? "stop_text" : describeStop(text.reason)},
                 {"prompt_tokens", text.promptTokens},
                 {"new_tokens", text.ids.size()}};
  if (text.text && !ids)
    object["text"] = *text.text;
  return object;
}

std::string cli::writeResults(const BatchFile &batch, std::span<const GeneratedText> texts,
                              bool ids) {
  std::string lines;
  for (size_t i = 0; i < texts.size(); ++i) {
    json object = describe(texts[i], ids);
    if (!batch.ids[i].is_null())
      object["id"] = batch.ids[i];
    lines += writeJson(object) + "\n";
  }
  return lines;
}
