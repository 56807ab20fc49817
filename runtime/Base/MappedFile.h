//===- MappedFile.h - A file's bytes, read-only -----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstddef>
#include <filesystem>
#include <span>

namespace sinter {

/// A whole file mapped read-only for as long as the object lives. Pages are read when first
/// touched and can be dropped again, since the file still has them.
class MappedFile {
public:
  /// Maps `path`; an empty file gives an empty span. Fails where it is absent, not a regular file,
  /// or cannot be read.
  static Expected<MappedFile> open(const std::filesystem::path &path);

  /// No file: an empty span.
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  std::span<const std::byte> getBytes() const { return {data, size}; }

  /// Gives back the memory of the pages that lie wholly inside `part`; they are read again from the
  /// file when next touched. @pre `part` lies in bytes()
  void release(std::span<const std::byte> part) const;

  /// Begins to read the pages of a part of a mapped file, which are touched soon: a page that is
  /// not there yet would be waited for, with few others read beside it. Does not wait; nothing
  /// happens where they are there, or where `part` is no file's.
  static void readAhead(std::span<const std::byte> part);

private:
  MappedFile(const std::byte *data, size_t size) : data(data), size(size) {}
  void unmap();

  const std::byte *data = nullptr;
  size_t size = 0;
};

} // namespace sinter
