//===- ExecutableFile.h - The envelope of a .sinter file --------*- C++ -*-===//
//
// A file is a header of 64 bytes and a flatbuffer (Executable.fbs):
//
//    0  8   "SINTER\r\n"   a text-mode transfer breaks it visibly
//    8  4   version        of the envelope and the schema, little-endian
//   12  4   zero
//   16  8   bytes of the flatbuffer
//   24  16  XXH3-128 of the flatbuffer, canonical (big-endian)
//   40  24  zero
//
// The header keeps the flatbuffer's 64-byte alignment when the file is mapped. The hash is against
// accidents: every flipped bit and every truncation is noticed. What was damaged before it was
// computed is the verifier's business (ExecutableVerifier.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// The version of the format that this build writes and reads.
constexpr uint32_t executableVersion = 12;

/// Bytes of the header.
constexpr size_t executableHeaderBytes = 64;

/// The header of a file with this flatbuffer.
std::array<std::byte, executableHeaderBytes>
makeExecutableHeader(std::span<const std::byte> flatbuffer);

/// Writes a finished flatbuffer as an executable file, whole or not at all. Fails where the path
/// cannot be written or the buffer is too large for the format (2 GiB).
Expected<void> writeExecutable(const std::string &path, std::span<const std::byte> flatbuffer);

/// Checks the header and the hash of a file's bytes and returns the flatbuffer in it. `source`
/// names the file in errors. That of another version names the version, who wrote it and how to
/// compile the model again: `producer` keeps its place in the schema's root table for that.
Expected<std::span<const std::byte>> openEnvelope(std::span<const std::byte> file,
                                                  std::string_view source);

} // namespace sinter::runtime
