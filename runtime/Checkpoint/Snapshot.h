//===- Snapshot.h - States as they were between two steps -------*- C++ -*-===//
//
// A copy of tensors, laid out as the safetensors files that will hold it, so that writing it is
// writing one block. The copy is the most that a step waits for; its memory is taken once, when the
// first snapshot is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/ThreadPool.h"
#include "runtime/Checkpoint/CheckpointFolder.h"
#include "runtime/Memory/Region.h"
#include "runtime/Weights/Safetensors.h"
#include <functional>

namespace sinter::runtime {

/// A file and the tensors that it holds.
struct SnapshotFile {
  std::string name;
  /// Their data are read by every capture(); those without are not in the host's memory.
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::string> metadata = {};
};

/// A tensor that is not in the host's memory, and memory of its size.
struct TensorCopy {
  std::string_view name;
  std::span<std::byte> out;
};

/// Copies such tensors as they are now; what is read of `out` is read later, when the reader says.
using TensorReader = std::function<Expected<void>(std::span<const TensorCopy>)>;

class Snapshot {
public:
  /// Lays the files out. Fails where two tensors of a file have one name.
  static Expected<Snapshot> plan(std::span<const SnapshotFile> files);

  /// The memory that capture() takes. The tensors' data are not looked at for it.
  uint64_t getBytes() const { return total; }

  /// Lets capture() copy to `memory`, of bytes() bytes, which outlives its use.
  void useMemory(std::span<std::byte> memory);

  /// Copies the tensors as they are now, with `reader` what the processor cannot reach. Fails where
  /// there is no memory for them, or as the reader does.
  Expected<void> capture(ThreadPool &pool, const TensorReader &reader = {});

  /// The files as of the last capture(), each in one part that begins on a page.
  std::vector<CheckpointFile> getCaptured() const;

  /// The files with the tensors as they are, not copied: for when nothing changes any more.
  /// @pre all tensors are in the host's memory
  std::vector<CheckpointFile> getLive() const;

private:
  struct File {
    std::string name, head;
    uint64_t offset, bytes;
  };
  struct Piece {
    std::string name;
    std::span<const std::byte> source; ///< empty where the processor cannot reach it
    uint64_t offset, bytes;            ///< in the memory
    size_t file;
  };
  std::vector<File> files;
  std::vector<Piece> pieces; ///< in the order of the files
  uint64_t total = 0;
  std::span<std::byte> memory;
  Region own; ///< the same, where nobody gave another
};

} // namespace sinter::runtime
