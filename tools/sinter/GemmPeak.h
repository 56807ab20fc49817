//===- GemmPeak.h - What this machine multiplies at most --------*- C++ -*-===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Device/Cpu/ThreadPool.h"
#include <cstdint>

namespace sinter::cli {

/// Operations per second of the runtime's product out[m, n] = lhs[m, k] . rhs[k, n] on all threads
/// of the pool: the best of the runs that fit `seconds`, after one that warms up.
double measureGemm(runtime::ThreadPool &pool, DType dtype, uint64_t m, uint64_t n, uint64_t k,
                   double seconds);

/// The rate of large products that stay in cache, found in some 50 ms.
double measureGemmPeak(runtime::ThreadPool &pool, DType dtype);

} // namespace sinter::cli
