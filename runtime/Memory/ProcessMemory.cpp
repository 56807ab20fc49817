#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace sinter::runtime {

ProcessMemory readProcessMemory() {
  // Steps of less than a millisecond ask for it, too: no stream.
  int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128] = {};
  if (file >= 0 && ::read(file, text, sizeof text - 1) < 0)
    text[0] = 0;
  if (file >= 0)
    ::close(file);
  unsigned long long resident = 0, mapped = 0;
  if (std::sscanf(text, "%*u %llu %llu", &resident, &mapped) != 2)
    return {};
  auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {(resident - std::min(resident, mapped)) * page, mapped * page};
}

uint64_t measureHeld(const MemoryUse &use, bool apart) {
  return apart ? use.reserved : readProcessMemory().anonymous;
}

std::optional<Error> describeShortage(const std::string &name, uint64_t needed,
                                      uint64_t available) {
  if (needed <= available)
    return std::nullopt;
  auto readable = [](uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f MiB", double(bytes) / double(1 << 20));
    return std::string(text);
  };
  return Error{name,
               "will hold " + readable(needed) + " of memory, of which " + readable(available) +
                   " are free now",
               "it may become slow or be ended by the system"};
}

uint64_t otherBytes(const MemoryUse &use, uint64_t programBytes, uint64_t attachedBytes,
                    size_t ranks) {
  // Measured on Debian 12, LLVM 22.1 and Open MPI 4.1: 4.6 to 6.1 MiB in runs of one rank, the code
  // included, 2.5 more under MPI; of a program's bytes three are held, as stored and as commands
  // that are bound.
  constexpr uint64_t mebibyte = 1 << 20, libraries = 4 * mebibyte, mpi = 3 * mebibyte;
  // In whole MiB: plans of a run within other budgets differ by commands, and are allowed the same.
  uint64_t programs = roundUp(3 * programBytes, mebibyte);
  uint64_t code = std::max(2 * mebibyte, 2 * use.code) - use.code; // as stored and as it is run
  return libraries + (ranks > 1 ? mpi : 0) + programs + attachedBytes + code;
}

} // namespace sinter::runtime
