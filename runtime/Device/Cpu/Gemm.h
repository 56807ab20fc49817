//===- Gemm.h - Matrix products on the CPU ----------------------*- C++ -*-===//
//
// out[m, n] = epilogue(lhs[m, k] . rhs[k, n]) with rhs in panels (`Pack` in Exec/Executable.fbs).
//
// The arithmetic is oneDNN's packed kernels; the threads are ours. A product is cut into tiles by
// its shape alone, K is never cut, and each tile is one single-threaded call of the library on
// whichever thread is free: so the bits of the result do not depend on the number of threads, and
// the library's own threading never meets ours.
//
// oneDNN 2.6 runs its fast kernels ("brg") only where lhs and out are dense. A tile that is as wide
// as a dense output, or one row, is written in place with every post-op. Any other is written as a
// dense f32 block in this thread's scratch, with the leading bias and activations, and our epilogue
// does the rest and writes out: some 3 % of a tile's time, and tiles can be cut in both directions.
//
// Where there is no fast kernel (no AVX-512), plain loops that the compiler vectorizes compute the
// block instead: correct, but several times slower than a tuned library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include "runtime/Device/Cpu/ThreadPool.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace sinter::runtime {

/// The steps of an epilogue; values as `PostOpKind` in Executable.fbs.
enum class PostOpKind : uint8_t { Bias, Gelu, GeluTanh, Silu, Relu, Add, Multiply };

/// True for the steps that read an operand: Bias as [n], Add and Multiply as [m, n].
constexpr bool hasOperand(PostOpKind kind) {
  return kind == PostOpKind::Bias || kind == PostOpKind::Add || kind == PostOpKind::Multiply;
}

/// One step, applied to the f32 accumulator in the order of the list.
struct GemmPostOp {
  PostOpKind kind = PostOpKind::Bias;
  DType dtype = DType::F32;      ///< of the operand: F32 or BF16
  uint64_t stride = 0;           ///< elements between rows, for Add and Multiply
  const void *operand = nullptr; ///< aligned to its elements
};

/// A product with all its addresses. Strides count elements.
struct GemmProblem {
  uint64_t m = 0, n = 0, k = 0;
  DType dtype = DType::F32;    ///< of lhs and rhs: F32 or BF16
  DType outDtype = DType::F32; ///< F32 or BF16
  const void *lhs = nullptr;
  uint64_t lhsStride = 0;
  void *rhs = nullptr; ///< panels; the library may rewrite their padding with zeros at bind
  void *out = nullptr; ///< may be the operand of an Add or a Multiply of the same type and
                       ///< stride; else disjoint
  uint64_t outStride = 0;
  std::vector<GemmPostOp> postOps;
};

/// How a product is cut: tiles of m rows and n columns. A function of the problem, never of the
/// machine.
struct GemmTile {
  uint64_t m = 0, n = 0; ///< n is a multiple of 64
};

/// The cut that Gemm uses for this problem.
GemmTile chooseTile(const GemmProblem &problem);

class GemmLibrary;

/// A product that is ready to run; made by GemmLibrary::bind, whose life it shares.
class Gemm {
public:
  ~Gemm();
  Gemm(Gemm &&) noexcept;

  /// Computes the product on all threads of `pool`, which must not have more than the library was
  /// made for. Allocates nothing.
  void run(ThreadPool &pool) const;

  /// True where oneDNN's fast kernels do the work.
  bool usesLibrary() const;

private:
  friend class GemmLibrary;
  struct Impl;
  explicit Gemm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// oneDNN's engine, the kernels made so far and each thread's scratch. Equal tiles of all products
/// share one kernel. Binding is not thread-safe, running is.
class GemmLibrary {
public:
  /// For pools of up to `threads` threads. `useLibrary = false` computes with the plain loops.
  explicit GemmLibrary(unsigned threads, bool useLibrary = true);
  ~GemmLibrary();

  /// Makes what `problem` needs to run. Its addresses are final; its memory may still be written
  /// until run(). The caller has checked the problem's types and extents.
  Gemm bind(const GemmProblem &problem);

  /// Bytes of scratch that the library holds for all threads together.
  uint64_t scratchBytes() const;

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace sinter::runtime
