//===- CudaTransfer.h - Between ordinary memory and a GPU's -----*- C++ -*-===//
//
// The GPU copies at full speed only to and from pinned memory, and weights are mapped files. So
// copies go through two pinned buffers: while one is on its way the other is filled or emptied.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/ThreadPool.h"
#include "runtime/Device/Cuda/CudaEvent.h"
#include "runtime/Device/Cuda/CudaPool.h"
#include <vector>

namespace sinter::runtime::cuda {

class CudaTransfer {
public:
  /// The context and the threads outlive it.
  static Expected<std::unique_ptr<CudaTransfer>> create(const CudaContext &context,
                                                        ThreadPool &threads);
  /// Waits until nothing uses the buffers any more.
  ~CudaTransfer();
  CudaTransfer(const CudaTransfer &) = delete;
  CudaTransfer &operator=(const CudaTransfer &) = delete;

  /// Copies `source` to the device. On return it may be changed; the copy itself stands in the
  /// stream, before whatever is enqueued next.
  Expected<void> upload(std::span<const std::byte> source, CUdeviceptr out);

  /// Copies from the device what all that is in the stream has left there, and waits for it.
  Expected<void> download(CUdeviceptr source, std::span<std::byte> out);

private:
  struct Buffer {
    std::span<std::byte> bytes;
    CudaEvent done; ///< of the copy that used the buffer last
  };

  CudaTransfer(const CudaContext &context, ThreadPool &threads)
      : context(context), threads(threads) {}
  void copy(std::byte *out, const std::byte *source, uint64_t bytes) const;

  const CudaContext &context;
  ThreadPool &threads;
  PinnedMemory memory;
  std::vector<Buffer> buffers; ///< two
};

} // namespace sinter::runtime::cuda
