#include "runtime/Device/Cpu/DebugChecks.h"
#include "runtime/Format/Actions.h"
#include <algorithm>
#include <cstring>
#include <vector>
#include <xxhash.h>

namespace sinter::runtime {

void DebugChecks::poison() {
  auto arena = regions.find(fb::Space::Arena);
  if (arena != regions.end() && arena->second->data())
    std::memset(arena->second->data(), 0xff, arena->second->getBytes().size());
}

uint64_t DebugChecks::hashOutside(const fb::Command &command,
                                  const std::function<uint64_t(uint64_t)> &inSlot) const {
  uint64_t hash = 0;
  for (auto [space, region] : regions) {
    std::vector<std::pair<uint64_t, uint64_t>> touched;
    forEachSlice(command, [&, space = space](const fb::Slice &slice) {
      if (slice.space() != space)
        return;
      uint64_t begin = space == fb::Space::State ? inSlot(slice.offset()) : slice.offset();
      touched.emplace_back(begin, begin + slice.bytes());
    });
    touched.emplace_back(region->getBytes().size(), region->getBytes().size());
    std::sort(touched.begin(), touched.end());
    uint64_t position = 0;
    for (auto [begin, end] : touched) {
      if (begin > position)
        hash = XXH3_64bits_withSeed(region->data() + position, begin - position, hash);
      position = std::max(position, end);
    }
  }
  return hash;
}

bool DebugChecks::guardsIntact() const {
  return std::all_of(regions.begin(), regions.end(),
                     [](auto &entry) { return entry.second->guardsIntact(); });
}

} // namespace sinter::runtime
