#include "runtime/Base/AtomicFile.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {
namespace {

namespace fs = std::filesystem;

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

// The number of the descriptor that a path is a name of, through links such as /dev/stdout.
std::optional<int> findOwnDescriptor(fs::path path) {
  constexpr int mostLinks = 8;
  for (int i = 0; i < mostLinks; ++i) {
    if (path.parent_path() == "/proc/self/fd" || path.parent_path() == "/dev/fd") {
      std::string name = path.filename().string();
      int number = -1;
      auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      return error == std::errc() && end == name.data() + name.size() ? std::optional(number)
                                                                      : std::nullopt;
    }
    std::error_code noLink;
    fs::path target = fs::read_symlink(path, noLink);
    if (noLink)
      return std::nullopt;
    path = path.parent_path() / target;
  }
  return std::nullopt;
}

constexpr size_t pageBytes = 4096;
constexpr size_t directFrom = size_t(1) << 20; // less is not worth opening a file twice
constexpr size_t directStep = size_t(16) << 20;

// Writes whole pages of `bytes` past the page cache, as far as the file system goes along, and
// leaves `file` in the ordinary mode. Returns what is left.
std::span<const std::byte> writeDirect(int file, std::span<const std::byte> bytes) {
  while (bytes.size() >= pageBytes) {
    size_t step = std::min(directStep, bytes.size() / pageBytes * pageBytes);
    ssize_t written = ::write(file, bytes.data(), step);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      break; // an ordinary write will do, or tell why it cannot
    bytes = bytes.subspan(static_cast<size_t>(written));
    if (written % pageBytes != 0)
      break;
  }
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_DIRECT);
  return bytes;
}

} // namespace

Expected<void> writeFileSynced(const std::string &path,
                               std::span<const std::span<const std::byte>> parts) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  bool direct = parts.size() == 1 && parts[0].size() >= directFrom &&
                reinterpret_cast<uintptr_t>(parts[0].data()) % pageBytes == 0;
  int file = direct ? ::open(path.c_str(), flags | O_DIRECT, 0666) : -1;
  if (file < 0) {
    // A file system may make the file and only then find that it cannot be written directly.
    if (direct && errno == EINVAL)
      ::unlink(path.c_str());
    direct = false;
    file = ::open(path.c_str(), flags, 0666);
  }
  if (file < 0)
    return writeFailure(path, errno);
  bool ok = true;
  for (std::span<const std::byte> part : parts)
    ok = ok && writeAll(file, direct ? writeDirect(file, part) : part);
  ok = ok && ::fsync(file) == 0;
  int error = errno;
  if (::close(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  return ok ? Expected<void>() : writeFailure(path, error);
}

Expected<void> syncFolder(const std::string &path) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool ok = folder >= 0 && ::fsync(folder) == 0;
  int error = errno;
  if (folder >= 0)
    ::close(folder);
  return ok ? Expected<void>() : writeFailure(path, error);
}

Expected<std::optional<int>> openStream(const std::string &path) {
  int file = -1;
  struct stat status;
  if (std::optional<int> own = findOwnDescriptor(path))
    file = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
  else if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  else
    return std::nullopt;
  if (file < 0)
    return writeFailure(path, errno);
  return file;
}

using MakePart = std::function<Expected<std::span<const std::byte>>(size_t)>;

/// Writes all parts; fails as one of them does, or where they cannot be written to `path`.
static Expected<void> writeParts(int file, const std::string &path, size_t count,
                                 const MakePart &makePart) {
  for (size_t i = 0; i < count; ++i) {
    SINTER_TRY(std::span<const std::byte> part, makePart(i));
    if (!writeAll(file, part))
      return writeFailure(path, errno);
  }
  return {};
}

/// Writes a file beside `path`, waits until it is on the disk if it `syncs`, and renames it.
static Expected<void> writeAside(const std::string &path, size_t count, const MakePart &makePart,
                                 bool syncs) {
  std::string aside = path + ".XXXXXX";
  int file = ::mkstemp(aside.data());
  if (file < 0)
    return writeFailure(path, errno);
  if (Expected<void> written = writeParts(file, path, count, makePart); !written) {
    ::close(file);
    ::unlink(aside.c_str());
    return written;
  }
  bool ok = true;
  mode_t mask = ::umask(0);
  ::umask(mask);
  ok = ok && ::fchmod(file, 0666 & ~mask) == 0 && (!syncs || ::fsync(file) == 0);
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
  return {};
}

Expected<void> writeFileAtomically(const std::string &path,
                                   std::span<const std::span<const std::byte>> parts) {
  return writeFileAtomically(path, parts.size(), [&](size_t i) { return parts[i]; });
}

Expected<void> writeFileAtomically(const std::string &name, size_t count,
                                   const MakePart &makePart) {
  SINTER_TRY(std::optional<int> stream, openStream(name));
  if (stream) {
    Expected<void> written = writeParts(*stream, name, count, makePart);
    ::close(*stream);
    return written;
  }

  std::error_code notThere;
  fs::path target = fs::canonical(name, notThere);
  const std::string path = notThere ? name : target.string();
  SINTER_CHECK(writeAside(path, count, makePart, /*syncs=*/true));

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

Expected<void> replaceFile(const std::string &path,
                           std::span<const std::span<const std::byte>> parts) {
  return writeAside(path, parts.size(), [&](size_t i) { return parts[i]; }, /*syncs=*/false);
}

} // namespace sinter
