//===- AtomicFile.h - Files that are whole or absent ------------*- C++ -*-===//
//
// A file is written aside, synced and renamed into place, so that whoever opens it, or finds it
// after a crash, sees either the old content or all of the new.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <span>
#include <string>

namespace sinter {

/// Replaces the file at `path` with the concatenation of `parts`. On an error (unwritable folder,
/// full disk) the file that was there is untouched and nothing is left behind.
Expected<void> writeFileAtomically(const std::string &path,
                                   std::span<const std::span<const std::byte>> parts);

/// The same for one block of `bytes`.
Expected<void> writeFileAtomically(const std::string &path, std::span<const std::byte> bytes);

} // namespace sinter
