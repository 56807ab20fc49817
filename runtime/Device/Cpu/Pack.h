//===- Pack.h - Matrices into panels ----------------------------*- C++ -*-===//
//
// Turns matrices into the panels that Gemm reads (PackedRhs.h): weights as checkpoints store them,
// once at bind, and in every step of training weights, activations and gradients. It is written for
// memory bandwidth: blocks of 16 words of 16 columns are rounded and transposed in registers. Every
// word is computed alone, so that results do not depend on how the work is split.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/ThreadPool.h"
#include "runtime/Format/PackedRhs.h"
#include <span>

namespace sinter::runtime {

/// A row-major matrix that holds `n` columns of the packed [k, n] matrix: stored [k, n], or [n, k]
/// where `transposed`.
struct PackSource {
  const void *data = nullptr; ///< need not be aligned
  DType dtype = DType::F32;   ///< F32, BF16 or F16; I8 for integers, also those of four bits
  uint64_t n = 0;
  uint64_t stride = 0; ///< elements between the source's rows
  bool transposed = false;
};

/// Writes the columns of `sources`, one after the other, as `layout` panels to `out`
/// (layout.getBytes() bytes, 64-byte aligned); the n of the sources add up to layout.n. Values are
/// rounded to layout.dtype; integers of four bits are the lower halves of their bytes.
/// @pre scales of 16 bits come from sources of their type
void pack(ThreadPool &pool, const PackedRhs &layout, std::span<const PackSource> sources,
          void *out);

} // namespace sinter::runtime
