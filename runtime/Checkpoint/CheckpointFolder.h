//===- CheckpointFolder.h - Checkpoints on the disk -------------*- C++ -*-===//
//
// A checkpoint is a folder `step-N` of some files and `manifest.json`, which has their sizes and
// hashes. It is made under another name (`.writing-step-N`), every file and the folder are synced,
// and it is renamed; removing one begins with a renaming too (`.removing-step-N`). So at any moment
// what is called `step-N` is whole, unless somebody or the disk damaged it, and a process that is
// killed leaves nothing behind that could be taken for one.
//
// The ranks of a run write one together: one begins it, each writes its own files, one finishes it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Base/FolderLock.h"
#include "runtime/Checkpoint/Manifest.h"
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::runtime {

/// A file of a checkpoint; its content is the concatenation of the parts.
struct CheckpointFile {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// A checkpoint that is there, whole or not.
struct CheckpointEntry {
  std::filesystem::path path;
  uint64_t step = 0;
};

class CheckpointFolder {
public:
  explicit CheckpointFolder(std::filesystem::path path) : path(std::move(path)) {}

  /// Makes the folder and takes it, as whoever writes to it must for as long as it does; removes
  /// what a killed process left of unfinished work. Fails where somebody else has taken it.
  Expected<FolderLock> open() const;

  /// Writes `files` as the checkpoint of `step` and returns when it is on the disk. A checkpoint of
  /// that step that is there is replaced. On an error nothing that was there is touched.
  Expected<void> write(uint64_t step, std::span<const CheckpointFile> files) const;

  /// The same in steps. Makes the folder aside.
  Expected<void> begin(uint64_t step) const;
  /// Writes files into it; returns what they are. @pre begin() has succeeded on some rank
  Expected<Manifest> writeFiles(uint64_t step, std::span<const CheckpointFile> files) const;
  /// Makes it the checkpoint of `step`, which consists of these files.
  Expected<void> finish(uint64_t step, const Manifest &manifest) const;
  /// Removes what is aside.
  void abandon(uint64_t step) const;

  /// Where the checkpoint of a step is.
  std::filesystem::path at(uint64_t step) const;

  /// Removes all checkpoints of steps up to `step` but the newest `keep` ones; 0 keeps all.
  Expected<void> removeOld(uint64_t step, uint64_t keep) const;

  /// All checkpoints by name, newest first; none where there is no folder.
  std::vector<CheckpointEntry> list() const;

  /// The newest checkpoint that is whole. `onDamaged` is told of each newer one that is not.
  std::optional<CheckpointEntry>
  findNewestWhole(const std::function<void(const Error &)> &onDamaged) const;

private:
  std::filesystem::path aside(uint64_t step) const;

  std::filesystem::path path;
};

/// Reads the manifest of a checkpoint.
Expected<Manifest> readManifest(const std::filesystem::path &checkpoint);

/// Fails, with the file and the difference named, where a checkpoint's files are not those of its
/// manifest. Reads all of them.
Expected<void> verifyCheckpoint(const std::filesystem::path &checkpoint);

} // namespace sinter::runtime
