//===- CudaApi.h - The CUDA driver's functions ------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <cuda.h>

// clang-format off
#define SINTER_CUDA_FUNCTIONS(F)                                                                   \
  F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString)                            \
  F(cuDeviceGetCount) F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceGetUuid) \
  F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease) F(cuCtxPushCurrent) F(cuCtxPopCurrent)  \
  F(cuMemGetInfo) F(cuMemPoolCreate) F(cuMemPoolDestroy) F(cuMemPoolSetAttribute)                  \
  F(cuMemPoolGetAttribute) F(cuMemPoolTrimTo) F(cuMemAllocFromPoolAsync) F(cuMemFreeAsync)         \
  F(cuMemHostAlloc) F(cuMemFreeHost)                                                               \
  F(cuMemcpyHtoDAsync) F(cuMemcpyDtoHAsync) F(cuMemcpyDtoDAsync) F(cuMemsetD8Async)                \
  F(cuStreamCreate) F(cuStreamDestroy) F(cuStreamSynchronize) F(cuStreamQuery)                     \
  F(cuStreamWaitEvent)                                                                             \
  F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventSynchronize) F(cuEventElapsedTime)  \
  F(cuLibraryLoadData) F(cuLibraryUnload) F(cuLibraryGetKernel) F(cuKernelSetAttribute)            \
  F(cuLaunchKernel) F(cuLaunchKernelEx)                                                            \
  F(cuStreamBeginCapture) F(cuStreamEndCapture) F(cuGraphInstantiate) F(cuGraphDestroy)            \
  F(cuGraphUpload) F(cuGraphLaunch) F(cuGraphExecDestroy)
// clang-format on

namespace sinter::runtime::cuda {

/// What Sinter calls of libcuda. CUkernel handles are launched as functions.
struct CudaApi {
  SINTER_CUDA_FUNCTIONS(SINTER_TABLE_ENTRY)
};

/// A device address as libraries take it.
inline void *toPointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// The driver's functions. Fails where there is no driver, or one that is too old.
Expected<const CudaApi *> cudaApi();

/// True where the driver is for CUDA 12: libraries of CUDA 13 may not work with it, so those of 12
/// are looked for first. Without a driver the newest go first.
bool driverIsForCuda12();

/// Lets cudaApi() give out `api`, which outlives its use; null for the driver's own.
void installCudaApi(const CudaApi *api);

} // namespace sinter::runtime::cuda
