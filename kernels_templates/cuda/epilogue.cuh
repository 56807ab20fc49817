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
// Of a product whose columns are two halves, the second of which multiplies the first (the gate and
// up projections of an MLP), it is `sinter::GatedEpilogue<BOTH, GATE, AFTER>` of three of them:
//
//   out[m, j] = AFTER(GATE(BOTH(sum[m, j])) * BOTH(sum[m, j + n / 2]))
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
  static constexpr bool kIsGated = false;
  static constexpr int kOperands = (0 + ... + STEPS::kHasOperand);
  const void *operands[4];

  /// The element at (row, column) of the result.
  SINTER_DEVICE float operator()(float value, long long row, int column) const {
    return apply<0>(operands, value, row, column);
  }

  /// The same, given the template's operands, of which the first is the one after NEXT.
  template <int NEXT>
  SINTER_DEVICE static float apply(const void *const (&operands)[4], float value, long long row,
                                   int column) {
    return applyFrom<NEXT, STEPS...>(operands, value, row, column);
  }

private:
  template <int NEXT>
  SINTER_DEVICE static float applyFrom(const void *const (&)[4], float value, long long, int) {
    return value;
  }
  template <int NEXT, class STEP, class... REST>
  SINTER_DEVICE static float applyFrom(const void *const (&operands)[4], float value, long long row,
                                       int column) {
    return applyFrom<NEXT + STEP::kHasOperand, REST...>(
        operands, STEP::apply(value, operands[NEXT < 4 ? NEXT : 3], row, column), row, column);
  }
};

template <class BOTH, class GATE, class AFTER> struct GatedEpilogue {
  static constexpr bool kIsGated = true;
  const void *operands[4];

  /// The element at (row, column) of the result, from the sums of columns `column` and `second`.
  SINTER_DEVICE float operator()(float gate, float up, long long row, int column,
                                 int second) const {
    constexpr int kAfter = BOTH::kOperands + GATE::kOperands;
    gate = BOTH::template apply<0>(operands, gate, row, column);
    up = BOTH::template apply<0>(operands, up, row, second);
    gate = GATE::template apply<BOTH::kOperands>(operands, gate, row, column);
    return AFTER::template apply<kAfter>(operands, gate * up, row, column);
  }
};

} // namespace sinter
