//===- LibraryGemm.h - What a GPU's library can fuse ------------*- C++ -*-===//
//
// A GPU's library takes a straight chain of post-ops on its f32 accumulator: it adds one bias and
// one matrix of the result's type and then applies one of few functions. Whether a fusion is such a
// chain is asked twice: when the cost model weighs the library against a generated kernel, and when
// the plan's command is written. A processor has no library: its products, whose right-hand sides
// are in panels, are kernels of ours (Codegen/Cpu/GemmKernel.cpp).
//
// What no library is asked for, but a GEMV kernel computes
// (kernels_templates/cuda/gemv.cuh): any chain, the norm of the left-hand side's rows before it,
// a product whose second half of columns multiplies the first, and one whose columns are the heads
// of an attention, which are rotated and put where attention reads them. Nor is it asked for
// products by integers with scales: for few rows there is a GEMV of them (gemv_integers.cuh), for
// many a kernel that takes any chain (gemm_integers.cuh). Where both sides are bytes with scales,
// it is gemv_bytes.cuh and gemm_bytes.cuh: the library's sums of integers would be a matrix of 32
// bits for a kernel behind it, as it scales none. Rows of fp8 with scales it multiplies on compute
// capability 9.0, where alone it scales rows, and where mma.sync of fp8 is made of products of f16.
//
// Of what cuBLASLt has beside that, a training step has little use, with GPT-2 124M (16 x 1024,
// bf16, sm_90; 31 ms predicted, the loss aside) as the example:
// - A bias' gradient with the weight's (BGRADA, BGRADB) saves a read of the result's gradient only
//   where there is one. Here the kernel that makes that gradient adds up its columns on the way,
//   in f32, before it is rounded for the products. The library would add up rounded numbers, and
//   save the second stage of the sums: 0.5 ms, if its product were as fast as without.
// - GELU's derivative (DGELU) with the saved input (AUX). AUX has the result's type, so a result of
//   16 bits would need the input rounded to 16 bits, which is another function; and of an f32
//   result the rounding and the sums over columns are a kernel of their own again: 119 us of each
//   layer become 72, if the product hides 200 MB more that it reads. To let the device choose
//   (plan.alternatives), a choice would have to be between a product with the kernel behind it and
//   two others: it is between single commands.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace sinter {

/// The families of products: by kernels of ours, and by a GPU's library.
inline constexpr llvm::StringLiteral kGemmFamily = "gemm", kLibraryGemmFamily = "library_gemm";

/// One step of the epilogue.
struct LibraryPostOp {
  plan::PostOpKind kind;
  /// [n] for Bias, [m, n] row-major for Add and Multiply, null for the others. A value from
  /// outside: of a fusion's body, a block argument.
  mlir::Value operand;
};

/// Rows up to which a product may have any post-ops: a kernel of ours computes it at the rate of
/// memory.
inline constexpr int64_t kMostGemvRows = 8;

/// The most bytes of normalized rows that such a kernel keeps in each block's shared memory.
inline constexpr int64_t kMostNormBytes = 32 << 10;

struct GemvLaunch {
  int64_t blocks = 0, threads = 0, sharedBytes = 0;
  /// Of a product by integers: it makes its rows fixed point (gemv_integers.cuh).
  bool isFixedPoint = false;
};

/// The launch of a GEMV kernel, as the template computes it.
/// @param normalizes whether it normalizes its rows.
GemvLaunch getGemvLaunch(MatmulOp matmul, bool normalizes);

/// Bytes of a GEMV's rows in a block's shared memory.
int64_t getGemvRowBytes(MatmulOp matmul);

/// What is done to the rows of the left-hand side before they are multiplied; then they are rounded
/// to the product's elements.
struct ProductNorm {
  NormOpInterface op;
  /// What is normalized: a value from outside, as the norm's weight and bias are.
  mlir::Value rows;
};

/// A product whose columns are two halves. The post-ops before `begin` are done to both, those
/// before `end` to the first; then it is multiplied with the second.
struct ProductGate {
  size_t begin, end;
};

/// A product whose columns, behind the post-ops, are heads: parts one behind the other, each
/// rotated or not, rounded, and written to rows of its own or into a cache.
struct ProductHeads {
  struct Part {
    int64_t columns;
    bool rotates;
    CacheAppendOp append; ///< null for rows of its own
    mlir::Value result;
  };
  llvm::SmallVector<Part, 3> parts;
  int64_t headSize;
  int64_t tokens; ///< rows of each slot
  /// What rotates parts, one for all, or null.
  RotaryOp rotary;
  /// Positions of slots, and how many of their rows are real, or null where neither is read.
  mlir::Value start, count;
};

/// A matmul and its post-ops, in order.
struct LibraryGemm {
  MatmulOp matmul;
  std::optional<ProductNorm> norm;
  std::optional<ProductGate> gate;
  std::optional<ProductHeads> heads;
  llvm::SmallVector<LibraryPostOp> postOps;
  /// What the chain ends in, of f32 or a 16-bit type; of heads, what they are slices of.
  mlir::Value result;

  /// The rows that are read: the matmul's left-hand side, or what it is the norm of.
  mlir::Value getLhs() const;
  /// Whether the library can do it, and not only a GEMV kernel.
  bool fitsLibrary() const;
};

/// The ops as one library GEMM: dense lhs and rhs (integers as a GPU's kernels read them) come from
/// outside, one value goes there (of heads, one a part), all arithmetic in between is f32 and
/// expressible as post-ops. Nothing if not, or if nothing can compute it.
std::optional<LibraryGemm> matchLibraryGemm(const llvm::SetVector<mlir::Operation *> &ops);

} // namespace sinter
