//===- CudaCopies.h - States on their way out beside the steps --*- C++ -*-===//
//
// Copies from the device to pinned memory on a stream of their own. They begin when all that the
// context's stream holds is done, and that stream goes on meanwhile, until it comes to what changes
// a copied state: there holdUp() makes it, not the host, wait. Of a training step that is the
// update, so that the copies have all of the forward and backward pass to themselves:
//
//   the context's stream   ... update | forward, backward         | update
//   this one                          | table.weight, sgd.m, ... |
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaEvent.h"
#include "runtime/Device/Cuda/CudaPool.h"
#include <memory>

namespace sinter::runtime::cuda {

class CudaCopies {
public:
  struct Copy {
    CUdeviceptr source;
    std::span<std::byte> out; ///< in memory()
  };

  /// The context outlives it.
  static Expected<std::unique_ptr<CudaCopies>> create(const CudaContext &context);
  /// Waits until nothing is on its way any more.
  ~CudaCopies();
  CudaCopies(const CudaCopies &) = delete;
  CudaCopies &operator=(const CudaCopies &) = delete;

  /// Takes the memory that is copied to. Fails where the system pins no more.
  Expected<void> allocate(uint64_t bytes);
  std::span<std::byte> getMemory() const { return pinned.getBytes(); }

  /// Puts the copies into the stream, of what the context's stream will have left there.
  Expected<void> begin(std::span<const Copy> copies);

  /// Waits on the host, on any thread on which the context is current.
  Expected<void> finish() const { return done.wait(); }

  /// The context's stream waits for what was begun.
  Expected<void> holdUp() const { return done.holdUp(context.getStream()); }

private:
  CudaCopies(const CudaContext &context, CudaEvent reached, CudaEvent done)
      : context(context), reached(std::move(reached)), done(std::move(done)) {}

  const CudaContext &context;
  CUstream stream = nullptr;
  PinnedMemory pinned;
  CudaEvent reached; ///< in the context's stream: what is copied is there
  CudaEvent done;    ///< in ours: all copies that were begun are
};

} // namespace sinter::runtime::cuda
