//===- KernelMarks.h - What machine code says of itself ---------*- C++ -*-===//
//
// Nothing can be read from a kernel's machine code: launched with a smaller slice or a larger grid
// than it was made for, or entered in its middle, it runs wild. So it carries marks that the
// verifier holds the executable's tables against:
//
//   - the eight bytes before an entry are the kernel's fingerprint, a hash of its name and of how
//     each launch of it looks (little-endian);
//   - the last eight bytes of an image are the hash of all before them, which no wrong length or
//     place of it passes.
//
// A GPU's kernels are entered by name, by its driver; their fingerprints stand in the table alone.
// A driver is not told how long their machine code is: it is sealed, too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Format/Executable_generated.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// Bytes of a mark.
constexpr size_t kernelMarkBytes = 8;

/// How a kernel is launched.
struct KernelLaunch {
  std::string_view name;
  uint64_t grid = 0;
  uint32_t block = 0, sharedBytes = 0; ///< CUDA
  bool waits = false;                  ///< CUDA
  std::vector<uint64_t> sliceBytes = {};
  std::vector<fb::DType> outputs; ///< of the last slices

  /// The kernel's fingerprint; never 0.
  uint64_t getFingerprint() const;
};

/// A launch of `kernel` as an executable has it.
KernelLaunch describeLaunch(const fb::Kernel &kernel, const fb::Launch &launch);

/// Writes a fingerprint before the entry. @pre entry >= kernelMarkBytes, and nothing else is there
void markEntry(std::span<std::byte> image, uint64_t entry, uint64_t fingerprint);

/// The mark before an entry, or nothing where the image has no room for one.
std::optional<uint64_t> readMark(std::span<const uint8_t> image, uint64_t entry);

/// Appends the image's hash to it.
void sealImage(std::vector<std::byte> &image);

/// Whether an image ends with its hash.
bool isSealed(std::span<const uint8_t> image);

} // namespace sinter::runtime
