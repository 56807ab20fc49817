#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr uint64_t guardBytes = 4096;
constexpr std::byte guardPattern{0xa5};

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
  uint64_t alignment = bytes >= kLargePage ? kLargePage : kSmallPage;
  size_t total = margin + alignment + roundUp(bytes, alignment) + margin;
  void *memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail("memory for " + std::string(owner),
                "the system has no " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                "use a smaller model, batch or sequence");
  region.mapping = memory;
  region.mapped = total;
  region.size = bytes;
  region.guarded = guard;
  uintptr_t begin = roundUp(reinterpret_cast<uintptr_t>(memory) + margin, alignment);
  region.base = reinterpret_cast<std::byte *>(begin);
  // What is left behind the last whole large page stays in small ones, so that no more is held than
  // was asked for.
  if (alignment == kLargePage)
    ::madvise(region.base, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  if (guard) {
    std::fill_n(region.base - guardBytes, guardBytes, guardPattern);
    std::fill_n(region.base + bytes, guardBytes, guardPattern);
  }
  return region;
}

bool Region::guardsIntact() const {
  return !guarded || (holdsPattern(base - guardBytes) && holdsPattern(base + size));
}

// At most what the control group and RLIMIT_AS leave of `bytes`.
static uint64_t withinLimits(uint64_t bytes) {
  uint64_t limit = readNumber("/sys/fs/cgroup/memory.max", bytes);
  if (limit < bytes) {
    uint64_t used = readNumber("/sys/fs/cgroup/memory.current", 0);
    bytes = limit > used ? limit - used : 0;
  }
  rlimit space;
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min<uint64_t>(bytes, space.rlim_cur);
  return bytes;
}

// The sum of lines of /proc/meminfo; all there is where it has none of them.
static uint64_t sumOf(std::initializer_list<std::string_view> names) {
  uint64_t sum = 0;
  bool found = false;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    for (std::string_view name : names)
      if (line.starts_with(name)) {
        sum += std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
        found = true;
      }
  return found ? sum : std::numeric_limits<uint64_t>::max();
}

uint64_t availableMemory() { return withinLimits(sumOf({"MemAvailable:"})); }
uint64_t memoryLimit() { return withinLimits(sumOf({"MemTotal:", "SwapTotal:"})); }

} // namespace sinter::runtime
