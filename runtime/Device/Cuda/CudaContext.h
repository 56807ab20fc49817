//===- CudaContext.h - One GPU, opened --------------------------*- C++ -*-===//
//
// The primary context of a GPU that is visible (CUDA_VISIBLE_DEVICES chooses), the first or, of
// several ranks on one machine, one for each, so that memory and libraries of others in this
// process work with it, and the stream in which everything of a session begins and ends.
//
// Where an executable has commands in several streams, the others fork from this one and join it
// again (CudaStreams.h). Two kernels that fill the GPU take as long side by side as one after the
// other, so that what gains is a kernel that does not, beside any other. Which commands are where,
// and what they wait for, the executable says; copies of states that go on beside the steps have a
// stream of their own (CudaCopies.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaApi.h"
#include "runtime/Format/CudaArchitecture.h"
#include <memory>

namespace sinter::runtime::cuda {

class CudaContext {
public:
  /// Of the GPU of this number. Errors: no driver, one that is too old, no such GPU.
  static Expected<std::unique_ptr<CudaContext>> open(int ordinal = 0);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const CudaApi &getApi() const { return driver; }
  CUdevice getDevice() const { return ordinal; }
  CUstream getStream() const { return queue; }
  Capability getCapability() const { return version; }
  const std::string &getName() const { return model; } ///< "NVIDIA H200"

  /// Bytes of the GPU's memory that nobody holds.
  Expected<uint64_t> getFreeBytes() const;

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
  Expected<void> start(int number);

  const CudaApi &driver;
  CUdevice ordinal = 0;
  CUcontext context = nullptr;
  CUstream queue = nullptr;
  Capability version;
  std::string model;
};

} // namespace sinter::runtime::cuda
