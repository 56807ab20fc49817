#include "runtime/Checkpoint/Snapshot.h"
#include "runtime/Weights/SafetensorsLayout.h"
#include <algorithm>
#include <cassert>
#include <cstring>

namespace sinter::runtime {
namespace {

constexpr uint64_t pageBytes = 4096;
constexpr uint64_t bytesPerPiece = uint64_t(1) << 20;

} // namespace

Expected<Snapshot> Snapshot::plan(std::span<const SnapshotFile> files) {
  Snapshot snapshot;
  for (const SnapshotFile &file : files) {
    // transformers reads only files that say which framework they are for.
    std::map<std::string, std::string> metadata = {{"format", "pt"}};
    metadata.insert(file.metadata.begin(), file.metadata.end());
    SINTER_TRY(SafetensorsLayout layout, layOutSafetensors(file.tensors, metadata, file.name));
    uint64_t position = snapshot.total + layout.head.size();
    for (const TensorToWrite *tensor : layout.order) {
      uint64_t bytes = byteSizeOf(*tensor);
      snapshot.pieces.push_back(
          {tensor->name, tensor->data, position, bytes, snapshot.files.size()});
      position += bytes;
    }
    snapshot.files.push_back({file.name, std::move(layout.head), snapshot.total, layout.bytes});
    snapshot.total += (layout.bytes + pageBytes - 1) / pageBytes * pageBytes;
  }
  return snapshot;
}

void Snapshot::useMemory(std::span<std::byte> given) {
  assert(given.size() >= total);
  memory = given;
  for (const File &file : files)
    std::memcpy(memory.data() + file.offset, file.head.data(), file.head.size());
}

Expected<void> Snapshot::capture(ThreadPool &pool, const TensorReader &reader) {
  if (memory.empty()) {
    SINTER_TRY(own, Region::allocate(total, "the snapshot of a checkpoint"));
    useMemory(own.getBytes());
  }
  std::vector<TensorCopy> elsewhere;
  for (const Piece &piece : pieces) {
    std::byte *out = memory.data() + piece.offset;
    if (piece.source.empty() && piece.bytes != 0) {
      elsewhere.push_back({piece.name, {out, piece.bytes}});
      continue;
    }
    pool.run(piece.source.size(), bytesPerPiece, [&](uint64_t begin, uint64_t end) {
      std::memcpy(out + begin, piece.source.data() + begin, end - begin);
    });
  }
  return elsewhere.empty() ? Expected<void>() : reader(elsewhere);
}

std::vector<CheckpointFile> Snapshot::getCaptured() const {
  std::vector<CheckpointFile> result;
  for (const File &file : files)
    result.push_back({file.name, {memory.subspan(file.offset, file.bytes)}});
  return result;
}

std::vector<CheckpointFile> Snapshot::getLive() const {
  std::vector<CheckpointFile> result;
  for (const File &file : files)
    result.push_back({file.name, {std::as_bytes(std::span(file.head))}});
  for (const Piece &piece : pieces)
    result[piece.file].parts.push_back(piece.source);
  return result;
}

} // namespace sinter::runtime
