//===- CudaRange.h - Names in a profiler's timeline -------------*- C++ -*-===//
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define SINTER_HAS_NVTX
#endif

namespace sinter::runtime::cuda {

/// What is enqueued while it lives stands under this name in Nsight's timeline (NVTX). Without a
/// profiler it costs a look at a pointer; where the toolkit had no NVTX, nothing.
class CudaRange {
public:
#ifdef SINTER_HAS_NVTX
  explicit CudaRange(const char *name) { nvtxRangePushA(name); }
  ~CudaRange() { nvtxRangePop(); }
#else
  explicit CudaRange(const char *) {}
#endif
  CudaRange(const CudaRange &) = delete;
  CudaRange &operator=(const CudaRange &) = delete;
};

} // namespace sinter::runtime::cuda
