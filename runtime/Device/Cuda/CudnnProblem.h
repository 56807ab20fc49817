//===- CudnnProblem.h - What cuDNN is asked for -----------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Format/CudaArchitecture.h"
#include "runtime/Format/Executable_generated.h"
#include <array>

namespace sinter::runtime::cuda {

/// An attention without its memory; see fb::Attention.
struct CudnnProblem {
  /// Of batches, rows and heads, in elements.
  using Strides = std::array<int64_t, 3>;

  fb::DType dtype = fb::DType::BF16, outDtype = fb::DType::BF16;
  int64_t batch = 0, length = 0, keys = 0, heads = 0, keyHeads = 0, headSize = 0;
  Strides query = {}, key = {}, value = {};
  float scale = 1;
  bool causal = false;
  int64_t window = 0;
  bool logsumexp = false;

  auto operator<=>(const CudnnProblem &) const = default;
};

/// Bytes of workspace that cuDNN needs for a problem on the first GPU that is visible, or where
/// that is of another capability or none, on the GPU that the compiler describes by it. Fails with
/// the reason where the library is not there, or does not take the problem.
Expected<uint64_t> findCudnnWorkspace(const CudnnProblem &problem, Capability capability);

} // namespace sinter::runtime::cuda
