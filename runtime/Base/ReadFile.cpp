#include "runtime/Base/ReadFile.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {

Expected<std::string> readFile(const std::filesystem::path &path, uint64_t limit) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(path.string(), std::strerror(errno), "check that it exists and may be read");
  // What the file says of its size saves copies; a pipe says nothing.
  constexpr size_t kBlock = 1 << 16;
  struct stat status = {};
  size_t expected = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)
                        ? static_cast<size_t>(status.st_size)
                        : 0;
  std::string content;
  size_t size = 0;
  ssize_t count = 0;
  do {
    size += static_cast<size_t>(count);
    if (content.size() - size < kBlock)
      content.resize(std::max(2 * size, std::min<size_t>(expected, limit)) + kBlock);
    do
      count = ::read(descriptor, content.data() + size, content.size() - size);
    while (count < 0 && errno == EINTR);
  } while (count > 0 && size + static_cast<size_t>(count) <= limit);
  int error = errno;
  ::close(descriptor);
  if (count < 0)
    return fail(path.string(), std::string("cannot be read: ") + std::strerror(error),
                "give a file that can be read");
  if (count > 0)
    return fail(path.string(), "is larger than " + std::to_string(limit) + " bytes",
                "check that it is the file that you mean");
  content.resize(size);
  return content;
}

} // namespace sinter
