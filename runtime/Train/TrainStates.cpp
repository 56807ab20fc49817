#include "runtime/Train/TrainStates.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Device/FiniteChecks.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/GradientTree.h"
#include "runtime/Weights/RandomWeights.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace sinter::runtime {
namespace {

// "gradient.w", and "gradient0.w" of a buffer that a carry empties; "gradient_sum.w" of what ranks
// have added up; "amax.w" of what a step has met so far; "copy3.w" of a parameter that stage 3 of a
// pipeline reads and another one has.
bool isPassing(std::string_view state) {
  if (state.starts_with(kGradientSum) || state.starts_with(kStepAmax))
    return true;
  return std::ranges::any_of(std::array<std::string_view, 2>{"gradient", "copy"}, [&](auto prefix) {
    size_t end = state.find_first_not_of("0123456789", prefix.size());
    return state.starts_with(prefix) && end != std::string_view::npos && state[end] == '.';
  });
}

// Whether a rank is one of those that have a state.
bool holds(const fb::Executable &executable, const fb::Binding &state, size_t rank) {
  return countStages(executable) == 0 ||
         placeOfStage(executable, state.stage()) == findPlace(executable, kPipelineAxis, rank);
}

using CheckpointTensors = std::map<std::string_view, const fb::CheckpointTensor *>;

CheckpointTensors parametersOf(const Executable &executable) {
  CheckpointTensors parameters;
  if (executable.getRoot().checkpoint())
    for (const fb::CheckpointTensor *tensor : *executable.getRoot().checkpoint())
      parameters[tensor->name()->string_view()] = tensor;
  return parameters;
}

std::vector<int64_t> extentsOf(const flatbuffers::Vector<int64_t> *extents) {
  if (!extents)
    return {};
  return {extents->begin(), extents->end()};
}

// The shape of all of a state, which may be a box of a tensor.
std::vector<int64_t> wholeOf(const fb::Binding &state) {
  return extentsOf(state.whole() ? state.whole() : state.shape());
}

// Where the part of a rank begins in the state.
std::vector<int64_t> offsetOf(const fb::Executable &executable, const fb::Binding &state,
                              size_t rank) {
  std::vector<int64_t> offset = extentsOf(state.shape());
  for (uint32_t dim = 0; dim < offset.size(); ++dim) {
    int64_t place = 0;
    const auto *axes = state.sharding() ? state.sharding()->Get(dim)->axes() : nullptr;
    if (axes)
      for (uint32_t index : *axes) {
        const fb::GridAxis &axis = *executable.grid()->Get(index);
        place = place * static_cast<int64_t>(axis.size()) +
                static_cast<int64_t>(findPlace(executable, axis.name()->string_view(), rank));
      }
    offset[dim] *= place;
  }
  return offset;
}

// What of a tensor a state is, at an offset in the state.
BoxToWrite boxOf(const fb::Binding &state, std::vector<int64_t> offset) {
  TensorToWrite tensor{
      state.name()->str(), static_cast<DType>(state.dtype()), extentsOf(state.shape()), {}};
  const fb::Box *box = state.box();
  if (!box)
    return {tensor, tensor.name, wholeOf(state), std::move(offset)};
  for (uint32_t dim = 0; dim < offset.size(); ++dim)
    offset[dim] += box->offset()->Get(dim);
  return {std::move(tensor), box->tensor()->str(), extentsOf(box->shape()), std::move(offset)};
}

// The ranks that write the parts of a state, one for each; adds to what each of them has to.
std::vector<std::pair<size_t, std::vector<int64_t>>> chooseWriters(const fb::Executable &executable,
                                                                   const fb::Binding &state,
                                                                   std::vector<uint64_t> &bytesOf) {
  std::map<std::vector<int64_t>, size_t> writerOf;
  for (size_t rank = 0; rank < bytesOf.size(); ++rank) {
    if (!holds(executable, state, rank))
      continue;
    size_t &writer = writerOf.try_emplace(offsetOf(executable, state, rank), rank).first->second;
    if (bytesOf[rank] < bytesOf[writer])
      writer = rank;
  }
  TensorBox whole = makeWholeBox(wholeOf(state));
  std::vector<std::pair<size_t, std::vector<int64_t>>> writers;
  for (const auto &[offset, rank] : writerOf) {
    // Where parts do not divide evenly, the last ones are padding alone.
    if (writerOf.size() > 1 && !intersect(whole, {offset, extentsOf(state.shape())}))
      continue;
    bytesOf[rank] += state.slice()->bytes();
    writers.emplace_back(rank, boxOf(state, offset).offset);
  }
  return writers;
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
                "is " + describeTensor(nameOf(stored->dtype), stored->shape) +
                    " in the weights, the model has " + describeTensor("F32", parameter.shape),
                "give the weights of this model");
  convert(*stored, out);
  weights.release(parameter.name);
  return {};
}

} // namespace

