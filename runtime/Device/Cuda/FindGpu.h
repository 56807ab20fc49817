//===- FindGpu.h - Whether there is a GPU, and which ------------*- C++ -*-===//
#pragma once

#include "runtime/Format/CudaArchitecture.h"

namespace sinter::runtime::cuda {

/// A GPU as its driver describes it.
struct GpuInfo {
  std::string name; ///< "NVIDIA H200"
  Capability capability;
  int multiprocessors = 0;
  int driverVersion = 0; ///< of CUDA that the driver supports: 13000 for 13.0
};

/// A GPU that is visible, by its number, as a CudaContext opens it, without a context on it. Fails
/// where Sinter was built without CUDA, where there is no driver (its libraries are named), one
/// that is too old, or no such GPU.
Expected<GpuInfo> findGpu(int ordinal = 0);

} // namespace sinter::runtime::cuda
