//===- CudaStreams.h - The streams of a device's programs -------*- C++ -*-===//
//
// A program begins and ends in the context's stream, number 0. In between its commands may be in
// others, which are made when the first program asks for them: these fork from stream 0 and join it
// again, so that whatever stands there before and after a program is ordered with all of it, and a
// capture of stream 0 is one of all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaEvent.h"
#include <vector>

namespace sinter::runtime::cuda {

class CudaStreams {
public:
  explicit CudaStreams(const CudaContext &context) : context(context) {}
  /// Waits until nothing is on its way in any of them.
  ~CudaStreams();
  CudaStreams(const CudaStreams &) = delete;
  CudaStreams &operator=(const CudaStreams &) = delete;

  /// Makes those that are missing, so that there are so many, stream 0 included.
  Expected<void> require(size_t count);

  CUstream operator[](size_t stream) const {
    return stream == 0 ? context.getStream() : others[stream - 1].handle;
  }

  /// What these streams are given from now on begins when all that is in stream 0 is done.
  Expected<void> fork(const std::vector<uint32_t> &streams) const;
  /// What stream 0 is given from now on begins when all that is in these streams is done.
  Expected<void> join(const std::vector<uint32_t> &streams) const;

private:
  struct Stream {
    CUstream handle;
    CudaEvent end;
  };

  const CudaContext &context;
  std::vector<Stream> others;
  std::vector<CudaEvent> begin; ///< one, where there are other streams
};

} // namespace sinter::runtime::cuda
