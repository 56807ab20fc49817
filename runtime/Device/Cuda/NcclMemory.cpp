#include "runtime/Device/Cuda/NcclMemory.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include <algorithm>
#include <set>

namespace sinter::runtime::cuda {

/// Of a rank that receives from `peers` others, over as many channels from each.
static uint64_t countBufferBytes(uint64_t peers, uint64_t channels) {
  constexpr uint64_t kSimple = uint64_t(4) << 20, kLl = 8 * 512 * 8 * 16,
                     kLl128 = 8 * 640 * 120 * 8;
  return peers * channels * (kSimple + kLl + kLl128);
}

/// What the ranks at a place have communicators for: the axes, and whether they exchange.
static std::set<std::pair<std::vector<uint32_t>, bool>> listUses(const fb::Executable &executable,
                                                                 uint64_t place) {
  std::set<std::pair<std::vector<uint32_t>, bool>> uses;
  for (const fb::Program *program : *executable.programs()) {
    if (placeOfStage(executable, program->stage()) != place || !program->commands())
      continue;
    for (const fb::Command *command : *program->commands())
      if (const fb::Collective *collective = command->action_as_Collective())
        if (collective->kind() != fb::CollectiveKind::AllSlice)
          uses.insert({{collective->axes()->begin(), collective->axes()->end()},
                       collective->kind() == fb::CollectiveKind::AllToAll});
  }
  return uses;
}

uint64_t estimateNcclMemory(const Executable &executable) {
  constexpr uint64_t kChannels = 16;
  const fb::Executable &root = executable.getRoot();
  std::set<StageLink> links;
  for (const auto &[channel, link] : findLinks(root))
    links.insert(link);
  uint64_t most = 0;
  for (uint64_t place = 0; place < countPlaces(root); ++place) {
    uint64_t bytes = 0;
    for (const auto &[axes, exchanges] : listUses(root, place)) {
      uint64_t peers = findGroup(root, axes, /*rank=*/0).size() - 1;
      bytes += countBufferBytes(exchanges ? peers : std::min<uint64_t>(peers, 1), kChannels);
    }
    for (const StageLink &link : links)
      if (placeOfStage(root, link.receiver) == place && placeOfStage(root, link.sender) != place)
        bytes += countBufferBytes(1, kMostBlocksOfLink);
    most = std::max(most, bytes);
  }
  return most;
}

} // namespace sinter::runtime::cuda
