//===- NcclApi.h - The functions of NCCL ------------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <nccl.h>

// clang-format off
#define SINTER_NCCL_FUNCTIONS(F)                                                                   \
  F(ncclGetErrorString) F(ncclGetLastError) F(ncclGetUniqueId) F(ncclCommInitRankConfig)           \
  F(ncclCommSplit) F(ncclCommGetAsyncError) F(ncclCommDestroy) F(ncclCommAbort)                    \
  F(ncclCommRegister) F(ncclCommDeregister) F(ncclAllGather) F(ncclAllReduce)                      \
  F(ncclSend) F(ncclRecv) F(ncclGroupStart) F(ncclGroupEnd)
// clang-format on

namespace sinter::runtime::cuda {

/// What Sinter calls of libnccl.
struct NcclApi {
  SINTER_NCCL_FUNCTIONS(SINTER_TABLE_ENTRY)
};

/// NCCL's functions. Fails where it is not installed.
Expected<const NcclApi *> ncclApi();

/// Lets ncclApi() give out `api`, which outlives its use; null for the library's own.
void installNcclApi(const NcclApi *api);

} // namespace sinter::runtime::cuda
