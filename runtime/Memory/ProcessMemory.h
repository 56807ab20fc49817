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

/// What a process on the CPU holds beside the spaces of `use` and apart from what its caller made,
/// one of `ranks` that run an executable together: the data of its libraries, heap, stacks, and the
/// executable with its `programBytes`, `attachedBytes` and machine code, which as it is run is in
/// `use` already. An allowance, so that it is the same for runs of one kind: 4 MiB, 3 more for
/// MPI, what is attached, three times the programs in whole MiB, and code twice, at least 2 MiB of
/// it: what a plan without code is to say.
uint64_t otherBytes(const MemoryUse &use, uint64_t programBytes, uint64_t attachedBytes,
                    size_t ranks);

} // namespace sinter::runtime
