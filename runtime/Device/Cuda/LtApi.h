//===- LtApi.h - The functions of cuBLASLt ----------------------*- C++ -*-===//
#pragma once

#include "runtime/Device/Cuda/LibraryTable.h"
#include <cublasLt.h>

// clang-format off
#define SINTER_LT_FUNCTIONS(F)                                                                     \
  F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtGetVersion) F(cublasLtGetStatusString)            \
  F(cublasLtMatmulDescCreate) F(cublasLtMatmulDescDestroy) F(cublasLtMatmulDescSetAttribute)       \
  F(cublasLtMatrixLayoutCreate) F(cublasLtMatrixLayoutDestroy)                                     \
  F(cublasLtMatmulPreferenceCreate) F(cublasLtMatmulPreferenceDestroy)                             \
  F(cublasLtMatmulPreferenceSetAttribute) F(cublasLtMatmulAlgoGetHeuristic)                        \
  F(cublasLtMatmul)
// clang-format on

namespace sinter::runtime::cuda {

/// What Sinter calls of libcublasLt.
struct LtApi {
  SINTER_LT_FUNCTIONS(SINTER_TABLE_ENTRY)
};

/// cuBLASLt's functions. Fails where it is not installed.
Expected<const LtApi *> ltApi();

/// Lets ltApi() give out `api`, which outlives its use; null for the library's own.
void installLtApi(const LtApi *api);

} // namespace sinter::runtime::cuda
