// Any bytes: the reader either names what is wrong or gives a state that it writes and reads back
// alike.

#include "runtime/Train/RunState.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto state = sinter::runtime::RunState::parse(text, "state.json");
  if (!state) {
    if (state.error().message().empty())
      std::abort();
    return 0;
  }
  auto again = sinter::runtime::RunState::parse(state->toJson(), "state.json");
  if (!again || again->step != state->step || again->updates != state->updates ||
      again->scaler != state->scaler || !again->checkOptions(state->options, {}, "state.json"))
    std::abort();
  return 0;
}
