#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr uint64_t hugePage = 2 << 20;
constexpr uint64_t smallPage = 4096;
constexpr uint64_t guardBytes = 4096;
constexpr std::byte guardPattern{0xa5};

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool holdsPattern(const std::byte *begin) {
  return std::all_of(begin, begin + guardBytes,
                     [](std::byte value) { return value == guardPattern; });
}

uint64_t readNumber(const char *path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value;
  return file >> value ? value : otherwise; // "max" is no number
}

} // namespace

Region::Region(Region &&other) noexcept { *this = std::move(other); }

Region &Region::operator=(Region &&other) noexcept {
  std::swap(base, other.base);
  std::swap(size, other.size);
  std::swap(mapping, other.mapping);
  std::swap(mapped, other.mapped);
  std::swap(guarded, other.guarded);
  return *this;
}

Region::~Region() {
  if (mapping)
    ::munmap(mapping, mapped);
}

Expected<Region> Region::allocate(uint64_t bytes, std::string_view owner, bool guard) {
  Region region;
  if (bytes == 0)
    return region;
  uint64_t margin = guard ? guardBytes : 0;
  uint64_t alignment = bytes >= hugePage ? hugePage : smallPage;
  size_t total = margin + alignment + roundUp(bytes, alignment) + margin;
  void *memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail("memory for " + std::string(owner),
                "the system has no " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                "use a smaller model, batch or capacity");
  region.mapping = memory;
  region.mapped = total;
  region.size = bytes;
  region.guarded = guard;
  uintptr_t begin = roundUp(reinterpret_cast<uintptr_t>(memory) + margin, alignment);
  region.base = reinterpret_cast<std::byte *>(begin);
  if (alignment == hugePage)
    ::madvise(region.base, roundUp(bytes, hugePage), MADV_HUGEPAGE);
  if (guard) {
    std::fill_n(region.base - guardBytes, guardBytes, guardPattern);
    std::fill_n(region.base + bytes, guardBytes, guardPattern);
  }
  return region;
}

bool Region::guardsIntact() const {
  return !guarded || (holdsPattern(base - guardBytes) && holdsPattern(base + size));
}

uint64_t availableMemory() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:"))
      available = std::strtoull(line.c_str() + 13, nullptr, 10) * 1024;
  uint64_t limit = readNumber("/sys/fs/cgroup/memory.max", available);
  if (limit < available) {
    uint64_t used = readNumber("/sys/fs/cgroup/memory.current", 0);
    available = limit > used ? limit - used : 0;
  }
  rlimit space;
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    available = std::min<uint64_t>(available, space.rlim_cur);
  return available;
}

} // namespace sinter::runtime
