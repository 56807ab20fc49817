//===- IntegerRows.h - Weights that are integers ----------------*- C++ -*-===//
#pragma once

#include "test/kernels/HostTensor.h"

namespace sinter::kernels {

/// Any integers of so many bits; of e4m3 numbers.
inline HostTensor makeIntegers(size_t count, int bits, std::mt19937 &engine,
                               const std::string &type = "signed char") {
  if (type == "sinter::E4M3") // as large as integers, and subnormal ones
    return HostTensor::random(type, count, engine, 40);
  HostTensor result("signed char", count);
  std::uniform_int_distribution<int> any(-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
  for (double &value : result.values)
    value = any(engine);
  return result;
}

/// Rows of integers of four bits as integers.cuh says, or bytes as they are.
inline HostTensor packIntegers(const HostTensor &integers, int rows, int columns, int bits) {
  if (bits == 8)
    return integers;
  int pieces = (columns + 31) / 32;
  HostTensor result("signed char", size_t(rows) * pieces * 16);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < pieces * 16; ++i) {
      auto get = [&](int column) {
        return column < columns ? int(integers.values[size_t(row) * columns + column]) & 15 : 0;
      };
      int first = i / 16 * 32 + i % 16;
      result.values[size_t(row) * pieces * 16 + i] =
          static_cast<signed char>(get(first) | get(first + 16) << 4);
    }
  return result;
}

} // namespace sinter::kernels
