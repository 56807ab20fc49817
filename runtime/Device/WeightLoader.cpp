#include "runtime/Device/WeightLoader.h"
#include "runtime/Base/MappedFile.h"
#include "runtime/Device/FiniteChecks.h"
#include "runtime/Format/Actions.h"
#include "runtime/Weights/RandomWeights.h"
#include <algorithm>
#include <map>
#include <set>
#include <sys/mman.h>

namespace sinter::runtime {
namespace {

std::vector<int64_t> shapeOf(const fb::CheckpointTensor &tensor) {
  if (!tensor.shape())
    return {};
  return {tensor.shape()->begin(), tensor.shape()->end()};
}

std::string describe(DType dtype, const std::vector<int64_t> &shape) {
  std::string text(nameOf(dtype));
  text += " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

uint64_t bytesOf(const fb::CheckpointTensor &tensor) {
  uint64_t bytes = sizeOf(static_cast<DType>(tensor.dtype()));
  for (int64_t extent : shapeOf(tensor))
    bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

// The tensor in the weights, of the executable's type and shape.
Expected<StoredTensor> findStored(const WeightSource &weights, const fb::CheckpointTensor &tensor) {
  DType dtype = static_cast<DType>(tensor.dtype());
  std::optional<StoredTensor> stored = weights.find(tensor.name()->string_view());
  if (!stored)
    return fail("tensor '" + tensor.name()->str() + "'", "is missing from the weights",
                "give the weights that the model was compiled for");
  bool whole = stored->decoder || stored->data.size() == bytesOf(tensor);
  if (stored->dtype != dtype || stored->shape != shapeOf(tensor) || !whole)
    return fail("tensor '" + tensor.name()->str() + "'",
                "is " + describe(stored->dtype, stored->shape) +
                    " in the weights, the executable was compiled for " +
                    describe(dtype, shapeOf(tensor)),
                "compile the model again with these weights");
  return *stored;
}

} // namespace

Expected<WeightLoader> WeightLoader::open(const Executable &executable,
                                          const fb::Program &preprocess,
                                          const WeightSource *weights, uint64_t seed) {
  WeightLoader result;
  result.executable = &executable;
  result.weights = weights;
  result.seed = seed;
  const auto *tensors = executable.getRoot().checkpoint();
  size_t count = tensors ? tensors->size() : 0;
  std::map<uint32_t, uint64_t> bytesOfMade;
  for (uint32_t i = 0; i < count; ++i) {
    const fb::CheckpointTensor &tensor = *tensors->Get(i);
    uint64_t bytes = bytesOf(tensor);
    result.total += bytes;
    DType dtype = static_cast<DType>(tensor.dtype());
    std::optional<StoredTensor> stored;
    if (weights) {
      SINTER_TRY(stored, findStored(*weights, tensor));
      result.decoders.push_back(stored->decoder);
      result.files.push_back(stored->data);
    } else if (dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16) {
      return fail("tensor '" + tensor.name()->str() + "'",
                  "there are no random weights of type " + std::string(nameOf(dtype)),
                  "give the model's weights");
    }
    bool isMade = !stored || stored->decoder;
    result.data.push_back(isMade ? std::span<const std::byte>() : stored->data);
    if (isMade && bytes != 0)
      bytesOfMade[i] = bytes;
  }
  result.findUses(preprocess);
  result.placement = result.placeMade(bytesOfMade);
  if (result.placement.bytes != 0) {
    SINTER_TRY(result.made, Region::allocate(result.placement.bytes, "weights on their way"));
    for (auto [tensor, offset] : result.placement.offsets)
      result.data[tensor] = {result.made.data() + offset, bytesOfMade.at(tensor)};
  }
  return result;
}

void WeightLoader::findUses(const fb::Program &program) {
  size_t commands = program.commands() ? program.commands()->size() : 0;
  begins.resize(commands);
  ends.resize(commands);
  std::map<uint32_t, size_t> last;
  for (size_t i = 0; i < commands; ++i)
    forEachSlice(*program.commands()->Get(static_cast<flatbuffers::uoffset_t>(i)),
                 [&](const fb::Slice &slice) {
                   if (slice.space() != fb::Space::Checkpoint)
                     return;
                   if (!last.contains(slice.index()))
                     begins[i].push_back(slice.index());
                   last[slice.index()] = i;
                   uint64_t &extent = extents[slice.index()];
                   extent = std::max(extent, slice.offset() + slice.bytes());
                 });
  for (auto [tensor, command] : last)
    ends[command].push_back(tensor);
}

uint64_t WeightLoader::madeBytes(const Executable &executable, const fb::Program *preprocess,
                                 const WeightSource *weights) {
  if (!preprocess)
    return 0;
  WeightLoader uses;
  uses.findUses(*preprocess);
  auto bytes = [&](uint32_t index) -> uint64_t {
    const fb::CheckpointTensor &tensor = *executable.getRoot().checkpoint()->Get(index);
    if (weights) {
      std::optional<StoredTensor> stored = weights->find(tensor.name()->string_view());
      if (!stored || !stored->decoder)
        return 0;
    }
    return bytesOf(tensor);
  };
  std::map<uint32_t, uint64_t> bytesOfMade;
  for (auto [tensor, extent] : uses.extents)
    if (uint64_t made = bytes(tensor))
      bytesOfMade[tensor] = made;
  Placement placement = uses.placeMade(bytesOfMade);
  uint64_t parameters = 0, touched = 0, most = 0;
  std::set<uint64_t> made; // by offset
  for (size_t i = 0; i < uses.begins.size(); ++i) {
    for (uint32_t tensor : uses.begins[i])
      if (auto at = placement.offsets.find(tensor); at != placement.offsets.end())
        touched = std::max(touched, at->second + bytesOfMade[tensor]);
    forEachSlice(*preprocess->commands()->Get(static_cast<flatbuffers::uoffset_t>(i)),
                 [&](const fb::Slice &slice) {
                   if (slice.space() == fb::Space::Parameter && made.insert(slice.offset()).second)
                     parameters += slice.bytes();
                 });
    uint64_t pages = std::min(roundUp(touched, kLargePage), placement.bytes);
    most = std::max(most, parameters + pages);
    if (i + 1 < uses.begins.size())
      touched = std::min(touched, placement.needed[i + 1]);
  }
  return most - std::min(most, executable.getRoot().parameter_bytes());
}

// The first gap that is wide enough, in the order of use.
WeightLoader::Placement WeightLoader::placeMade(const std::map<uint32_t, uint64_t> &bytes) const {
  Placement result;
  result.needed.resize(begins.size());
  std::map<uint64_t, uint64_t> taken; // offset to end
  for (size_t i = 0; i < begins.size(); ++i) {
    for (uint32_t tensor : begins[i]) {
      auto size = bytes.find(tensor);
      if (size == bytes.end())
        continue;
      uint64_t offset = 0;
      for (auto [begin, end] : taken) {
        if (offset + size->second <= begin)
          break;
        offset = roundUp(end, kSmallPage);
      }
      taken[offset] = offset + size->second;
      result.offsets[tensor] = offset;
      result.bytes = std::max(result.bytes, offset + size->second);
    }
    for (auto [begin, end] : taken)
      result.needed[i] = std::max(result.needed[i], end);
    for (uint32_t tensor : ends[i])
      if (auto placed = result.offsets.find(tensor); placed != result.offsets.end())
        taken.erase(placed->second);
  }
  for (size_t i = result.needed.size(); i-- > 1;)
    result.needed[i - 1] = std::max(result.needed[i - 1], result.needed[i]);
  return result;
}

void WeightLoader::make(ThreadPool &pool, uint32_t index) {
  const fb::CheckpointTensor &tensor = *executable->getRoot().checkpoint()->Get(index);
  if (!weights)
    return fillRandomWeight(pool, {address(index), extents[index]},
                            static_cast<DType>(tensor.dtype()), {tensor.mean(), tensor.deviation()},
                            tensor.name()->string_view(), seed);
  const TensorDecoder &decoder = decoders[index];
  pool.run(decoder.items, pool.balancedChunk(decoder.items),
           [&](uint64_t begin, uint64_t end) { decoder.decode(begin, end, address(index)); });
}

/// Keeps the disk at work while tensors are decoded and packed: what the next commands read is
/// asked for, as far as some tens of milliseconds of a fast disk.
void WeightLoader::readAhead(size_t command) {
  constexpr uint64_t most = 128 << 20;
  auto bytesAt = [&](size_t at) {
    uint64_t bytes = 0;
    for (uint32_t tensor : begins[at])
      bytes += files[tensor].size();
    return bytes;
  };
  for (; ahead < begins.size() && (ahead <= command || aheadBytes < most); ++ahead) {
    for (uint32_t tensor : begins[ahead])
      MappedFile::readAhead(files[tensor]);
    aheadBytes += bytesAt(ahead);
  }
  aheadBytes -= bytesAt(command);
}

Expected<void> WeightLoader::beforeCommand(ThreadPool &pool, size_t command) {
  if (weights)
    readAhead(command);
  for (uint32_t index : begins[command]) {
    if (isMade(index))
      make(pool, index);
    if (weights &&
        findNonFinite(pool, data[index], executable->getRoot().checkpoint()->Get(index)->dtype()))
      return tl::unexpected(describeNonFinite(pool));
  }
  return {};
}

// The tensors are in the model's order. Those that are made may overwrite each other: no command
// runs after this.
Error WeightLoader::describeNonFinite(ThreadPool &pool) {
  std::string first, value;
  size_t others = 0;
  for (uint32_t i = 0; i < data.size(); ++i) {
    if (data[i].empty()) // made, but not for these commands
      continue;
    if (isMade(i))
      make(pool, i);
    const fb::CheckpointTensor &tensor = *executable->getRoot().checkpoint()->Get(i);
    std::optional<NonFiniteKind> kind = findNonFinite(pool, data[i], tensor.dtype());
    if (kind && first.empty()) {
      first = tensor.name()->str();
      value = nameOf(*kind);
    } else if (kind) {
      ++others;
    }
  }
  return {"tensor '" + first + "'",
          "it holds " + value +
              (others == 0 ? "" : ", and so do " + std::to_string(others) + " others"),
          "these weights are damaged: take others"};
}

void WeightLoader::afterCommand(size_t command) {
  if (weights)
    for (uint32_t index : ends[command])
      weights->release(executable->getRoot().checkpoint()->Get(index)->name()->string_view());
  // What no later command uses is given back; the rest keeps its pages for the tensors that follow.
  uint64_t kept = command + 1 < placement.needed.size() ? placement.needed[command + 1] : 0;
  uint64_t from = roundUp(kept, kLargePage);
  if (placement.needed[command] > kept && from < placement.bytes)
    ::madvise(made.data() + from, placement.bytes - from, MADV_DONTNEED);
}

} // namespace sinter::runtime
