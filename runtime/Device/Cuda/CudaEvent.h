//===- CudaEvent.h - A point in a stream ------------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/CudaContext.h"
#include <utility>

namespace sinter::runtime::cuda {

/// Recorded between commands of a stream, it is reached when those before it are done.
class CudaEvent {
public:
  /// With `timed`, millisecondsSince() tells times; without, it costs less.
  static Expected<CudaEvent> create(const CudaContext &context, bool timed) {
    CudaEvent event(context);
    SINTER_CHECK(
        context.check(context.getApi().cuEventCreate(
                          &event.handle, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
                      "an event"));
    return event;
  }
  CudaEvent(CudaEvent &&other) noexcept
      : context(other.context), handle(std::exchange(other.handle, nullptr)) {}
  CudaEvent &operator=(CudaEvent &&) = delete;
  ~CudaEvent() {
    if (handle)
      context.getApi().cuEventDestroy(handle);
  }

  /// In the context's stream.
  Expected<void> record() const { return record(context.getStream()); }
  Expected<void> record(CUstream stream) const {
    return context.check(context.getApi().cuEventRecord(handle, stream), "an event");
  }

  /// What the stream is given from now on begins when the event is reached, as it was recorded
  /// last.
  Expected<void> holdUp(CUstream stream) const {
    return context.check(context.getApi().cuStreamWaitEvent(stream, handle, CU_EVENT_WAIT_DEFAULT),
                         "an event");
  }

  /// Waits until it is reached; at once where it was never recorded.
  Expected<void> wait() const {
    return context.check(context.getApi().cuEventSynchronize(handle), "an event");
  }

  /// The time that the GPU took from `begin` to this. @pre both are reached
  Expected<float> millisecondsSince(const CudaEvent &begin) const {
    float milliseconds = 0;
    SINTER_CHECK(context.check(
        context.getApi().cuEventElapsedTime(&milliseconds, begin.handle, handle), "an event"));
    return milliseconds;
  }

private:
  explicit CudaEvent(const CudaContext &context) : context(context) {}

  const CudaContext &context;
  CUevent handle = nullptr;
};

} // namespace sinter::runtime::cuda
