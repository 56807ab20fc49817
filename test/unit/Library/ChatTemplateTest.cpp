// Published chat templates, against what Jinja2 makes of them (tools/dev/make_chat_references.py).

#include "sinter/ChatTemplate.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sinter;

namespace {

std::string compose(const ChatTemplate &marks, const std::string &bos, const std::string &system) {
  // A model of Llama 2's kind writes the space that its template puts there.
  std::string answer = marks.name == "llama2" ? " Hi!" : "Hi!";
  std::string text = marks.beginsWithBos ? bos : "";
  text += writeMessage(marks, "Hello there", true, system) + answer + std::string(marks.answerEnd);
  text += marks.repeatsBos ? bos : "";
  return text + writeMessage(marks, "Who are you?", false, system);
}

TEST(ChatTemplate, WritesWhatJinjaWrites) {
  std::ifstream file(SINTER_CHAT_TEMPLATES);
  auto cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 12u);
  for (const auto &each : cases) {
    auto marks = recognizeChatTemplate(each["program"].get<std::string>(), "tokenizer_config.json");
    ASSERT_TRUE(marks) << marks.error().message();
    EXPECT_EQ(marks->name, each["name"].get<std::string>());
    EXPECT_EQ(compose(*marks, each["bos"], each["system"]), each["text"].get<std::string>());
  }
}

TEST(ChatTemplate, EveryNameIsFound) {
  for (const ChatTemplate &known : listChatTemplates())
    EXPECT_EQ(findChatTemplate(known.name)->answerEnd, known.answerEnd);
}

TEST(ChatTemplateErrors, NameWhatIsNotKnown) {
  auto named = findChatTemplate("vicuna");
  ASSERT_FALSE(named);
  EXPECT_TRUE(
      named.error().message().starts_with("`template` vicuna: it is not known; use one of"));
  auto program = recognizeChatTemplate("{{ 'USER: ' + messages[0]['content'] }}", "a.jinja");
  ASSERT_FALSE(program);
  EXPECT_TRUE(program.error().message().starts_with(
      "a.jinja: its chat template: it is none that is known: {{ 'USER: ' + "))
      << program.error().message();
}

} // namespace
