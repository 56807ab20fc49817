//===- Initializer.h - How parameters begin ---------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string_view>

namespace sinter {

/// How a parameter begins before training: normal numbers with this mean and standard deviation.
struct Initializer {
  double mean = 0;
  double deviation = 0;
};

/// How a tensor begins that no model describes: matrices with a deviation of 0.02, biases
/// ("...bias") as zeros, other vectors as ones.
inline Initializer defaultInitializer(std::string_view name, size_t rank) {
  if (rank >= 2)
    return {0, 0.02};
  return {name.ends_with("bias") ? 0.0 : 1.0, 0};
}

} // namespace sinter
