//===- RandomWeights.h - Weights out of a seed ------------------*- C++ -*-===//
//
// A model without weight files runs on random ones, for benchmarks and for tests. Each element is a
// function of (seed, tensor's name, element's index) alone, so the order in which tensors are made
// and the number of threads do not matter.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Initializer.h"
#include "runtime/Base/ThreadPool.h"
#include <cstdint>
#include <span>
#include <string_view>

namespace sinter::runtime {

/// Fills `out` with the tensor `name` stored as `dtype` (F32, BF16 or F16). Normal numbers are sums
/// of four uniform ones, so none is further from the mean than 3.5 deviations.
void fillRandomWeight(ThreadPool &pool, std::span<std::byte> out, DType dtype,
                      const Initializer &initializer, std::string_view name, uint64_t seed);

} // namespace sinter::runtime
