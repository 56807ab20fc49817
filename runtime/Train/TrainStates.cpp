#include "runtime/Train/TrainStates.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/MappedFile.h"
#include "runtime/Device/FiniteChecks.h"
#include "runtime/Weights/RandomWeights.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace sinter::runtime {
namespace {

constexpr std::string_view gradientPrefix = "gradient.";

using CheckpointTensors = std::map<std::string_view, const fb::CheckpointTensor *>;

CheckpointTensors parametersOf(const Executable &executable) {
  CheckpointTensors parameters;
  if (executable.root().checkpoint())
    for (const fb::CheckpointTensor *tensor : *executable.root().checkpoint())
      parameters[tensor->name()->string_view()] = tensor;
  return parameters;
}

template <typename Table> std::vector<int64_t> shapeOf(const Table &table) {
  if (!table.shape())
    return {};
  return {table.shape()->begin(), table.shape()->end()};
}

std::string describe(std::string_view dtype, const std::vector<int64_t> &shape) {
  std::string text = std::string(dtype) + " [";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// The elements of `source` as f32.
void convert(const StoredTensor &source, std::span<std::byte> out) {
  if (source.decoder)
    return source.decoder.decode(0, source.decoder.items, out.data());
  if (source.dtype == DType::F32) {
    std::memcpy(out.data(), source.data.data(), out.size());
    return;
  }
  for (size_t i = 0; i < out.size() / sizeof(float); ++i) {
    uint16_t bits;
    std::memcpy(&bits, source.data.data() + i * sizeof bits, sizeof bits);
    float value = source.dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
}

Expected<void> copyWeight(const TensorToWrite &parameter, const WeightSource &weights,
                          std::span<std::byte> out) {
  std::string what = "tensor '" + parameter.name + "'";
  std::optional<StoredTensor> stored = weights.find(parameter.name);
  if (!stored)
    return fail(what, "is missing from the weights", "give the weights of this model");
  bool known =
      stored->dtype == DType::F32 || stored->dtype == DType::BF16 || stored->dtype == DType::F16;
  uint64_t bytes = out.size() / sizeof(float) * sizeOf(stored->dtype);
  bool whole = stored->decoder ? stored->dtype == DType::F32 : stored->data.size() == bytes;
  if (!known || stored->shape != parameter.shape || !whole)
    return fail(what,
                "is " + describe(nameOf(stored->dtype), stored->shape) +
                    " in the weights, the model has " + describe("F32", parameter.shape),
                "give the weights of this model");
  convert(*stored, out);
  weights.release(parameter.name);
  return {};
}

// Hands the tensors of one file to `take`.
Expected<void> loadFile(
    const std::filesystem::path &path, std::span<const TensorToWrite> tensors,
    const std::function<Expected<void>(const TensorToWrite &, std::span<const std::byte>)> &take) {
  constexpr const char *remedy = "resume with the model and optimizer that the run began with";
  SINTER_TRY(MappedFile file, MappedFile::open(path));
  SINTER_TRY(std::vector<Tensor> stored, readSafetensors(file.bytes(), path.string()));
  std::map<std::string_view, const Tensor *> byName;
  for (const Tensor &tensor : stored)
    byName[tensor.name] = &tensor;
  for (const TensorToWrite &tensor : tensors) {
    std::string what = path.string() + ": tensor '" + tensor.name + "'";
    auto found = byName.find(tensor.name);
    if (found == byName.end())
      return fail(what, "is missing", remedy);
    const Tensor &from = *found->second;
    if (from.dtype != tensor.dtype || from.shape != tensor.shape)
      return fail(what,
                  "is " + describe(from.dtypeName, from.shape) + ", this model has " +
                      describe(nameOf(tensor.dtype), tensor.shape),
                  remedy);
    SINTER_CHECK(take(tensor, from.data));
    file.release(from.data);
    byName.erase(found);
  }
  if (!byName.empty())
    return fail(path.string() + ": tensor '" + std::string(byName.begin()->first) + "'",
                "this model and optimizer have no such state", remedy);
  return {};
}

} // namespace

std::vector<SnapshotFile> describeStates(const Executable &executable) {
  CheckpointTensors parameters = parametersOf(executable);
  std::vector<SnapshotFile> files = {{modelFile, {}}, {optimizerFile, {}}};
  if (!executable.root().states())
    return files;
  for (const fb::Binding *state : *executable.root().states()) {
    std::string name = state->name()->str();
    if (name.starts_with(gradientPrefix))
      continue;
    bool parameter = parameters.contains(state->name()->string_view());
    files[parameter ? 0 : 1].tensors.push_back(
        {name, static_cast<DType>(state->dtype()), shapeOf(*state), {}});
  }
  return files;
}

Expected<TrainStates> TrainStates::find(Session &session) {
  const Executable &executable = session.executable();
  TrainStates states;
  states.session = &session;
  states.content = describeStates(executable);
  for (SnapshotFile &file : states.content)
    for (TensorToWrite &tensor : file.tensors) {
      SINTER_TRY(TensorView view, session.state(tensor.name));
      tensor.data = view.bytes;
    }
  for (const auto &[name, tensor] : parametersOf(executable)) {
    auto found = std::find_if(
        states.parameters().begin(), states.parameters().end(),
        [&, wanted = name](const TensorToWrite &state) { return state.name == wanted; });
    if (found == states.parameters().end() || found->dtype != DType::F32 ||
        tensor->dtype() != fb::DType::F32 || found->shape != shapeOf(*tensor))
      return fail(executable.name(),
                  "its parameter '" + std::string(name) + "' is no state of that shape in f32",
                  "compile the model for training");
  }
  return states;
}

// Lets `content` write the state in place, or into memory that is then copied to the device.
Expected<void> TrainStates::fill(const TensorToWrite &state, const Fill &content) {
  if (inHostMemory())
    return content({const_cast<std::byte *>(state.data.data()), state.data.size()});
  std::vector<std::byte> bytes(byteSizeOf(state));
  SINTER_CHECK(content(bytes));
  return session->writeState(state.name, bytes);
}

Expected<void> TrainStates::initialize(const WeightSource *weights, uint64_t seed) {
  SINTER_CHECK(session->clearState());
  CheckpointTensors table = parametersOf(session->executable());
  for (const TensorToWrite &parameter : parameters())
    SINTER_CHECK(fill(parameter, [&](std::span<std::byte> out) -> Expected<void> {
      if (weights)
        return copyWeight(parameter, *weights, out);
      const fb::CheckpointTensor &tensor = *table.at(parameter.name);
      fillRandomWeight(session->pool(), out, parameter.dtype, {tensor.mean(), tensor.deviation()},
                       parameter.name, seed);
      return {};
    }));
  return {};
}

Expected<void> TrainStates::load(const std::filesystem::path &checkpoint) {
  SINTER_CHECK(session->clearState());
  auto take = [&](const TensorToWrite &state, std::span<const std::byte> bytes) {
    return session->writeState(state.name, bytes);
  };
  for (const SnapshotFile &file : content)
    SINTER_CHECK(loadFile(checkpoint / file.name, file.tensors, take));
  return {};
}

TensorReader TrainStates::reader() const {
  return [from = session](std::span<const TensorCopy> tensors) {
    std::vector<Session::StateCopy> copies;
    for (const TensorCopy &tensor : tensors)
      copies.push_back({tensor.name, tensor.out});
    return from->beginCopies(copies);
  };
}

Expected<std::optional<std::string>> TrainStates::findNonFiniteParameter() const {
  for (const TensorToWrite &parameter : parameters()) {
    std::span<const std::byte> bytes = parameter.data;
    std::vector<std::byte> copy;
    if (!inHostMemory()) {
      copy.resize(byteSizeOf(parameter));
      SINTER_CHECK(session->readState(parameter.name, copy));
      bytes = copy;
    }
    if (findNonFinite(bytes, fb::DType::F32))
      return std::optional(parameter.name);
  }
  return std::optional<std::string>();
}

} // namespace sinter::runtime
