#include "runtime/Base/CacheFolder.h"
#include <cstdlib>

namespace sinter {

std::filesystem::path cacheFolder() {
  if (const char *folder = std::getenv("SINTER_CACHE_DIR"))
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"))
    return std::filesystem::path(folder) / "sinter";
  if (const char *home = std::getenv("HOME"))
    return std::filesystem::path(home) / ".cache" / "sinter";
  return {};
}

} // namespace sinter
