//===- AtomicFile.h - Files that are whole or absent ------------*- C++ -*-===//
//
// A file is written aside, synced and renamed into place, so that whoever opens it, or finds it
// after a crash, sees either the old content or all of the new.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace sinter {

/// A descriptor to write to for a path that cannot be replaced by renaming: a pipe, a device, or a
/// descriptor of this process by its name (/dev/stdout, whatever stands behind it). None for a
/// regular file and for a name that is free. The caller closes it.
Expected<std::optional<int>> openStream(const std::string &path);

/// Replaces the file at `path` with the concatenation of `parts`. On an error (unwritable folder,
/// full disk) the file that was there is untouched and nothing is left behind. Of a symbolic link
/// the file that it leads to is replaced; a stream (openStream) is written to.
Expected<void> writeFileAtomically(const std::string &path,
                                   std::span<const std::span<const std::byte>> parts);

/// The same of `count` parts that are made one after the other: each stays until the next is asked
/// for. An error of one is that of the write.
Expected<void>
writeFileAtomically(const std::string &path, size_t count,
                    const std::function<Expected<std::span<const std::byte>>(size_t)> &makePart);

/// The same for one block of `bytes`.
Expected<void> writeFileAtomically(const std::string &path, std::span<const std::byte> bytes);

/// Writes a file aside and renames it to `path`, but waits for no disk: for files that can be made
/// again, and whose readers notice where a crash of the system has damaged them.
Expected<void> replaceFile(const std::string &path,
                           std::span<const std::span<const std::byte>> parts);

/// Writes a new file and waits until it is on the disk; for files of a folder that is itself
/// renamed into place. One large block that begins on a page goes past the system's page cache,
/// which saves most of the processor time that writing takes. On an error what was written stays.
Expected<void> writeFileSynced(const std::string &path,
                               std::span<const std::span<const std::byte>> parts);

/// Waits until the entries of a folder (files made, renamed or removed in it) are on the disk.
Expected<void> syncFolder(const std::string &path);

} // namespace sinter
