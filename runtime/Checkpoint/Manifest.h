//===- Manifest.h - What a checkpoint must consist of -----------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// manifest.json: every other file of a checkpoint, by name.
///   {"format": 1, "files": {"state.json": {"bytes": 812, "xxh3": "32 hexadecimal digits"}, ...}}
struct Manifest {
  struct File {
    uint64_t bytes = 0;
    std::string hash; ///< XXH3-128, see ContentHash
    bool operator==(const File &) const = default;
  };
  std::map<std::string, File> files;

  std::string toJson() const;

  /// Reads what toJson() wrote; `source` names it in errors. Whatever the text is, the files have
  /// plain names, without a folder.
  static Expected<Manifest> parse(std::string_view json, const std::string &source);
};

} // namespace sinter::runtime
