//===- FolderLock.h - A folder that one process writes to -------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <filesystem>
#include <optional>

namespace sinter {

/// A folder that is this object's until it dies. The system lets go of it with the process, however
/// that ends, and nothing is left in the folder.
class FolderLock {
public:
  /// Takes the folder at `path`; nothing where another lock has it, in this process or another one.
  /// A file system that knows no locks gives one that keeps nobody out. Fails where the folder
  /// cannot be opened.
  static Expected<std::optional<FolderLock>> take(const std::filesystem::path &path);

  FolderLock(FolderLock &&other) noexcept;
  FolderLock &operator=(FolderLock &&other) noexcept;
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  ~FolderLock();

private:
  explicit FolderLock(int folder) : folder(folder) {}

  int folder; ///< an open descriptor, -1 of one that was moved from
};

} // namespace sinter
