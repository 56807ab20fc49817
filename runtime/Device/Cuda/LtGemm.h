//===- LtGemm.h - Matrix products on a GPU ----------------------*- C++ -*-===//
//
// out[m, n] = f(lhs[m, k] . rhs[k, n] + bias + addend) by cuBLASLt.
//
// The library counts in columns, so it is asked for the transposed product: what is row-major with
// stride s is column-major with leading dimension s and both extents swapped,
//
//   out^T [n, m] = rhs^T [n, k] . lhs^T [k, m]
//
// rhs is its first operand, as it is where it is stored [k, n] and transposed where [n, k]; lhs is
// its second, as it is where stored [m, k] and transposed where [k, m]. A bias runs along the rows
// of out^T, which are ours' columns. The addend is the library's C with a factor of 1.
//
// Of fp8 the rows of both sides, [m, k] and [n, k], have scales: the library's "outer vectors", of
// e4m3 alone, which compute capability 9.0 alone has; or all of a side has one.
//
// The algorithm is the first that the library's heuristic proposes of those that fit the plan's
// workspace, the operands' alignment and sums in f32: a function of the problem, so that bits do
// not change from run to run. With a tuner it is the fastest of the first eight. Operands of f32
// are rounded to TF32 where the plan says so; CUBLAS_COMPUTE_32F does not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Cuda/LtApi.h"
#include "runtime/Device/Cuda/Tuner.h"
#include "runtime/Format/Executable_generated.h"
#include <functional>

namespace sinter::runtime::cuda {

class LtGemm;

/// cuBLASLt, opened when the first product is bound.
class LtLibrary {
public:
  explicit LtLibrary(const CudaContext &context) : context(context) {}
  ~LtLibrary();
  LtLibrary(const LtLibrary &) = delete;
  LtLibrary &operator=(const LtLibrary &) = delete;

  using Address = std::function<CUdeviceptr(const fb::Slice &)>;

  /// Makes a verified product ready to run. With a tuner it may be run here. Errors: no library, or
  /// none of its algorithms takes the problem.
  Expected<LtGemm> bind(const fb::Gemm &gemm, const Address &address, Tuner *tuner);

  /// What the choice of an algorithm depends on, but for the alignment of operands. @pre a product
  /// was bound
  std::string describe(const fb::Gemm &gemm) const;

private:
  friend class LtGemm;
  Expected<void> open();
  Expected<void> check(cublasStatus_t status, const std::string &what) const;
  Expected<void> choose(LtGemm &gemm, const std::string &sizes, const std::string &problem,
                        Tuner *tuner);
  Expected<size_t> tune(const LtGemm &gemm, const std::string &sizes, std::string problem,
                        std::span<const cublasLtMatmulHeuristicResult_t> candidates, Tuner &tuner);

  const CudaContext &context;
  const LtApi *api = nullptr;
  cublasLtHandle_t handle = nullptr;
};

/// A product with its addresses. It shares the library's life.
class LtGemm {
public:
  LtGemm(LtGemm &&other) noexcept;
  LtGemm &operator=(LtGemm &&) = delete;
  ~LtGemm();

  /// Puts the product into a stream.
  Expected<void> enqueue(CUstream stream) const;

private:
  friend class LtLibrary;
  explicit LtGemm(LtLibrary &library) : library(&library) {}
  Expected<void> describe(const fb::Gemm &gemm, const LtLibrary::Address &address);
  Expected<void> describeEpilogue(const fb::Gemm &gemm, const LtLibrary::Address &address);
  cublasStatus_t call(const cublasLtMatmulAlgo_t &with, CUstream stream) const;

  LtLibrary *library;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t rhsLayout = nullptr, lhsLayout = nullptr, addLayout = nullptr,
                         outLayout = nullptr;
  CUdeviceptr rhs = 0, lhs = 0, addend = 0, out = 0, workspace = 0;
  size_t workspaceBytes = 0;
  uint32_t reductions = 0; ///< ways of adding up parts of a sum that may be chosen
  float beta = 0;
  cublasLtMatmulAlgo_t algorithm = {};
};

} // namespace sinter::runtime::cuda
