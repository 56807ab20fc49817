//===- CudaDevice.h - A session's programs on a GPU -------------*- C++ -*-===//
//
// The driver and cuBLASLt are opened when a session binds; the compiler only where the executable
// has no machine code for this GPU. One allocation a space from a pool of our own, addresses that
// never move, and as many streams as the plan says. A program is recorded once. A run
//
//   copies its inputs from their mirror, walks over its steps, copies its outputs to their mirror
//
// and waits. These copies run beside no step: inputs are a few KB, which the first step reads, and
// outputs are a token or a loss, or logits, which the last step writes. The first run does that;
// all later ones replay it as a graph, but for those that are traced, which time every command. A
// capture that fails is told of once, and runs walk as before.
//
// Of an executable that was compiled with --tune, what has alternatives (algorithms of
// products, LtGemm.h, and a command's alternatives) is timed when the session binds, and the
// fastest is remembered (Tuner.h). The alternatives need not give the same last bits. Without it
// all of that is a function of the executable and the libraries' versions. What was tried has
// written to states, which are zeroed at the end of binding, and to memory that steps write before
// they read.
//
//   SINTER_CUDA_GRAPH=0                    always walks
//   SINTER_CUDA_OVERLAP=0                  no kernel begins before the one before it is done
//                                          (CudaProgram.h; what it gains is not measured)
//   SINTER_CUDA_DEBUG=1                    waits after each command: an error is that command's
//   SINTER_CUDA_HOME, SINTER_CUDA_WHEELS   where the libraries are (CudaFolders.h)
//   SINTER_CACHE_DIR                       where compiled kernels are kept (CubinCache.h)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Device.h"

namespace sinter::runtime::cuda {

/// A device for an executable that was compiled for CUDA. Fails where Sinter was built without it,
/// where there is no driver or no GPU, or one that the executable is not for. With `ranks`, which
/// outlives it, it is this rank's GPU (RankGpu.h), and all ranks create theirs at once.
Expected<std::unique_ptr<Device>> createCudaDevice(DevicePlan plan, Communicator *ranks);

/// What such a device would hold, on a machine with or without a GPU: a function of the executable.
MemoryUse predictCudaMemory(const DevicePlan &plan);

} // namespace sinter::runtime::cuda
