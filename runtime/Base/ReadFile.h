//===- ReadFile.h - All of a small file -------------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <filesystem>
#include <string>

namespace sinter {

/// All bytes of a file, a pipe or a device. Fails where it is absent, a folder, cannot be read, or
/// holds more than `limit` bytes: a device may have no end.
Expected<std::string> readFile(const std::filesystem::path &path, uint64_t limit = 1 << 30);

} // namespace sinter
