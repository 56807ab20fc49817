//===- SharedMemory.h - The shared memory of the block that runs *- C++ -*-===//
//
// KernelPrelude.h makes every __shared__ variable a static one in a section of its own, so that
// those of a module are one range of addresses; they register it when they are loaded. Blocks run
// one after another, so one copy does. Before each block all of it is filled with 0xFF bytes: what
// a kernel did not write is NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter::simt {

/// What a loaded object with kernels has told about itself.
struct KernelModule {
  std::span<std::byte> staticShared; ///< of all its kernels together
  bool checked = false;              ///< compiled with -fsanitize=thread
};

/// The module in which the code is; an empty one if it has not registered.
KernelModule moduleOf(const void *code);

class SharedMemory {
public:
  static constexpr size_t mostDynamicBytes = 227 << 10; ///< what a block of sm_90 can have
  static constexpr size_t mostStaticBytes = 16 << 20;   ///< of all kernels of a module

  /// The dynamic shared memory of a block. A device aligns it as the kernel says and no more: here
  /// that is 128 bytes.
  static std::span<std::byte> dynamic(size_t bytes) { return {base(), bytes}; }
  static bool isDynamic(const std::byte *byte) {
    return byte >= base() && byte < base() + mostDynamicBytes;
  }
  static size_t dynamicOffset(const std::byte *byte) { return size_t(byte - base()); }

  /// Where dynamic shared memory stands in the address space of shared memory; as on a device it
  /// has the same low bits.
  static uint32_t address(const std::byte *byte) { return uint32_t(byte - storage) + firstAddress; }
  /// What stands at such an address.
  static const std::byte *at(uint32_t address) { return storage + (address - firstAddress); }

  /// Fills it as a block finds it.
  static void poison(std::span<std::byte> bytes);

private:
  static constexpr size_t baseOffset = 128;
  static constexpr uint32_t firstAddress = 1024; ///< what is below, devices use for themselves

  static std::byte *base() { return storage + baseOffset; }
  alignas(1024) static std::byte storage[baseOffset + mostDynamicBytes];
};

} // namespace sinter::simt
