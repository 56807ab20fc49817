//===- Contents.h - What an executable carries beside its plan --*- C++ -*-===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter {

/// Spaces that are regions of memory end at whole lines of so many bytes.
inline constexpr uint64_t kLineBytes = 64;

/// A file that an executable refers to or carries.
struct FileReference {
  std::string path;
  uint64_t bytes = 0;
  std::string hash; ///< XXH3-128, hexadecimal
};

/// What an executable carries beside the plan and the kernels.
struct ExecutableContents {
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string> attachments; ///< name to content
  std::vector<FileReference> weightFiles;
  std::vector<std::byte> embeddedWeights; ///< a safetensors file, or empty
  uint64_t seed = 0;                      ///< random weights, where there are no weight files
};

} // namespace sinter
