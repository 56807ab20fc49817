#include "runtime/Exec/Checkpoint.h"
#include "runtime/Exec/Actions.h"
#include "runtime/Exec/FiniteChecks.h"
#include "runtime/Exec/RandomWeights.h"
#include <algorithm>
#include <map>
#include <set>
#include <sys/mman.h>

namespace sinter::runtime {
namespace {

constexpr uint64_t pageBytes = 4096;

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

} // namespace

Expected<Checkpoint> Checkpoint::open(const Executable &executable, const WeightSource *weights,
                                      uint64_t seed) {
  Checkpoint result;
  result.executable = &executable;
  result.weights = weights;
  result.seed = seed;
  const auto *tensors = executable.root().checkpoint();
  size_t count = tensors ? tensors->size() : 0;
  std::vector<uint64_t> offsets;
  uint64_t randomBytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const fb::CheckpointTensor &tensor = *tensors->Get(static_cast<flatbuffers::uoffset_t>(i));
    uint64_t bytes = bytesOf(tensor);
    result.total += bytes;
    DType dtype = static_cast<DType>(tensor.dtype());
    if (!weights) {
      if (dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16)
        return fail("tensor '" + tensor.name()->str() + "'",
                    "there are no random weights of type " + std::string(nameOf(dtype)),
                    "give the model's weights");
      // Each begins on a page of its own, so that it can be given back alone.
      offsets.push_back(randomBytes);
      randomBytes += (bytes + pageBytes - 1) / pageBytes * pageBytes;
      continue;
    }
    std::optional<StoredTensor> stored = weights->find(tensor.name()->string_view());
    if (!stored)
      return fail("tensor '" + tensor.name()->str() + "'", "is missing from the weights",
                  "give the weights that the model was compiled for");
    if (stored->dtype != dtype || stored->shape != shapeOf(tensor) || stored->data.size() != bytes)
      return fail("tensor '" + tensor.name()->str() + "'",
                  "is " + describe(stored->dtype, stored->shape) +
                      " in the weights, the executable was compiled for " +
                      describe(dtype, shapeOf(tensor)),
                  "compile the model again with these weights");
    result.data.push_back(stored->data);
  }
  if (!weights) {
    SINTER_TRY(result.random, Region::allocate(randomBytes, "random weights"));
    for (size_t i = 0; i < count; ++i)
      result.data.emplace_back(result.random.data() + offsets[i],
                               bytesOf(*tensors->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  if (const fb::Program *prepare = executable.program("prepare"))
    result.findUses(*prepare);
  return result;
}

void Checkpoint::findUses(const fb::Program &program) {
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

uint64_t Checkpoint::randomBytes(const Executable &executable) {
  const fb::Program *prepare = executable.program("prepare");
  if (!prepare)
    return 0;
  Checkpoint uses;
  uses.findUses(*prepare);
  auto bytes = [&](uint32_t tensor) {
    return bytesOf(*executable.root().checkpoint()->Get(tensor));
  };
  uint64_t there = 0, most = 0;
  std::set<uint64_t> made; // by offset
  for (size_t i = 0; i < uses.begins.size(); ++i) {
    for (uint32_t tensor : uses.begins[i])
      there += bytes(tensor);
    forEachSlice(*prepare->commands()->Get(static_cast<flatbuffers::uoffset_t>(i)),
                 [&](const fb::Slice &slice) {
                   if (slice.space() == fb::Space::Parameter && made.insert(slice.offset()).second)
                     there += slice.bytes();
                 });
    most = std::max(most, there);
    for (uint32_t tensor : uses.ends[i])
      there -= bytes(tensor);
  }
  return most - std::min(most, executable.root().parameter_bytes());
}

Expected<void> Checkpoint::beforeCommand(ThreadPool &pool, size_t command) {
  for (uint32_t index : begins[command]) {
    const fb::CheckpointTensor &tensor = *executable->root().checkpoint()->Get(index);
    if (!weights)
      fillRandomWeight(pool, {address(index), extents[index]}, static_cast<DType>(tensor.dtype()),
                       {tensor.mean(), tensor.deviation()}, tensor.name()->string_view(), seed);
    else if (findNonFinite(pool, data[index], tensor.dtype()))
      return tl::unexpected(describeNonFinite(pool));
  }
  return {};
}

// The tensors are in the model's order.
Error Checkpoint::describeNonFinite(ThreadPool &pool) const {
  std::string first, value;
  size_t others = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    const auto &tensor =
        *executable->root().checkpoint()->Get(static_cast<flatbuffers::uoffset_t>(i));
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

void Checkpoint::afterCommand(size_t command) {
  for (uint32_t index : ends[command])
    if (weights)
      weights->release(executable->root().checkpoint()->Get(index)->name()->string_view());
    else if (!data[index].empty())
      ::madvise(address(index), data[index].size(), MADV_DONTNEED);
}

} // namespace sinter::runtime
