//===- CacheFolder.h - Where Sinter keeps what it can make again -*- C++ -*-===//
//
// Compiled executables, the code of their kernels, a GPU's kernels, and what a tuned GPU chose. A
// file is written aside and renamed, and may be gone the next moment: any number of processes share
// the folder. No one waits for a file to be on the disk: after a crash of the system one may be
// damaged, which whoever reads it has to notice. When the files outgrow the limit, what was not
// used for longest goes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// $SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else ~/.cache/sinter; empty where none of these
/// is known.
std::filesystem::path cacheFolder();

/// What a file of the cache is.
enum class CacheKind { Executable, Code, Kernels, Tuning };

/// "executable", "code", "kernels" or "tuning".
std::string_view nameOf(CacheKind kind);

/// A file of the cache.
struct CacheFile {
  CacheKind kind;
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::filesystem::file_time_type used; ///< last
};

class Cache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(4) << 30;

  /// Keeps files under `folder`, which is made when it is needed; nothing where it is empty. One
  /// that cannot be written costs time, not correctness.
  explicit Cache(std::filesystem::path folder, uint64_t limit = defaultLimit);

  /// The cache of this user: cacheFolder(), at most $SINTER_CACHE_LIMIT bytes ("8GiB"; "0" keeps
  /// nothing). Fails where that is no size.
  static Expected<Cache> standard();

  const std::filesystem::path &getFolder() const { return root; }
  uint64_t getLimit() const { return most; }

  /// Where the file of this name is, or would be; empty where nothing is kept.
  std::filesystem::path pathOf(CacheKind kind, std::string_view name) const;

  /// Says that a file of pathOf() was used just now.
  static void touch(const std::filesystem::path &path);

  /// Writes the file at pathOf(), unless it alone is beyond the limit. To see whether all are takes
  /// a look at each: files have what was not used for longest removed as often as to be about 1/64
  /// of the limit beyond it before.
  void write(const std::filesystem::path &path,
             std::span<const std::span<const std::byte>> parts) const;

  /// All files, what was not used for longest first. What others removed meanwhile is passed over;
  /// what is not the cache's, too.
  std::vector<CacheFile> list() const;

  /// Removes what was not used for longest until no more than `bytes` are left; returns what is
  /// gone.
  std::vector<CacheFile> trim(uint64_t bytes) const;

private:
  std::filesystem::path root;
  uint64_t most;
};

} // namespace sinter
