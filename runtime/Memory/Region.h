//===- Region.h - One block of memory for one space -------------*- C++ -*-===//
//
// A session holds one region per space, allocated once at bind. Large regions ask for 2 MiB pages:
// a decode step streams over every weight, and with small pages the address translation costs as
// much as the arithmetic.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sinter::runtime {

/// Bytes of a page, and of those that large regions ask for.
constexpr uint64_t kSmallPage = 4096, kLargePage = 2 << 20;

/// The least multiple of `multiple` that is not below `value`.
constexpr uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Anonymous zeroed memory, aligned to 4 KiB and to 2 MiB where it is large. Pages that are never
/// touched cost nothing.
class Region {
public:
  Region() = default;
  Region(Region &&other) noexcept;
  Region &operator=(Region &&other) noexcept;
  ~Region();

  /// Allocates `bytes`; `owner` ("parameters") names it in the error. With `guard`, 4 KiB before
  /// and behind hold a pattern that guardsIntact() looks at.
  static Expected<Region> allocate(uint64_t bytes, std::string_view owner, bool guard = false);

  std::byte *data() const { return base; }
  std::span<std::byte> getBytes() const { return {base, size}; }

  /// False if somebody wrote just before or just behind the region. True without guards.
  bool guardsIntact() const;

private:
  std::byte *base = nullptr;
  uint64_t size = 0;
  void *mapping = nullptr;
  size_t mapped = 0;
  bool guarded = false;
};

/// Bytes of memory that this process may still allocate without swapping or being killed: what the
/// system calls available, within the limits of the control group and of RLIMIT_AS.
uint64_t availableMemory();

/// Bytes that this process can have at most, be it by swapping and whatever others hold now: the
/// machine's memory and swap, within the same limits.
uint64_t memoryLimit();

} // namespace sinter::runtime
