//===- NcclApi.h - The functions of NCCL ------------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <nccl.h>

// clang-format off
#define SINTER_NCCL_FUNCTIONS(F)                                                                   \
  F(ncclGetVersion)                                                                                \
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

/// The variable of NCCL's that makes it begin the work of all communicators of a GPU in the order
/// in which it was asked for it. NCCL reads it once.
constexpr const char *kNcclOrder = "NCCL_LAUNCH_ORDER_IMPLICIT";

/// NCCL's functions. Fails where it is not installed.
/// @param ordered whether the variable is set first, if it is not and nobody has used NCCL yet
Expected<const NcclApi *> ncclApi(bool ordered);

/// Lets ncclApi() give out `api`, which outlives its use; null for the library's own.
void installNcclApi(const NcclApi *api);

} // namespace sinter::runtime::cuda
