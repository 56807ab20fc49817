//===- epilogue.cuh - What becomes of a product's elements ------*- C++ -*-===//
//
// P::Epilogue of the product templates is `sinter::Epilogue<STEPS...>`, applied in order to the f32
// sum, for example
//
//   using Epilogue = sinter::Epilogue<sinter::Bias<float>, sinter::Gelu,
//                                     sinter::Add<__nv_bfloat16, 768>>;
//
// Bias, Add and Multiply read the next of the template's operands: [n], or [m, n] with a row stride
// in elements. The steps are those of plan.post_op.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

template <class T> struct Bias {
  static constexpr bool kHasOperand = true;
  SINTER_DEVICE static float apply(float value, const void *operand, long long row, int column) {
    return value + to_float(static_cast<const T *>(operand)[column]);
  }
};

template <class T, long long STRIDE> struct Add {
  static constexpr bool kHasOperand = true;
  SINTER_DEVICE static float apply(float value, const void *operand, long long row, int column) {
    return value + to_float(static_cast<const T *>(operand)[row * STRIDE + column]);
  }
};

template <class T, long long STRIDE> struct Multiply {
  static constexpr bool kHasOperand = true;
  SINTER_DEVICE static float apply(float value, const void *operand, long long row, int column) {
    return value * to_float(static_cast<const T *>(operand)[row * STRIDE + column]);
  }
};

/// x / 2 (1 + erf(x / sqrt 2)).
struct Gelu {
  static constexpr bool kHasOperand = false;
  SINTER_DEVICE static float apply(float x, const void *, long long, int) {
    return 0.5f * x * (1.0f + erf(x * 0.707106781186547524f));
  }
};

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
struct GeluTanh {
  static constexpr bool kHasOperand = false;
  SINTER_DEVICE static float apply(float x, const void *, long long, int) {
    return 0.5f * x * (1.0f + tanh(0.797884560802865356f * (x + 0.044715f * x * x * x)));
  }
};

/// x / (1 + e^-x).
struct Silu {
  static constexpr bool kHasOperand = false;
  SINTER_DEVICE static float apply(float x, const void *, long long, int) {
    return x / (1.0f + exp(-x));
  }
};

struct Relu {
  static constexpr bool kHasOperand = false;
  SINTER_DEVICE static float apply(float x, const void *, long long, int) {
    return maximum(x, 0.0f);
  }
};

template <class... STEPS> struct Epilogue {
  const void *operands[4];

  /// The element at (row, column) of the result.
  SINTER_DEVICE float operator()(float value, long long row, int column) const {
    return applyFrom<0, STEPS...>(value, row, column);
  }

private:
  template <int NEXT> SINTER_DEVICE float applyFrom(float value, long long, int) const {
    return value;
  }
  template <int NEXT, class STEP, class... REST>
  SINTER_DEVICE float applyFrom(float value, long long row, int column) const {
    return applyFrom<NEXT + STEP::kHasOperand, REST...>(
        STEP::apply(value, operands[NEXT < 4 ? NEXT : 3], row, column), row, column);
  }
};

} // namespace sinter
