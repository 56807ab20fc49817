//===- bytes.cuh - Products of elements of 8 bits ---------------*- C++ -*-===//
//
// A product whose sides are both of elements of 8 bits, rows of lhs [m, k] and of rhs [n, k], each
// with a scale: out[m, n] = epilogue((lhs . rhs) * scale of rhs' row * scale of lhs' row). Sums of
// integers are exact. Either side may also have one scale for all of it.
//
// Parameters of the product that are used here:
//
//   Element      (typename) of lhs: signed char, or E4M3 or E5M2 from compute capability 8.9 on
//   RhsElement   (typename) of rhs: signed char with signed char, else E4M3 or E5M2
//   tensorScales there is one scale for all of lhs and one for all of rhs
//   Epilogue     see epilogue.cuh
//
//===----------------------------------------------------------------------===//
#pragma once

#include "epilogue.cuh"

namespace sinter::products {

/// What becomes of sums: the scales, and then the epilogue.
template <class P> struct ScaledEpilogue {
  const float *rowScales, *scales;
  typename P::Epilogue epilogue;

  template <class Sum> SINTER_DEVICE float scaled(Sum sum, long long row, int column) const {
    if constexpr (P::tensorScales)
      return static_cast<float>(sum) * (scales[0] * rowScales[0]);
    else
      return static_cast<float>(sum) * scales[column] * rowScales[row];
  }

  template <class Sum> SINTER_DEVICE float operator()(Sum sum, long long row, int column) const {
    return epilogue(scaled(sum, row, column), row, column);
  }
  /// The same of two columns, with a GatedEpilogue.
  template <class Sum>
  SINTER_DEVICE float operator()(Sum gate, Sum up, long long row, int column, int second) const {
    return epilogue(scaled(gate, row, column), scaled(up, row, second), row, column, second);
  }
};

} // namespace sinter::products
