#include "runtime/Format/KernelMarks.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <xxhash.h>

namespace sinter::runtime {

uint64_t KernelLaunch::getFingerprint() const {
  std::vector<uint64_t> words = {
      XXH3_64bits(name.data(), name.size()), grid, block, sharedBytes, waits, sliceBytes.size()};
  words.insert(words.end(), sliceBytes.begin(), sliceBytes.end());
  for (fb::DType dtype : outputs)
    words.push_back(static_cast<uint64_t>(dtype));
  return std::max<uint64_t>(XXH3_64bits(words.data(), words.size() * sizeof(uint64_t)), 1);
}

KernelLaunch describeLaunch(const fb::Kernel &kernel, const fb::Launch &launch) {
  KernelLaunch result{kernel.name()->string_view(),
                      launch.grid(),
                      kernel.block(),
                      kernel.shared_bytes(),
                      kernel.waits(),
                      {},
                      {}};
  if (launch.slices())
    for (const fb::Slice *slice : *launch.slices())
      result.sliceBytes.push_back(slice->bytes());
  if (launch.outputs())
    for (flatbuffers::uoffset_t i = 0; i < launch.outputs()->size(); ++i)
      result.outputs.push_back(launch.outputs()->Get(i));
  return result;
}

void markEntry(std::span<std::byte> image, uint64_t entry, uint64_t fingerprint) {
  assert(entry >= kernelMarkBytes && entry <= image.size());
  std::memcpy(image.data() + entry - kernelMarkBytes, &fingerprint, kernelMarkBytes);
}

std::optional<uint64_t> readMark(std::span<const uint8_t> image, uint64_t entry) {
  if (entry < kernelMarkBytes || entry >= image.size())
    return std::nullopt;
  uint64_t mark;
  std::memcpy(&mark, image.data() + entry - kernelMarkBytes, kernelMarkBytes);
  return mark;
}

void sealImage(std::vector<std::byte> &image) {
  uint64_t hash = XXH3_64bits(image.data(), image.size());
  image.resize(image.size() + kernelMarkBytes);
  std::memcpy(image.data() + image.size() - kernelMarkBytes, &hash, kernelMarkBytes);
}

bool isSealed(std::span<const uint8_t> image) {
  if (image.size() < kernelMarkBytes)
    return false;
  uint64_t hash;
  size_t size = image.size() - kernelMarkBytes;
  std::memcpy(&hash, image.data() + size, kernelMarkBytes);
  return hash == XXH3_64bits(image.data(), size);
}

} // namespace sinter::runtime
