#include "runtime/Device/Cuda/UploadPlan.h"
#include "runtime/Format/Actions.h"
#include <algorithm>
#include <map>

namespace sinter::runtime::cuda {
namespace {

uint64_t bytesOf(const fb::CheckpointTensor &tensor) {
  uint64_t bytes = sizeOf(static_cast<DType>(tensor.dtype()));
  if (tensor.shape())
    for (int64_t extent : *tensor.shape())
      bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

} // namespace

const fb::Slice *copiedFromCheckpoint(const fb::Command &command) {
  const fb::Copy *copy = command.action_as_Copy();
  return copy && copy->source()->space() == fb::Space::Checkpoint ? copy->source() : nullptr;
}

UploadPlan UploadPlan::of(const Executable &executable, const fb::Program *preprocess) {
  UploadPlan plan;
  if (!preprocess || !preprocess->commands())
    return plan;
  flatbuffers::uoffset_t count = preprocess->commands()->size();
  plan.begins.resize(count);
  plan.ends.resize(count);
  std::map<uint32_t, size_t> last;
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    const fb::Command &command = *preprocess->commands()->Get(i);
    if (!copiedFromCheckpoint(command))
      forEachSlice(command, [&](const fb::Slice &slice) {
        if (slice.space() == fb::Space::Checkpoint && !last.contains(slice.index()))
          plan.begins[i].push_back(slice.index());
        if (slice.space() == fb::Space::Checkpoint)
          last[slice.index()] = i;
      });
  }
  for (auto [tensor, command] : last)
    plan.ends[command].push_back(tensor);
  uint64_t there = 0;
  auto bytes = [&](uint32_t tensor) {
    return bytesOf(*executable.getRoot().checkpoint()->Get(tensor));
  };
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    for (uint32_t tensor : plan.begins[i])
      there += bytes(tensor);
    plan.peakBytes = std::max(plan.peakBytes, there);
    for (uint32_t tensor : plan.ends[i])
      there -= bytes(tensor);
  }
  return plan;
}

} // namespace sinter::runtime::cuda
