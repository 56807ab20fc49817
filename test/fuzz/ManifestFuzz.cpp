// Any bytes: the reader either names what is wrong or gives plain names, which it writes and reads
// back alike.

#include "runtime/Checkpoint/Manifest.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto manifest = sinter::runtime::Manifest::parse(text, "manifest.json");
  if (!manifest) {
    if (manifest.error().message().empty())
      std::abort();
    return 0;
  }
  for (const auto &[name, file] : manifest->files)
    if (name.empty() || name.find('/') != std::string::npos || file.hash.size() != 32)
      std::abort();
  auto again = sinter::runtime::Manifest::parse(manifest->toJson(), "manifest.json");
  if (!again || again->files != manifest->files)
    std::abort();
  return 0;
}
