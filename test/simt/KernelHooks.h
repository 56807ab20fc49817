//===- KernelHooks.h - What CUDA C++ itself asks of the emulator -*- C++ -*-===//
//
// The functions behind threadIdx, __syncthreads, shuffles and the like, which the headers
// Kernel*.h give their CUDA names. DeviceHooks.h is the part that device code calls by name.
//
// None of these is inline: where they return to is the place of the source that findings name. So
// the compiler must not make one call of two in different places either.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::simt {

/// What pointers a kernel takes.
struct Signature {
  size_t arguments;
  const bool *written; ///< for each argument, whether what it points to is not const
};

/// Tells the emulator of the module that `code` is in and of its static shared memory.
void registerKernels(const void *code, char *sharedBegin, char *sharedEnd, bool checked);

/// __syncthreads.
[[clang::nomerge]] void blockBarrier();

/// What all threads of the block said at a barrier.
struct BlockVote {
  unsigned count; ///< of those that said true
  bool all;
};
[[clang::nomerge]] BlockVote blockVote(bool predicate);

/// __syncwarp.
[[clang::nomerge]] void warpBarrier(unsigned mask);

/// The value that `sourceLane` gave; all ones if it takes no part.
[[clang::nomerge]] uint64_t shuffle(unsigned mask, uint64_t value, unsigned sourceLane);

/// A bit for every lane of the mask that said true.
[[clang::nomerge]] unsigned ballot(unsigned mask, bool predicate);

/// A bit for every lane of the mask that gave the same value.
[[clang::nomerge]] unsigned matchAny(unsigned mask, uint64_t value);

/// The lanes of the caller's warp that have not finished.
unsigned liveLanes();
unsigned laneId();

/// An atomic operation is about to take place.
void noteAtomic(const void *address, size_t bytes, const void *code);

/// __threadfence.
void deviceFence();

/// Lets other threads go on.
void yield();

} // namespace sinter::simt
