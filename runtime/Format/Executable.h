//===- Executable.h - A compiled model, loaded ------------------*- C++ -*-===//
//
// The first of the runtime's three stages (load, bind, record and run): an executable in memory,
// verified, immutable, shared by any number of sessions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include "runtime/Format/Executable_generated.h"
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// Owns the bytes of a verified executable. Everything it gives out lives as long as it does.
class Executable {
public:
  ~Executable();

  /// Maps the file at `path` and verifies it. Errors: unreadable, truncated, damaged, of another
  /// version, or with numbers that do not agree. Later errors call it `source`, or by its path
  /// where that is empty. It may be for another processor: only what binds it minds.
  static Expected<std::shared_ptr<const Executable>> open(const std::string &path,
                                                          std::string_view source = {});

  /// The same for a file's bytes, which are copied; `source` names them in errors.
  static Expected<std::shared_ptr<const Executable>> fromFile(std::span<const std::byte> file,
                                                              std::string_view source);

  /// The same for a finished flatbuffer without the file's header, as the compiler hands it over
  /// in memory.
  static Expected<std::shared_ptr<const Executable>>
  fromFlatbuffer(std::span<const std::byte> flatbuffer, std::string_view source);

  /// The verified root.
  const fb::Executable &getRoot() const { return *verified; }

  /// The bytes of the flatbuffer, as writeExecutable takes them.
  std::span<const std::byte> getFlatbuffer() const { return content; }

  /// True where its programs run on the processor, false where on a GPU.
  bool isForCpu() const;

  /// What errors call this executable.
  const std::string &getName() const { return source; }

  /// The program of this name, or null.
  const fb::Program *program(std::string_view name) const;

  /// The metadata's value for `key`, if it is there.
  std::optional<std::string_view> metadata(std::string_view key) const;

  /// The value for `key` as a count of something, from 1 on; an error if it is absent or none.
  Expected<int64_t> metadataNumber(std::string_view key) const;

  /// The value for `key` as numbers separated by commas; empty if it is absent.
  Expected<std::vector<int64_t>> metadataNumbers(std::string_view key) const;

  /// The content of an attached file, if it is there.
  std::optional<std::span<const std::byte>> attachment(std::string_view name) const;

private:
  struct Bytes;
  Executable(std::unique_ptr<Bytes> bytes, std::string_view source);
  Expected<void> verify(std::span<const std::byte> flatbuffer);

  std::unique_ptr<Bytes> bytes;
  std::string source;
  std::span<const std::byte> content;
  const fb::Executable *verified = nullptr;
};

} // namespace sinter::runtime
