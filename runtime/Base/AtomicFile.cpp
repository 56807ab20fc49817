#include "runtime/Base/AtomicFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {
namespace {

tl::unexpected<Error> writeFailure(const std::string &path, int error) {
  return fail(path, std::string("cannot be written: ") + std::strerror(error),
              "choose a place that exists, is writable and has room");
}

bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

} // namespace

Expected<void> writeFileAtomically(const std::string &path,
                                   std::span<const std::span<const std::byte>> parts) {
  // What is not a regular file (a pipe, /dev/null) cannot be replaced by renaming.
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
      return writeFailure(path, errno);
    bool ok = true;
    for (std::span<const std::byte> part : parts)
      ok = ok && writeAll(file, part);
    int error = errno;
    ::close(file);
    return ok ? Expected<void>() : writeFailure(path, error);
  }

  std::string aside = path + ".XXXXXX";
  int file = ::mkstemp(aside.data());
  if (file < 0)
    return writeFailure(path, errno);
  bool ok = true;
  for (std::span<const std::byte> part : parts)
    ok = ok && writeAll(file, part);
  mode_t mask = ::umask(0);
  ::umask(mask);
  ok = ok && ::fchmod(file, 0666 & ~mask) == 0 && ::fsync(file) == 0;
  int error = errno;
  if (::close(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && ::rename(aside.c_str(), path.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    ::unlink(aside.c_str());
    return writeFailure(path, error);
  }

  // The rename itself lasts once the folder is on the disk.
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return {};
}

Expected<void> writeFileAtomically(const std::string &path, std::span<const std::byte> bytes) {
  return writeFileAtomically(path, std::span(&bytes, 1));
}

} // namespace sinter
