//===- Arena.h - The memory that stands for a device's ----------*- C++ -*-===//
//
// One reserved range of addresses holds every allocation, with gaps between them, and a byte of
// state for each of its bytes. So whether an address is a device's, whether it is allocated and
// whether anything was ever written there are each one look.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace sinter::simt {

class Arena {
public:
  static constexpr size_t maxSequence = size_t(1) << 34;
  static constexpr size_t alignment = 256; ///< what cuMemAlloc promises
  static constexpr size_t gap = 4096;      ///< of addresses that belong to nobody

  enum State : uint8_t { Allocated = 1, Initialised = 2 };

  /// The one arena of the process.
  static Arena &instance();

  /// Memory filled with 0xFF bytes (NaN in every floating-point type), not initialised; null where
  /// no gap is large enough.
  void *allocate(size_t bytes);
  /// Takes the memory back; `pointer` must have come from allocate.
  void release(void *pointer);

  bool contains(const void *address) const {
    auto *byte = static_cast<const std::byte *>(address);
    return byte >= base && byte < base + maxSequence;
  }
  size_t offset(const void *address) const {
    return size_t(static_cast<const std::byte *>(address) - base);
  }
  const void *address(size_t offset) const { return base + offset; }
  /// The states of the bytes from `address` on.
  uint8_t *states(const void *address) const { return stateBytes + offset(address); }

  /// The bytes of the allocation that has `address`, counted from there on; 0 if none has.
  size_t bytesFrom(const void *address) const;
  /// Somebody wrote these bytes.
  void markInitialised(const void *address, size_t bytes);
  /// Bytes were copied: the target's are initialised where the source's are.
  void copyStates(const void *target, const void *source, size_t bytes);
  /// Whether nobody has written some of these bytes, and nobody unwatched may have.
  bool hasUninitialised(const void *address, size_t bytes) const;
  /// A kernel whose accesses were not watched may have written the allocation that `address` is in,
  /// so that from now on all of it counts as initialised.
  void trust(const void *address);
  bool trusted(const void *address) const;

  /// "byte 12 of an allocation of 4096 bytes", "4 bytes past an allocation of 4096 bytes".
  std::string describe(const void *address) const;

private:
  struct Allocation {
    size_t bytes;
    bool trusted = false;
  };

  Arena();
  /// The allocation that begins at or before the offset, or the end.
  std::map<size_t, Allocation>::const_iterator before(size_t offset) const;

  std::byte *base;
  uint8_t *stateBytes;
  std::map<size_t, Allocation> allocations; // by offset
  size_t cursor = 0;                        // where the search for the next gap begins
};

/// Address space that costs nothing until it is touched, and reads as zeros.
void *reserveAddresses(size_t bytes);

} // namespace sinter::simt
