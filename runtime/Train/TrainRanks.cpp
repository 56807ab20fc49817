#include "runtime/Train/TrainRanks.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"

namespace sinter::runtime {

TrainRanks::TrainRanks(Communicator *communicator, const Executable &executable)
    : communicator(communicator) {
  if (!communicator)
    return;
  all = makeWholeGroup(*communicator);
  // What was compiled for another number of ranks will be refused.
  if (countRanks(executable.getRoot()) != all.size() || !executable.getRoot().grid())
    return;
  uint32_t index = 0;
  for (const fb::GridAxis *axis : *executable.getRoot().grid()) {
    if (axis->name()->string_view() == "data")
      data = findGroup(executable.getRoot(), std::span(&index, 1), communicator->getRank());
    if (axis->name()->string_view() == kPipelineAxis)
      pipeline = findGroup(executable.getRoot(), std::span(&index, 1), communicator->getRank());
    ++index;
  }
}

Expected<std::vector<std::byte>> TrainRanks::gatherOf(const std::vector<size_t> &members,
                                                      std::span<const std::byte> own) const {
  auto found = std::ranges::find(members, getRank());
  if (found == members.end())
    return std::vector<std::byte>();
  return gather(RankGroup{members, static_cast<size_t>(found - members.begin())}, own);
}

Expected<std::vector<std::string>> TrainRanks::gatherTexts(const std::string &own) const {
  SINTER_TRY(std::vector<uint64_t> sizes, gatherAll<uint64_t>(own.size()));
  uint64_t most = *std::ranges::max_element(sizes);
  std::string padded = own;
  padded.resize(most);
  SINTER_TRY(std::vector<char> texts, gather(all, std::span<const char>(padded)));
  std::vector<std::string> result;
  for (size_t i = 0; i < sizes.size(); ++i)
    result.emplace_back(texts.data() + i * most, sizes[i]);
  return result;
}

Expected<void> TrainRanks::agree(Expected<void> own) const {
  if (size() == 1)
    return own;
  SINTER_TRY(std::vector<uint8_t> failed, gatherAll<uint8_t>(!own));
  auto first = static_cast<size_t>(std::ranges::find(failed, 1) - failed.begin());
  if (first == failed.size())
    return {};
  SINTER_TRY(std::vector<std::string> messages,
             gatherTexts(own ? std::string() : own.error().message()));
  if (first == getRank())
    return own;
  return fail("rank " + std::to_string(first), messages[first], "");
}

} // namespace sinter::runtime
