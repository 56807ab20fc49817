#include "runtime/Device/Cpu/GemmEpilogue.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Base/VectorClones.h"
#include "runtime/Device/Cpu/Panels.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sinter::runtime {
namespace {

// exp(x) within 2 ulp, without branches: 2^i by the exponent's bits, the rest by a polynomial.
SINTER_INLINE float exponential(float x) {
  x = std::min(std::max(x, -87.3f), 88.3f);
  float i = std::nearbyint(x * 1.44269504f);
  float f = x - i * 0.693359375f;
  f = f - i * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.0f;
  return p * std::bit_cast<float>((static_cast<int32_t>(i) + 127) << 23);
}

SINTER_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

// erf by Abramowitz and Stegun 7.1.26: an absolute error of 1.5e-7.
SINTER_INLINE float errorFunction(float x) {
  float a = std::fabs(x);
  float t = 1.0f / (1.0f + 0.3275911f * a);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  return std::copysign(1.0f - p * t * exponential(-a * a), x);
}

SINTER_VECTOR_CLONES void activate(float *__restrict row, uint64_t columns, PostOpKind kind) {
  switch (kind) {
  case PostOpKind::Gelu:
    for (uint64_t j = 0; j < columns; ++j)
      row[j] = 0.5f * row[j] * (1.0f + errorFunction(row[j] * 0.70710678f));
    return;
  case PostOpKind::GeluTanh:
    // 0.5 (1 + tanh(u)) is sigmoid(2u).
    for (uint64_t j = 0; j < columns; ++j)
      row[j] *= sigmoid(1.59576912f * (row[j] + 0.044715f * row[j] * row[j] * row[j]));
    return;
  case PostOpKind::Silu:
    for (uint64_t j = 0; j < columns; ++j)
      row[j] *= sigmoid(row[j]);
    return;
  case PostOpKind::Relu:
    for (uint64_t j = 0; j < columns; ++j)
      row[j] = std::max(row[j], 0.0f);
    return;
  default:
    return;
  }
}

template <typename Load>
SINTER_INLINE void combine(float *__restrict row, uint64_t columns, bool multiply, Load load) {
  if (multiply)
    for (uint64_t j = 0; j < columns; ++j)
      row[j] *= load(j);
  else
    for (uint64_t j = 0; j < columns; ++j)
      row[j] += load(j);
}

SINTER_VECTOR_CLONES void combineRow(float *__restrict row, uint64_t columns, bool multiply,
                                     const void *operand, DType dtype) {
  if (dtype == DType::BF16) {
    const auto *values = static_cast<const uint16_t *>(operand);
    combine(row, columns, multiply, [=](uint64_t j) { return bf16ToFloat(values[j]); });
  } else {
    const auto *values = static_cast<const float *>(operand);
    combine(row, columns, multiply, [=](uint64_t j) { return values[j]; });
  }
}

SINTER_VECTOR_CLONES void storeBf16(uint16_t *__restrict out, const float *__restrict row,
                                    uint64_t columns) {
  for (uint64_t j = 0; j < columns; ++j)
    out[j] = floatToBf16(row[j]);
}

const std::byte *elementAt(const void *base, uint64_t index, DType dtype) {
  return static_cast<const std::byte *>(base) + index * sizeOf(dtype);
}

// Four rows of lhs against one panel, in 64 accumulators a row.
constexpr uint64_t rowsAtOnce = 4;

SINTER_VECTOR_CLONES void panelRows(float *__restrict sums, const float *const *rows,
                                    const void *panel, uint64_t k, DType dtype) {
  constexpr uint64_t width = Panels::width;
  for (uint64_t i = 0; i < rowsAtOnce * width; ++i)
    sums[i] = 0;
  if (dtype == DType::F32) {
    const float *values = static_cast<const float *>(panel);
    for (uint64_t p = 0; p < k; ++p)
      for (uint64_t r = 0; r < rowsAtOnce; ++r)
        for (uint64_t j = 0; j < width; ++j)
          sums[r * width + j] += rows[r][p] * values[p * width + j];
    return;
  }
  const uint16_t *values = static_cast<const uint16_t *>(panel);
  for (uint64_t p = 0; p < k; ++p)
    for (uint64_t j = 0; j < width; ++j) {
      float value = bf16ToFloat(values[(p / 2) * width * 2 + j * 2 + p % 2]);
      for (uint64_t r = 0; r < rowsAtOnce; ++r)
        sums[r * width + j] += bf16ToFloat(reinterpret_cast<const uint16_t *>(rows[r])[p]) * value;
    }
}

} // namespace

void applyEpilogue(float *block, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns,
                   std::span<const GemmPostOp> steps, void *out, uint64_t outStride,
                   DType outDtype) {
  for (uint64_t i = 0; i < rows; ++i) {
    float *values = block + i * columns;
    for (const GemmPostOp &step : steps) {
      if (!hasOperand(step.kind)) {
        activate(values, columns, step.kind);
        continue;
      }
      uint64_t index = step.kind == PostOpKind::Bias ? column : (row + i) * step.stride + column;
      combineRow(values, columns, step.kind == PostOpKind::Multiply,
                 elementAt(step.operand, index, step.dtype), step.dtype);
    }
    auto *target =
        const_cast<std::byte *>(elementAt(out, (row + i) * outStride + column, outDtype));
    if (outDtype == DType::BF16)
      storeBf16(reinterpret_cast<uint16_t *>(target), values, columns);
    else
      std::memcpy(target, values, columns * sizeof(float));
  }
}

void multiplyPlain(float *block, const void *lhs, uint64_t lhsStride, const void *panels,
                   uint64_t rows, uint64_t columns, uint64_t k, DType dtype) {
  constexpr uint64_t width = Panels::width;
  alignas(64) float sums[rowsAtOnce * width];
  uint64_t panelBytes = Panels{k, columns, dtype}.panelBytes();
  for (uint64_t column = 0; column < columns; column += width) {
    const void *panel = static_cast<const std::byte *>(panels) + column / width * panelBytes;
    uint64_t count = std::min(width, columns - column);
    for (uint64_t row = 0; row < rows; row += rowsAtOnce) {
      const float *pointers[rowsAtOnce];
      // Rows past the end repeat the last one; their sums are dropped.
      for (uint64_t r = 0; r < rowsAtOnce; ++r)
        pointers[r] = reinterpret_cast<const float *>(
            elementAt(lhs, std::min(row + r, rows - 1) * lhsStride, dtype));
      panelRows(sums, pointers, panel, k, dtype);
      for (uint64_t r = 0; r < rowsAtOnce && row + r < rows; ++r)
        std::memcpy(block + (row + r) * columns + column, sums + r * width, count * sizeof(float));
    }
  }
}

} // namespace sinter::runtime
