//===- KernelPrelude.h - CUDA C++ as a host compiler sees it ----*- C++ -*-===//
//
// Included before the text of a kernel, so that what NVRTC compiles for a device compiles for the
// emulator unchanged. The half and bfloat16 types are those of the CUDA toolkit in its host mode.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "test/simt/DeviceHooks.h"
#include "test/simt/KernelHooks.h"

// The toolkit's headers define these for a host compiler as attributes that it does not know.
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __grid_constant__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))

// All shared variables of a module in one range of addresses: SharedMemory.h.
#define __shared__ static __attribute__((section("sinter_simt_shared")))
extern "C" {
extern char __start_sinter_simt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_sinter_simt_shared[] __attribute__((weak, visibility("hidden")));
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SINTER_SIMT_CHECKED true
#endif
#endif
#ifndef SINTER_SIMT_CHECKED
#define SINTER_SIMT_CHECKED false
#endif

namespace {
[[gnu::constructor]] void registerTheseKernels() {
  sinter::simt::registerKernels(reinterpret_cast<const void *>(&registerTheseKernels),
                                __start_sinter_simt_shared, __stop_sinter_simt_shared,
                                SINTER_SIMT_CHECKED);
}
} // namespace

// Constant for the life of a thread, and so for all that the compiler sees.
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

#define SINTER_SIMT_INLINE inline __attribute__((always_inline, nomerge))
#include "test/simt/KernelAtomics.h"
#include "test/simt/KernelMath.h"
#include "test/simt/KernelSync.h"
#undef SINTER_SIMT_INLINE
#undef SINTER_SIMT_CHECKED
