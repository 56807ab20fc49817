// Published chat templates, and small programs in Jinja, against what Jinja2 makes of them
// (tools/dev/make_chat_references.py).

#include "sinter/ChatTemplate.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sinter;
using Json = nlohmann::ordered_json;

namespace {

Json read(const char *path) {
  std::ifstream file(path);
  return Json::parse(file);
}

jinja::Value convert(const Json &json) {
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_number_integer())
    return json.get<int64_t>();
  if (json.is_array()) {
    jinja::List list;
    for (const Json &item : json)
      list.push_back(convert(item));
    return list;
  }
  jinja::Dictionary dictionary;
  for (auto entry = json.begin(); entry != json.end(); ++entry)
    dictionary.emplace_back(entry.key(), convert(entry.value()));
  return dictionary;
}

std::string errorOf(std::string_view program) {
  auto parsed = jinja::Program::parse(program, "a.jinja");
  if (!parsed)
    return parsed.error().message();
  auto text = parsed->render({{"messages", jinja::List()}});
  return text ? "" : text.error().message();
}

TEST(Jinja, WritesWhatJinja2Writes) {
  Json cases = read(SINTER_JINJA_PROGRAMS);
  const jinja::Value variables = convert(cases["variables"]);
  size_t failures = 0;
  for (const Json &each : cases["programs"]) {
    auto text = each["program"].get<std::string>();
    SCOPED_TRACE(text);
    auto program = jinja::Program::parse(text, "a.jinja");
    Expected<std::string> written = tl::unexpected(Error());
    if (program)
      written = program->render(*variables.asDictionary());
    failures += !written;
    EXPECT_EQ(written.has_value(), each.contains("text"));
    if (written && each.contains("text"))
      EXPECT_EQ(*written, each["text"].get<std::string>());
  }
  EXPECT_GE(failures, 20u);
}

TEST(JinjaErrors, NameThePlaceAndTheReason) {
  EXPECT_EQ(errorOf("a\n{{ missing.x }}"), "a.jinja, line 2: takes 'x' of what is not defined");
  EXPECT_EQ(errorOf("{{ raise_exception('Only users speak') }}"),
            "a.jinja, line 1: Only users speak");
  EXPECT_EQ(errorOf("{{ 'a' | shout }}"), "a.jinja, line 1: 'shout' is no filter that is known");
  EXPECT_EQ(errorOf("\n\n{% include 'b' %}"),
            "a.jinja, line 3: 'include' is no statement that is known");
  EXPECT_EQ(errorOf("{% if true %}"), "a.jinja, line 1: expected 'endif' before an end");
  EXPECT_EQ(errorOf("{{ 99999999999999999999 }}"),
            "a.jinja, line 1: the number 99999999999999999999 is too large");
}

// Each would take all memory, the stack or for ever.
TEST(JinjaErrors, HostileProgramsEnd) {
  std::string deep(10'000, '('), chain = "{{ a", sum = "{{ 1";
  for (int i = 0; i < 10'000; ++i) {
    chain += ".b";
    sum += " + 1";
  }
  EXPECT_NE(errorOf("{{ " + deep + " }}").find("it nests too deeply"), std::string::npos);
  EXPECT_NE(errorOf(chain + " }}").find("it nests too deeply"), std::string::npos);
  EXPECT_NE(errorOf(sum + " }}").find("it nests too deeply"), std::string::npos);
  EXPECT_NE(errorOf("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("it nests too deeply"),
            std::string::npos);
  EXPECT_NE(errorOf("{{ range(2000000000) }}").find("too long"), std::string::npos);
  EXPECT_NE(errorOf("{{ 'abcdefgh' * 2000000000 }}").find("writes more than"), std::string::npos);
  EXPECT_NE(
      errorOf("{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}")
          .find("more steps"),
      std::string::npos);
  EXPECT_EQ(errorOf("{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ n | tojson }}"), "");
}

TEST(ChatTemplate, WritesWhatJinja2Writes) {
  Json cases = read(SINTER_CHAT_TEMPLATES);
  ASSERT_EQ(cases.size(), 12u);
  for (const Json &each : cases) {
    auto chat = ChatTemplate::parse(each["program"].get<std::string>(), "tokenizer_config.json",
                                    {{"bos_token", each["bos"].get<std::string>()},
                                     {"eos_token", each["eos"].get<std::string>()}});
    ASSERT_TRUE(chat) << chat.error().message();
    std::vector<ChatMessage> messages;
    for (const Json &message : each["messages"])
      messages.push_back({message["role"], message["content"]});
    auto text = chat->write(messages, /*answers=*/true);
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, each["text"].get<std::string>());
    // Those that are known by a name write a conversation in the same way.
    auto named = ChatTemplate::find(each["name"], "no-such-model");
    ASSERT_TRUE(named) << named.error().message();
    named->setToken("bos_token", each["bos"]);
    named->setToken("eos_token", each["eos"]);
    auto same = named->write(messages, /*answers=*/true);
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(*same, *text) << each["name"];
  }
}

TEST(ChatTemplateErrors, NameWhatIsNotKnown) {
  auto named = ChatTemplate::find("vicuna", "no-such-model");
  ASSERT_FALSE(named);
  EXPECT_TRUE(
      named.error().message().starts_with("`template` vicuna: it is not known; use one of chatml"));
  auto program = ChatTemplate::parse("{{ 'USER: ' ", "a.jinja", {});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message(), "a.jinja, line 1: its {{ does not end");
}

} // namespace
