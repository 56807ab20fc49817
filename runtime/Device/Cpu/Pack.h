//===- Pack.h - Weights into panels -----------------------------*- C++ -*-===//
//
// Turns weights as checkpoints store them into the panels that Gemm reads (Panels.h). It runs once
// at bind, but over every byte of the model, so it is written for memory bandwidth: a panel is made
// in blocks of 16 rows of 64 columns (one cache line of each source row), transposed in registers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Device/Cpu/Panels.h"
#include "runtime/Device/Cpu/ThreadPool.h"
#include <span>

namespace sinter::runtime {

/// A row-major matrix that holds `n` columns of the packed [k, n] matrix: stored [k, n], or [n, k]
/// where `transposed`.
struct PackSource {
  const void *data = nullptr; ///< need not be aligned
  DType dtype = DType::F32;   ///< F32, BF16 or F16
  uint64_t n = 0;
  uint64_t stride = 0; ///< elements between the source's rows
  bool transposed = false;
};

/// Writes the columns of `sources`, one after the other, as `layout` panels to `out`
/// (layout.bytes() bytes, 64-byte aligned); the n of the sources add up to layout.n. Values are
/// rounded to layout.dtype.
void pack(ThreadPool &pool, const Panels &layout, std::span<const PackSource> sources, void *out);

} // namespace sinter::runtime
