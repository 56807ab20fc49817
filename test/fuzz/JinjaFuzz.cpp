// Any bytes as a chat template: reading and running it names what is wrong, or gives a text, in
// bounded time and memory.

#include "frontends/Jinja/Jinja.h"

#include <cstdlib>

using namespace sinter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto program =
      jinja::Program::parse({reinterpret_cast<const char *>(data), size}, "chat_template.jinja");
  if (!program) {
    if (program.error().message().empty())
      std::abort();
    return 0;
  }
  jinja::List messages = {
      jinja::Dictionary{{"role", "user"}, {"content", "Who is\xC3\xA9 there?"}},
      jinja::Dictionary{{"role", "assistant"}, {"content", "<think>\n</think> I."}}};
  auto text = program->render({{"messages", messages},
                               {"bos_token", "<s>"},
                               {"tools", nullptr},
                               {"add_generation_prompt", true}});
  if (!text && text.error().message().empty())
    std::abort();
  return 0;
}
