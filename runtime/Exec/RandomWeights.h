//===- RandomWeights.h - Weights out of a seed ------------------*- C++ -*-===//
//
// A model without weight files runs on random ones, for benchmarks and for tests. Each element is a
// function of (seed, tensor's name, element's index) alone, so the order in which tensors are made
// and the number of threads do not matter.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Device/Cpu/ThreadPool.h"
#include <cstdint>
#include <span>
#include <string_view>

namespace sinter::runtime {

/// Fills `out` with the tensor `name` of `rank` dimensions stored as `dtype` (F32, BF16 or F16):
/// from two dimensions on with normal numbers of deviation 0.02 (the sum of four uniform ones, so
/// none beyond 0.07), biases ("...bias") with zeros, other vectors with ones.
void fillRandomWeight(ThreadPool &pool, std::span<std::byte> out, DType dtype, size_t rank,
                      std::string_view name, uint64_t seed);

} // namespace sinter::runtime
