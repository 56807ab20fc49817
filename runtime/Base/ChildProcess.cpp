#include "runtime/Base/ChildProcess.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter {
namespace {

// What the file between both holds begins with one of these.
enum class Kind : uint8_t { Value, Mistake, Defect };

// A file in memory that both processes have open.
class SharedFile {
public:
  SharedFile() : descriptor(::memfd_create("result", MFD_CLOEXEC)) {}
  ~SharedFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  SharedFile(const SharedFile &) = delete;
  SharedFile &operator=(const SharedFile &) = delete;

  bool isOpen() const { return descriptor >= 0; }

  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR)
        return false;
      bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return true;
  }

  // All of it but the first byte, which is the kind.
  bool read(Kind &kind, std::vector<std::byte> &rest) {
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0 || status.st_size < 1 ||
        ::pread(descriptor, &kind, sizeof kind, 0) != sizeof kind)
      return false;
    rest.resize(static_cast<size_t>(status.st_size) - sizeof kind);
    for (size_t done = 0; done < rest.size();) {
      ssize_t count = ::pread(descriptor, rest.data() + done, rest.size() - done,
                              static_cast<off_t>(sizeof kind + done));
      if (count == 0 || (count < 0 && errno != EINTR))
        return false;
      done += static_cast<size_t>(std::max<ssize_t>(count, 0));
    }
    return true;
  }

private:
  int descriptor;
};

// An error's three texts, each ended by a zero.
std::string pack(const Error &error) {
  std::string text;
  for (const std::string *part : {&error.what, &error.why, &error.remedy})
    text += part->substr(0, part->find('\0')) + '\0';
  return text;
}

Error unpack(std::string_view text) {
  Error error;
  for (std::string *part : {&error.what, &error.why, &error.remedy}) {
    *part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(part->size() + 1, text.size()));
  }
  return error;
}

// Leaves without a trace in what both share: neither buffers are flushed nor destructors run.
[[noreturn]] void work(const std::function<ChildResult()> &body, SharedFile &file,
                       pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(1);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  ChildResult result = body();
  Kind kind = result ? Kind::Value : result.error().defect ? Kind::Defect : Kind::Mistake;
  std::string error = result ? "" : pack(result.error());
  bool written =
      file.write(std::as_bytes(std::span(&kind, 1))) &&
      file.write(result ? std::span<const std::byte>(*result) : std::as_bytes(std::span(error)));
  ::_exit(written ? 0 : 1);
}

tl::unexpected<Error> describeEnd(const std::string &what, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    auto error =
        fail(what, std::string("its process ended by a signal: ") + ::strsignal(WTERMSIG(status)),
             "please report it with the model's config.json");
    error.value().defect = true;
    return error;
  }
  return fail(what, WIFSIGNALED(status) ? "its process was killed" : "its process gave no result",
              "see whether the system has memory left");
}

} // namespace

ChildResult runInChild(const std::string &what, const std::function<ChildResult()> &body) {
  SharedFile file;
  pid_t parent = ::getpid();
  pid_t child = file.isOpen() ? ::fork() : -1;
  if (child < 0)
    return fail(what, std::string("there is no process for it: ") + std::strerror(errno),
                "see whether the system has memory and processes left");
  if (child == 0)
    work(body, file, parent);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fail(what, std::string("its process is lost: ") + std::strerror(errno), "try again");
  Kind kind;
  std::vector<std::byte> result;
  if (status != 0 || !file.read(kind, result))
    return describeEnd(what, status);
  if (kind == Kind::Value)
    return result;
  Error error = unpack({reinterpret_cast<const char *>(result.data()), result.size()});
  error.defect = kind == Kind::Defect;
  return tl::unexpected(std::move(error));
}

} // namespace sinter
