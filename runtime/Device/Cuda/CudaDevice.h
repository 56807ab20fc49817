//===- CudaDevice.h - A session's programs on a GPU -------------*- C++ -*-===//
//
// The driver and cuBLASLt are opened when a session binds; the compiler only where the executable
// has no machine code for this GPU. One allocation a space from a pool of our own, addresses that
// never move, and one stream. A program is recorded once; the walk over its steps is captured into
// a graph, which a run replays:
//
//   inputs' mirror -> device, graph (or the walk itself), device -> outputs' mirror, wait
//
// SINTER_CUDA_GRAPH=0 walks instead. A capture that fails is told of once and walks, too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Device.h"

namespace sinter::runtime::cuda {

/// A device for an executable that was compiled for CUDA. Fails where Sinter was built without it,
/// where there is no driver or no GPU, or one that the executable is not for.
Expected<std::unique_ptr<Device>> createCudaDevice(DevicePlan plan);

/// What such a device would hold, on a machine with or without a GPU: a function of the executable.
MemoryUse predictCudaMemory(const DevicePlan &plan);

} // namespace sinter::runtime::cuda
