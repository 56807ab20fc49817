#include "runtime/Memory/MemoryUse.h"
#include <algorithm>
#include <cstdio>
#include <vector>

namespace sinter::runtime {
namespace {

std::string readableBytes(uint64_t bytes) {
  char text[32];
  if (bytes >= uint64_t(1) << 30)
    std::snprintf(text, sizeof(text), "%.1f GiB", double(bytes) / double(uint64_t(1) << 30));
  else
    std::snprintf(text, sizeof(text), "%.1f MiB", double(bytes) / double(1 << 20));
  return text;
}

} // namespace

uint64_t MemoryUse::getPeak() const {
  uint64_t binding = parameter + preprocessArena + constant + code;
  return std::max(binding, getResident());
}

Expected<void> checkMemory(const std::string &executable, const MemoryUse &use, uint64_t available,
                           std::string_view memory) {
  if (use.getPeak() <= available)
    return {};
  std::vector<std::pair<uint64_t, const char *>> owners = {
      {use.parameter, "weights"}, {use.state, "caches"},
      {use.arena, "activations"}, {use.output, "outputs"},
      {use.input, "inputs"},      {use.preprocessArena, "preprocessing the weights"},
  };
  std::sort(owners.rbegin(), owners.rend());
  std::string list;
  for (size_t i = 0; i < 3 && owners[i].first != 0; ++i)
    list += (i ? ", " : "") + std::string(owners[i].second) + " " + readableBytes(owners[i].first);
  return fail(executable,
              "needs " + readableBytes(use.getPeak()) + " of " + std::string(memory) + " (" + list +
                  "), " + readableBytes(available) + " are available",
              "use a smaller model, batch, sequence or type");
}

} // namespace sinter::runtime
