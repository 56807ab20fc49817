//===- MemoryUse.h - Bytes that a session holds -----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// Bytes of the device's memory that a session holds, by owner. On the CPU, pages of the checkpoint
/// are the system's to take back and stand apart.
struct MemoryUse {
  uint64_t parameter = 0, state = 0, arena = 0, input = 0, output = 0, constant = 0, code = 0;
  uint64_t preprocessArena = 0; ///< held only while binding
  uint64_t checkpoint = 0;      ///< all tensors that `preprocess` reads, as stored
  /// Of the host's memory where the device has its own: mirrors of inputs and outputs, and what
  /// copies go through.
  uint64_t host = 0;
  /// The most that was taken of a GPU's memory, as its driver counts it: all spaces, and what it
  /// rounds up. Not predicted.
  uint64_t reserved = 0;

  /// What is held while steps run.
  uint64_t getResident() const {
    return parameter + state + arena + input + output + constant + code;
  }
  /// The most that was ever held: while binding, or from then on.
  uint64_t getPeak() const;
};

/// Fails where `use` is more than the `available` bytes of `memory` ("memory", "the GPU's memory"),
/// naming the largest owners; `executable` names what asks for it.
Expected<void> checkMemory(const std::string &executable, const MemoryUse &use, uint64_t available,
                           std::string_view memory);

} // namespace sinter::runtime
