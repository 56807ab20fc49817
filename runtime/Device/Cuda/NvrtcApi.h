//===- NvrtcApi.h - The functions of CUDA's compiler ------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <nvrtc.h>

// clang-format off
#define SINTER_NVRTC_FUNCTIONS(F)                                                                  \
  F(nvrtcVersion) F(nvrtcGetErrorString) F(nvrtcCreateProgram) F(nvrtcDestroyProgram)              \
  F(nvrtcCompileProgram) F(nvrtcGetCUBINSize) F(nvrtcGetCUBIN) F(nvrtcGetProgramLogSize)           \
  F(nvrtcGetProgramLog)
// clang-format on

namespace sinter::runtime::cuda {

/// What Sinter calls of libnvrtc.
struct NvrtcApi {
  SINTER_NVRTC_FUNCTIONS(SINTER_TABLE_ENTRY)
};

/// NVRTC's functions. Fails where it is not installed.
Expected<const NvrtcApi *> nvrtcApi();

/// Lets nvrtcApi() give out `api`, which outlives its use; null for the library's own.
void installNvrtcApi(const NvrtcApi *api);

} // namespace sinter::runtime::cuda
