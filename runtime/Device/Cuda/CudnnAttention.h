//===- CudnnAttention.h - Attention by cuDNN --------------------*- C++ -*-===//
//
// softmax(scale q . k + mask) . v by cuDNN, which has no call for it but recognizes it in a graph
// of operations on tensors [batch, heads, rows, columns]. It is described in the form that every
// version 9 knows, operation by operation:
//
//   S = Q K^T;  S = scale S
//   S = row >= column ? S : lowest              causal
//   S = column + window > row ? S : lowest      window
//   m = max S;  E = exp(S - m);  l = sum E;  logsumexp = m + log l;  O = (E / l) V
//
// K^T is K with two strides exchanged, and heads of the query that share one of the keys' are just
// more heads. Tensors have strides, so that queries, keys and values may be slices of one product's
// rows, and the logsumexp may lie as our own kernels write and read it.
//
// The engine is the first that the library's heuristic proposes of those that give the same bits
// every time and can be made: a function of the problem, the GPU's properties and the library's
// version, as its workspace is. Where the properties are given that needs no GPU, but a libcuda,
// since the library loads the kernels at once.
//
// The backward pass is not asked for: docs/gpu-results.md says why.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Cuda/CudnnProblem.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sinter::runtime::cuda {

/// An attention with its addresses. It shares the life of the library that bound it.
class CudnnAttention {
public:
  CudnnAttention(CudnnAttention &&) noexcept;
  ~CudnnAttention();

  /// Puts the attention into a stream.
  Expected<void> enqueue(CUstream stream) const;

private:
  friend class CudnnLibrary;
  struct State;
  explicit CudnnAttention(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// cuDNN, opened when the first attention is bound.
class CudnnLibrary {
public:
  explicit CudnnLibrary(const CudaContext &context);
  ~CudnnLibrary();

  using Address = std::function<CUdeviceptr(const fb::Slice &)>;

  /// Makes a verified attention ready to run. Errors: no library, or one that does not take the
  /// problem or asks for more workspace than there is for it.
  Expected<CudnnAttention> bind(const fb::Attention &attention, const Address &address);

  /// All that the time of a bound attention depends on but for the GPU.
  std::string describe(const fb::Attention &attention) const;

  /// The first error of a bind.
  const std::optional<Error> &getRefusal() const { return refused; }

private:
  friend class CudnnAttention;
  struct State;
  Expected<CudnnAttention> tryBind(const fb::Attention &attention, const Address &address);

  std::unique_ptr<State> state;
  std::optional<Error> refused;
};

} // namespace sinter::runtime::cuda
