#include "runtime/Base/FolderLock.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace sinter {

Expected<std::optional<FolderLock>> FolderLock::take(const std::filesystem::path &path) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return fail(path.string(), std::string("cannot be opened: ") + std::strerror(errno),
                "choose a folder that may be read");
  FolderLock lock(folder);
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return std::optional<FolderLock>();
  return std::optional(std::move(lock));
}

FolderLock::FolderLock(FolderLock &&other) noexcept : folder(std::exchange(other.folder, -1)) {}

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept {
  std::swap(folder, other.folder);
  return *this;
}

FolderLock::~FolderLock() {
  if (folder >= 0)
    ::close(folder);
}

} // namespace sinter
