//===- ProcessMemory.h - Memory as the system counts it ---------*- C++ -*-===//
//
// MemoryUse says what is planned. What is here is measured: the system's own count of the pages
// that this process holds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Memory/MemoryUse.h"
#include <optional>

namespace sinter::runtime {

/// Pages of a process that are in memory, in bytes.
struct ProcessMemory {
  uint64_t anonymous = 0; ///< that no file holds: nobody else can use them until they are freed
  uint64_t mapped = 0;    ///< of files, which the system takes back when it needs them
};

/// Pages of this process now; zeros where the system does not say. Takes microseconds. The system
/// counts in passing, so what it says may be late by some hundred KiB a processor.
ProcessMemory readProcessMemory();

/// What is held now where a session's memory is: of a GPU's the most that its driver counted for it
/// (`apart`), else all that this process has anonymous.
uint64_t measureHeld(const MemoryUse &use, bool apart);

/// A warning where `name` will hold more than the `available` bytes: it can still run where others
/// give memory back or the system swaps.
std::optional<Error> describeShortage(const std::string &name, uint64_t needed, uint64_t available);

/// What a process on the CPU holds beside the spaces of `use` and apart from what its caller made:
/// the data of its libraries, heap, stacks, the executable's `executableBytes` and machine
/// code, which is in `use` already. An allowance, so that it is the same for runs of one kind:
/// 32 MiB, or more where code and executable take more than 8 of them. Without machine code it is
/// what it will be with up to 4 MiB of it.
uint64_t otherBytes(const MemoryUse &use, uint64_t executableBytes);

} // namespace sinter::runtime
