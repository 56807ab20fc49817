//===- CudnnApi.h - The functions of cuDNN ----------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <cudnn_graph.h>

// clang-format off
#define SINTER_CUDNN_FUNCTIONS(F)                                                                  \
  F(cudnnGetVersion) F(cudnnGetErrorString) F(cudnnGetLastErrorString)                             \
  F(cudnnCreate) F(cudnnDestroy) F(cudnnSetStream)                                                 \
  F(cudnnBackendCreateDescriptor) F(cudnnBackendDestroyDescriptor)                                 \
  F(cudnnBackendSetAttribute) F(cudnnBackendGetAttribute) F(cudnnBackendFinalize)                  \
  F(cudnnBackendExecute)
// clang-format on

namespace sinter::runtime::cuda {

/// What Sinter calls of libcudnn.
struct CudnnApi {
  SINTER_CUDNN_FUNCTIONS(SINTER_TABLE_ENTRY)
};

/// cuDNN's functions. Fails where it is not installed.
Expected<const CudnnApi *> cudnnApi();

/// Lets cudnnApi() give out `api`, which outlives its use; null for the library's own.
void installCudnnApi(const CudnnApi *api);

} // namespace sinter::runtime::cuda
