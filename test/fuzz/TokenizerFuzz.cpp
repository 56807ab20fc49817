// Any bytes as a tokenizer.json, or as GPT-2's two files: loading names what is wrong, or gives a
// tokenizer that encodes and decodes any text.

#include "frontends/Tokenizer/Tokenizer.h"

#include <cstdlib>

using namespace sinter;

static void exercise(const Expected<Tokenizer> &tokenizer, std::string_view text) {
  if (!tokenizer) {
    std::string message = tokenizer.error().message();
    if (message.empty() || message.find('\n') != std::string::npos)
      std::abort();
    return;
  }
  for (std::string_view input :
       {std::string_view("Hello  world's \xE2\x96\x81 \xC3\xA9 123\n<s>\xFF"),
        text.substr(0, 256)}) {
    Expected<std::vector<int32_t>> ids = tokenizer->encode(input);
    if (!ids) {
      if (ids.error().message().empty())
        std::abort();
      continue;
    }
    tokenizer->decode(*ids);
    StreamDecoder stream(*tokenizer, false);
    for (int32_t id : *ids)
      stream.push(id);
    stream.flush();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  exercise(Tokenizer::fromFiles({{"tokenizer.json", std::string(bytes)}}), bytes);
  // A zero byte cuts an input into vocab.json and merges.txt.
  if (size_t cut = bytes.find('\0'); cut != std::string_view::npos)
    exercise(Tokenizer::fromFiles({{"vocab.json", std::string(bytes.substr(0, cut))},
                                   {"merges.txt", std::string(bytes.substr(cut + 1))}}),
             bytes);
  return 0;
}