std::vector<HeldState> describeStates(const Executable &executable, size_t rank) {
  CheckpointTensors parameters = parametersOf(executable);
  const fb::Executable &root = executable.getRoot();
  std::vector<HeldState> states;
  if (!root.states())
    return states;
  std::vector<uint64_t> bytesOf(countRanks(root));
  for (const fb::Binding *state : *root.states()) {
    if (isPassing(state->name()->string_view()))
      continue;
    HeldState &held = states.emplace_back();
    held.part = boxOf(*state, offsetOf(root, *state, rank));
    held.parameter = parameters.contains(held.part.of);
    held.held = holds(root, *state, rank);
    held.writers = chooseWriters(root, *state, bytesOf);
    held.written =
        std::ranges::any_of(held.writers, [&](const auto &writer) { return writer.first == rank; });
  }
  return states;
}

std::vector<SnapshotFile> describeFiles(const Executable &executable,
                                        std::span<const HeldState> states, size_t rank) {
  size_t ranks = countRanks(executable.getRoot());
  std::vector<SnapshotFile> files;
  for (bool parameters : {true, false}) {
    std::vector<BoxToWrite> boxes;
    for (const HeldState &state : states)
      if (state.parameter == parameters && state.written)
        boxes.push_back(state.part);
    if (rank == 0 || !boxes.empty())
      files.push_back(makeBoxFile(parameters ? modelFile : optimizerFile, boxes, rank, ranks));
  }
  return files;
}

