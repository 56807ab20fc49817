// A full disk, for tests.
#pragma once

#include <csignal>
#include <cstdint>
#include <sys/resource.h>

namespace sinter::runtime::testing {

/// While it lives, this process cannot make a file longer than `bytes`: a write beyond fails, as on
/// a full disk. All threads are concerned.
class FileSizeLimit {
public:
  explicit FileSizeLimit(uint64_t bytes) : handler(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = before;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  void (*handler)(int);
  rlimit before = {};
};

} // namespace sinter::runtime::testing
