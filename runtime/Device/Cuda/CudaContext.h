//===- CudaContext.h - One GPU, opened --------------------------*- C++ -*-===//
//
// The primary context of the first GPU that is visible (CUDA_VISIBLE_DEVICES chooses), so that
// memory and libraries of others in this process work with it, and one stream for all that a
// session computes. Only copies of states that go on beside it have another (CudaCopies.h).
//
// Commands that do not need each other are not spread over several streams. Nearly all of a
// program's time goes to kernels with blocks for every multiprocessor, and two of these take as
// long side by side as one after the other: of a training step of GPT-2 124M (16 x 1024, bf16,
// sm_90) the plan gives 1.1 of 31 ms, the loss aside, to kernels of fewer blocks than there are
// multiprocessors (second stages of sums over columns, updates and norms of small parameters), and
// decoding is one chain. That is the most there is to gain, less an event for each fork and join;
// making those kernels fewer gains the same. And it has a price: the arena's slices are reused in
// the order of the one list of commands, which two streams do not keep.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/Architecture.h"
#include "runtime/Device/Cuda/CudaApi.h"
#include <memory>

namespace sinter::runtime::cuda {

class CudaContext {
public:
  /// Errors: no driver, one that is too old, no GPU.
  static Expected<std::unique_ptr<CudaContext>> open();
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const CudaApi &api() const { return driver; }
  CUdevice device() const { return ordinal; }
  CUstream stream() const { return queue; }
  Capability capability() const { return version; }
  const std::string &name() const { return model; } ///< "NVIDIA H200"

  /// Bytes of the GPU's memory that nobody holds.
  Expected<uint64_t> freeBytes() const;

  /// An error if a call failed: the driver's name and words for it, after `what`. Where the GPU
  /// itself is to blame the remedy says so; what only a wrong kernel can cause is a defect.
  Expected<void> check(CUresult result, const std::string &what) const;

  /// Waits for the stream; `what` names what is waited for.
  Expected<void> wait(const std::string &what) const {
    return check(driver.cuStreamSynchronize(queue), what);
  }

  /// The context is current on this thread for as long as this lives.
  class Current {
  public:
    explicit Current(const CudaContext &context) : api(context.driver) {
      api.cuCtxPushCurrent(context.context);
    }
    ~Current() {
      CUcontext popped;
      api.cuCtxPopCurrent(&popped);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    const CudaApi &api;
  };

private:
  explicit CudaContext(const CudaApi &driver) : driver(driver) {}
  Expected<void> start();

  const CudaApi &driver;
  CUdevice ordinal = 0;
  CUcontext context = nullptr;
  CUstream queue = nullptr;
  Capability version;
  std::string model;
};

} // namespace sinter::runtime::cuda
