//===- PlainProduct.h - A matrix product in loops ---------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::fake {

enum class Element { F32, Bf16, F16, E4M3, E5M2 };

size_t bytesOf(Element element);
inline bool isFp8(Element element) { return element == Element::E4M3 || element == Element::E5M2; }

/// A column-major matrix in memory: element (row, column) at data[row + column * stride].
struct Matrix {
  Element element;
  uint64_t rows, columns, stride;

  /// From its first element to behind its last.
  uint64_t bytes() const { return ((columns - 1) * stride + rows) * bytesOf(element); }
};

enum class Activation { None, Relu, Gelu };

/// out = activation(alpha * op(a) * op(b) * scales + beta * add + bias), with f32 sums: what
/// cublasLtMatmul computes.
struct Product {
  Matrix a, b, add, out;
  bool transposeA = false, transposeB = false;
  bool tf32 = false; ///< operands of f32 are rounded to 10 bits of mantissa first
  float alpha = 1, beta = 0;
  Activation activation = Activation::None; ///< Gelu by its approximation with tanh
  bool hasBias = false;                     ///< one value for each row of out
  bool hasScales = false;                   ///< of f32
  /// There is one for each row of op(a), and one for each column of op(b); else one for all of
  /// either.
  bool scalesAreOfRows = false;
  Element bias = Element::F32;

  /// Whether the shapes fit together.
  bool consistent() const;

  /// Computes it; `add` may be `out`, and is not read where beta is 0.
  void run(const void *a, const void *b, const void *add, const void *bias, void *out,
           const float *aScales = nullptr, const float *bScales = nullptr) const;
};

} // namespace sinter::fake