Expected<TrainStates> TrainStates::find(Session &session, size_t rank) {
  const Executable &executable = session.getExecutable();
  TrainStates states;
  states.session = &session;
  states.states = describeStates(executable, rank);
  for (HeldState &state : states.states) {
    TensorToWrite &tensor = state.part.tensor;
    if (!state.held)
      continue;
    SINTER_TRY(TensorView view, session.state(tensor.name));
    tensor.data = view.bytes;
  }
  states.written = describeFiles(executable, states.states, rank);
  for (const auto &[name, tensor] : parametersOf(executable)) {
    auto found = std::ranges::find(states.states, name,
                                   [](const HeldState &state) { return state.part.of; });
    if (found == states.states.end() || found->part.tensor.dtype != DType::F32 ||
        tensor->dtype() != fb::DType::F32 || found->part.whole != extentsOf(tensor->shape()))
      return fail(executable.getName(),
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

// Writes the rank's part of all of a tensor.
Expected<void> TrainStates::fillPart(const HeldState &state, std::span<const std::byte> whole) {
  TensorBox all = makeWholeBox(state.part.whole);
  return fill(state.part.tensor, [&](std::span<std::byte> out) -> Expected<void> {
    if (std::optional<TensorBox> own = intersect(all, state.getBox()))
      copyBox(*own, all, whole, state.getBox(), out, sizeOf(state.part.tensor.dtype));
    return {};
  });
}

Expected<void> TrainStates::initialize(const WeightSource *weights, uint64_t seed) {
  SINTER_CHECK(session->clearState());
  CheckpointTensors table = parametersOf(session->getExecutable());
  std::string filled; // the tensor that `bytes` are all of: its parts are states one after another
  std::vector<std::byte> bytes;
  for (const HeldState &state : states) {
    if (!state.parameter || !state.held)
      continue;
    TensorToWrite all{state.part.of, state.part.tensor.dtype, state.part.whole, {}};
    auto fillAll = [&](std::span<std::byte> out) -> Expected<void> {
      if (weights)
        return copyWeight(all, *weights, out);
      const fb::CheckpointTensor &tensor = *table.at(all.name);
      fillRandomWeight(session->getPool(), out, all.dtype, {tensor.mean(), tensor.deviation()},
                       all.name, seed);
      return {};
    };
    if (!state.isSplit()) {
      SINTER_CHECK(fill(state.part.tensor, fillAll));
      continue;
    }
    if (filled != all.name) {
      bytes.resize(byteSizeOf(all));
      SINTER_CHECK(fillAll(bytes));
      filled = all.name;
    }
    SINTER_CHECK(fillPart(state, bytes));
  }
  return {};
}

Expected<void> TrainStates::load(const std::filesystem::path &checkpoint) {
  SINTER_CHECK(session->clearState());
  SINTER_TRY(BoxFiles parameterFiles, BoxFiles::open(checkpoint, modelFile));
  SINTER_TRY(BoxFiles optimizerFiles, BoxFiles::open(checkpoint, optimizerFile));
  for (const HeldState &state : states) {
    const TensorToWrite &tensor = state.part.tensor;
    BoxFiles &files = state.parameter ? parameterFiles : optimizerFiles;
    if (!state.held) {
      // It has to be there, for the ranks that have it.
      SINTER_CHECK(files.read(state.part.of, tensor.dtype, state.part.whole, state.getBox(), {}));
      continue;
    }
    SINTER_CHECK(fill(tensor, [&](std::span<std::byte> out) {
      return files.read(state.part.of, tensor.dtype, state.part.whole, state.getBox(), out);
    }));
  }
  SINTER_CHECK(parameterFiles.checkAllRead());
  return optimizerFiles.checkAllRead();
}

TensorReader TrainStates::reader() const {
  return [from = session](std::span<const TensorCopy> tensors) {
    std::vector<Session::StateCopy> copies;
    for (const TensorCopy &tensor : tensors)
      copies.push_back({tensor.name, tensor.out});
    return from->beginCopies(copies);
  };
}

// All of a parameter, of which `parts` are all, on the first rank: its own memory, or `memory`.
Expected<std::span<const std::byte>> TrainStates::gather(std::span<const HeldState *const> parts,
                                                         const TrainRanks &ranks,
                                                         std::vector<std::byte> &memory) const {
  TensorBox all = makeWholeBox(parts.front()->part.whole);
  std::vector<std::byte> copy;
  for (const HeldState *state : parts) {
    const TensorToWrite &tensor = state->part.tensor;
    std::span<const std::byte> own = tensor.data;
    if (!state->held || !inHostMemory()) {
      copy.resize(byteSizeOf(tensor)); // where it is not held, as large as what others have
      if (state->held)
        SINTER_CHECK(session->readState(tensor.name, copy));
      own = copy;
    }
    if (!state->isSplit() && state->writers.front().first == 0) {
      if (own.data() != copy.data())
        return own;
      memory = std::move(copy);
      return std::span<const std::byte>(memory);
    }
    std::vector<size_t> members = {0};
    for (const auto &[rank, offset] : state->writers)
      if (rank != 0)
        members.push_back(rank);
    SINTER_TRY(std::vector<std::byte> gathered, ranks.gatherOf(members, own));
    if (!ranks.isFirst())
      continue;
    memory.resize(all.getElements() * sizeOf(tensor.dtype));
    for (const auto &[rank, offset] : state->writers) {
      TensorBox box{offset, tensor.shape};
      size_t place = static_cast<size_t>(std::ranges::find(members, rank) - members.begin());
      copyBox(*intersect(all, box), box,
              std::span(gathered).subspan(place * own.size(), own.size()), all, memory,
              sizeOf(tensor.dtype));
    }
  }
  return std::span<const std::byte>(memory);
}

Expected<void> TrainStates::writeModel(const std::string &path, const TrainRanks &ranks) const {
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::vector<const HeldState *>> byName;
  for (const HeldState &state : states) {
    if (!state.parameter)
      continue;
    std::vector<const HeldState *> &parts = byName[state.part.of];
    if (parts.empty())
      tensors.push_back({state.part.of, state.part.tensor.dtype, state.part.whole, {}});
    parts.push_back(&state);
  }
  SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(tensors, {{"format", "pt"}}, path));
  std::vector<std::byte> memory;
  size_t next = 0; // whatever becomes of the file, the ranks gather as many parameters
  auto makePart = [&](size_t i) -> Expected<std::span<const std::byte>> {
    if (i == 0)
      return std::as_bytes(std::span(layout.head));
    next = i;
    return gather(byName.at(layout.order[i - 1]->name), ranks, memory);
  };
  Expected<void> written;
  if (ranks.isFirst())
    written = writeFileAtomically(path, layout.order.size() + 1, makePart);
  while (next < layout.order.size())
    if (auto part = makePart(next + 1); !part)
      return tl::unexpected(std::move(part).error());
  return ranks.agree(std::move(written));
}

Expected<std::optional<std::string>> TrainStates::findNonFiniteParameter() const {
  for (const HeldState &state : states) {
    if (!state.parameter || !state.held)
      continue;
    const TensorToWrite &parameter = state.part.tensor;
    std::span<const std::byte> bytes = parameter.data;
    std::vector<std::byte> copy;
    if (!inHostMemory()) {
      copy.resize(byteSizeOf(parameter));
      SINTER_CHECK(session->readState(parameter.name, copy));
      bytes = copy;
    }
    if (findNonFinite(bytes, fb::DType::F32))
      return std::optional(state.part.of);
  }
  return std::optional<std::string>();
}

} // namespace sinter::runtime
